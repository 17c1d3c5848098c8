// CachePlan: the rows of a job that a device gets, computed before anything is allocated there.  Used by the job, which
// shows it, and by DeviceStore, which follows it.
#ifndef PS_DEVICE_CACHE_PLAN_H_
#define PS_DEVICE_CACHE_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "device/options.h"
#include "device/row_device.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"

namespace ps {

struct PlannedCache {
  int parameter = 0;  // its index
  CachedRowsOptions rows;
  uint64_t bytes = 0;
};

struct CachePlan {
  std::vector<PlannedCache> caches;
  uint64_t bytes = 0;  // of all
};

// Plans a cache for each parameter with sparse update.  Throws kUsage when there is none, when a parameter has what
// devices cannot do, and when `options` give too little memory for a cache; kExhausted when the device has less.
CachePlan plan_caches(const RowDevice& device, const DeviceOptions& options,
                      const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers);

// A line for each cache and one for all of them.
std::string describe(const CachePlan& plan, const std::vector<ParameterSpec>& parameters);

}  // namespace ps

#endif  // PS_DEVICE_CACHE_PLAN_H_
