// The memory that dense parameters need, known before any table is made.  Used by LocalStore and by the memory
// limits of servers, which refuse parameters that do not fit.
#ifndef PS_STORE_DENSE_BYTES_H_
#define PS_STORE_DENSE_BYTES_H_

#include <cstdint>
#include <span>

#include "optim/optimizer_plan.h"
#include "optim/parameter.h"
#include "store/placement.h"

namespace ps {

struct DenseBytes {
  uint64_t total = 0, largest = 0;  // UINT64_MAX: that many or more
  // The spec that needs `largest`; null: no parameter needs memory.
  const ParameterSpec* worst = nullptr;
};

// Returns the bytes of weights and optimizer state on one shard; with `gradient_buffer`, also of a gradient for
// each matrix.
DenseBytes dense_bytes(std::span<const ParameterSpec> specs, const OptimizerPlan& optimizers,
                       const ShardPlace& place, bool gradient_buffer = false);

}  // namespace ps

#endif  // PS_STORE_DENSE_BYTES_H_
