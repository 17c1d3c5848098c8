#include "ps/array_bound.h"

namespace ps {

uint64_t array_bound(const ParameterSpec& spec, int state_arrays, uint64_t& budget) {
  constexpr int64_t kNarrow = 32;  // floats of weights and state
  const uint64_t bound = static_cast<uint64_t>(spec.rows);
  if (spec.row_policy || spec.cols * (1 + state_arrays) > kNarrow || bound > budget / sizeof(uint32_t))
    return 0;
  budget -= bound * sizeof(uint32_t);
  return bound;
}

}  // namespace ps
