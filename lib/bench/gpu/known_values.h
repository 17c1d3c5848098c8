// The keys, values and gradients of rows in all tables of the suite `gpu`, which checks compute again.  Used
// by workloads on devices and on the processor.
#ifndef PS_BENCH_GPU_KNOWN_VALUES_H_
#define PS_BENCH_GPU_KNOWN_VALUES_H_

#include <cstdint>

#include "base/hash.h"

namespace ps {

// Returns the key of item `index` of a table.  Keys are spread over all of 64 bits.
constexpr uint64_t bench_key(uint64_t index) {
  return hash_key(index + 1);
}

// Returns the value that row `key` of a table has in column `column`: in [-1, 1), and never 0.
constexpr float bench_value(uint64_t key, uint32_t column) {
  const auto bits = static_cast<int32_t>(hash_key(key + uint64_t{0x9e3779b97f4a7c15} * (column + 1)) >> 41);
  return (static_cast<float>(bits - (1 << 22)) + 0.5f) / static_cast<float>(1 << 22);
}

// Returns the gradient of look-up `i` of a batch.  It is positive, so that sums do not cancel.
constexpr float bench_gradient(uint64_t i, uint32_t column) {
  return 0.5f + bench_value(i, column) / 4;
}

}  // namespace ps

#endif  // PS_BENCH_GPU_KNOWN_VALUES_H_
