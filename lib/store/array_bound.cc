#include "store/array_bound.h"

#include <algorithm>

namespace ps {

// An array has 4 bytes for each possible key, used or not.  It pays for narrow rows only: with wide ones,
// memory traffic of the row itself outweighs the look-up.  Rows with a policy come and go, and are found by
// hash.
uint64_t array_bound(const ParameterSpec& spec, int state_arrays, uint64_t& budget) {
  constexpr int64_t kNarrow = 32;  // the most floats, weights and state, of a narrow row
  constexpr uint64_t kMostKeys = uint64_t{1} << 32;
  const uint64_t bound = static_cast<uint64_t>(spec.rows);
  const uint64_t most = std::min(budget / sizeof(uint32_t), kMostKeys);
  if (spec.row_policy || spec.cols * (1 + state_arrays) > kNarrow || bound > most) return 0;
  budget -= bound * sizeof(uint32_t);
  return bound;
}

}  // namespace ps
