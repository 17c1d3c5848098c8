// How numbers that steps without gradient move are rounded.
//
// Decay takes the same small amount off a weight again and again.  Rounding such steps to float the usual way
// errs the same way each time, and thousands of them are off by 1e-4; so steps round once, together with the
// gradient's part, and catch-up, which has no such part, rounds up or down in proportion.
//
// Compiled for several levels of instruction sets: always inlined, like arithmetic.h.
#ifndef PS_OPTIM_KERNELS_ROUNDING_H_
#define PS_OPTIM_KERNELS_ROUNDING_H_

#include <cstdint>
#include <limits>

#include "optim/kernels/arithmetic.h"

namespace ps {

// Numbers spread evenly over all 64-bit numbers, for round_evenly.  They depend on the step and the column
// alone.
class Dither {
 public:
  [[gnu::always_inline]] explicit Dither(int64_t step)
      : value_(static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u) {}
  [[gnu::always_inline]] uint64_t next() { return value_ += 0xd1b54a32d192ed03u; }

 private:
  uint64_t value_;
};

// x as a T, but zero where a T would be subnormal: rows that sit out long would fill with such numbers, which
// processors take a hundred cycles for.
template <class T>
[[gnu::always_inline]] inline T round_normal(double x) {
  constexpr double kSmallest = std::numeric_limits<T>::min();
  return static_cast<T>(absolute(x) < kSmallest ? 0.0 : x);
}

// round_normal, but one of the two neighbours of x, chosen by `dither` such that the mean over all dithers is
// x. What is a T already stays.
template <class T>
[[gnu::always_inline]] inline T round_evenly(double x, uint64_t dither) {
  if constexpr (sizeof(T) == sizeof(double)) return x;
  constexpr int kDropped = 52 - 23;  // bits of the fraction that a float does not have
  const uint64_t bits = __builtin_bit_cast(uint64_t, x) + (dither >> (64 - kDropped));
  return round_normal<T>(__builtin_bit_cast(double, bits >> kDropped << kDropped));
}

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_ROUNDING_H_
