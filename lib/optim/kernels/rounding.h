// Rounding of the results of steps without gradient.
//
// Decay subtracts the same small amount from a weight again and again.  Rounding each result to the nearest
// float makes the same error each time, which adds up to 1e-4 after some thousand steps.  So a step with a
// gradient rounds decay and gradient together, once; catch-up of idle steps, which has no gradient, uses
// stochastic rounding.
//
// Compiled for several levels of instruction sets, and by nvcc: always inlined and constexpr, like
// arithmetic.h.
#ifndef PS_OPTIM_KERNELS_ROUNDING_H_
#define PS_OPTIM_KERNELS_ROUNDING_H_

#include <cstdint>
#include <limits>

#include "optim/kernels/arithmetic.h"

namespace ps {

// Evenly distributed 64-bit numbers for round_evenly.  They depend on the step and the column alone.  One
// owner thread.
class Dither {
 public:
  [[gnu::always_inline]] constexpr explicit Dither(int64_t step)
      : value_(static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u) {}
  [[gnu::always_inline]] constexpr uint64_t next() { return value_ += kStride; }

  // Returns the number that next would return after `column` others.
  [[gnu::always_inline]] constexpr uint64_t at(uint64_t column) const {
    return value_ + (column + 1) * kStride;
  }

 private:
  static constexpr uint64_t kStride = 0xd1b54a32d192ed03u;

  uint64_t value_;
};

// Rounds x to T, and subnormal results to zero: rows that are idle for long would otherwise fill with
// subnormal numbers, which cost processors a hundred cycles each.
template <class T>
[[gnu::always_inline]] constexpr T round_normal(double x) {
  constexpr double kSmallest = std::numeric_limits<T>::min();
  return static_cast<T>(absolute(x) < kSmallest ? 0.0 : x);
}

// Like round_normal, but with stochastic rounding: `dither` chooses one of the two neighbours of x such that
// the mean over all dithers is x.  Values that T can represent stay unchanged.
template <class T>
[[gnu::always_inline]] constexpr T round_evenly(double x, uint64_t dither) {
  if constexpr (sizeof(T) == sizeof(double)) return x;
  constexpr int kDropped = 52 - 23;  // the bits of a double's fraction that a float lacks
  const uint64_t bits = __builtin_bit_cast(uint64_t, x) + (dither >> (64 - kDropped));
  return round_normal<T>(__builtin_bit_cast(double, bits >> kDropped << kDropped));
}

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_ROUNDING_H_
