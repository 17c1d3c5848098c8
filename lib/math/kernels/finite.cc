// The test for values that are not finite.
#include <bit>

#include "base/reals.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

// The bits of a magnitude, and 1 in the lowest bit of an exponent.
template <class T>
struct RealBits;
template <>
struct RealBits<float> {
  using Word = uint32_t;
  static constexpr Word kMagnitude = 0x7fffffff, kExponentStep = 0x00800000;
};
template <>
struct RealBits<double> {
  using Word = uint64_t;
  static constexpr Word kMagnitude = 0x7fffffffffffffff, kExponentStep = 0x0010000000000000;
};

}  // namespace

// Adding 1 to the exponent carries into the sign bit exactly when all bits of the exponent are set.  So the loop
// has no branch, and each turn of it tests a register of values.
template <class T>
bool all_finite(const T* values, int64_t n) {
  using Bits = RealBits<T>;
  typename Bits::Word carries = 0;
  for (int64_t i = 0; i < n; ++i) {
    carries |= (std::bit_cast<typename Bits::Word>(values[i]) & Bits::kMagnitude) + Bits::kExponentStep;
  }
  return carries >> (8 * sizeof(T) - 1) == 0;
}

#define PS_INSTANTIATE(T) template bool all_finite(const T*, int64_t);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
