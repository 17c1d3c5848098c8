// Tests that floats from outside are neither NaN nor infinite.  Used by shards, before gradients and weights of
// trainers reach a table.
#ifndef PS_MATH_FINITE_H_
#define PS_MATH_FINITE_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ps {

// Returns true when all of the `count` values are numbers.  Adding 2^23 to the bits of a magnitude carries
// into the sign bit exactly when all bits of its exponent are set: the loop has no branch, and runs at the
// speed of memory.
inline bool all_finite(const float* values, size_t count) {
  constexpr uint32_t kMagnitude = 0x7fffffff, kExponentStep = 0x00800000;
  uint32_t carries = 0;
  for (size_t i = 0; i < count; ++i) {
    carries |= (std::bit_cast<uint32_t>(values[i]) & kMagnitude) + kExponentStep;
  }
  return carries >> 31 == 0;
}

}  // namespace ps

#endif  // PS_MATH_FINITE_H_
