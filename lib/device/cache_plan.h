// CachePlan: the rows of a job that a device gets, computed before any memory is allocated there.  The job
// shows it, and DeviceStore follows it.
#ifndef PS_DEVICE_CACHE_PLAN_H_
#define PS_DEVICE_CACHE_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "device/options.h"
#include "device/row_device.h"
#include "math/initializer.h"
#include "math/value_rounding.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"
#include "store/row_lender.h"

namespace ps {

struct PlannedCache {
  int parameter = 0;  // index of the parameter
  CachedRowsOptions rows;
  uint64_t bytes = 0;
  NewRows new_rows = NewRows::kAtFirstUse;
  // Rows that nobody has trained may be loaded ahead: the type of values represents the weights with which they begin.
  bool loads_untrained = true;
};

// Returns true if `rounding` leaves all weights that the initializer draws as they are.
bool keeps_first_weights(const ValueRounding& rounding, const Initializer& initializer);

struct CachePlan {
  std::vector<PlannedCache> caches;
  uint64_t bytes = 0;  // bytes of all caches
};

// Plans a cache for each parameter with sparse update.  Throws kUsage if there is none, if a parameter has a
// feature that devices lack, or if `options` give too little memory for a cache; kExhausted if the device has
// less memory.
CachePlan plan_caches(const RowDevice& device, const DeviceOptions& options,
                      const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers);

// Returns a line for each cache and one for all of them.
std::string describe(const CachePlan& plan, const std::vector<ParameterSpec>& parameters);

}  // namespace ps

#endif  // PS_DEVICE_CACHE_PLAN_H_
