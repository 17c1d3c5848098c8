// What the inner loops of all optimizers share.  Plain arithmetic without branches, so that compilers
// vectorise it.
//
// Decay takes the same small amount off a weight again and again.  Rounding such steps to float the usual way
// errs the same way each time, and thousands of them are off by 1e-4; so steps round once, together with the
// gradient's part, and catch-up, which has no such part, rounds up or down in proportion.
#ifndef PS_OPTIM_ELEMENTWISE_H_
#define PS_OPTIM_ELEMENTWISE_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ps {

// x moved towards zero by `threshold` >= 0, stopping there: the proximal step of L1.  NaN stays.
template <class T>
inline T soft_threshold(T x, T threshold) {
  return std::copysign(std::max(std::abs(x) - threshold, T(0)), x);
}

// soft_threshold(weight - move, threshold), rounding `weight` once.
template <class T>
inline T proximal_step(T weight, T move, T threshold) {
  T sign = std::copysign(T(1), weight - move);
  T kept = weight - (move + sign * threshold);
  return sign * std::max(sign * kept, T(0)) + T(0);  // + 0 makes -0 into 0
}

// x in [-bound, bound]; NaN stays.
template <class T>
inline T clip(T x, T bound) {
  return std::min(std::max(x, -bound), bound);
}

// The mean of `count` numbers, after `more` with the sum `sum` join them.
inline double join_mean(double mean, double count, double sum, double more) {
  return mean + (sum - more * mean) / (count + more);
}

// Numbers spread evenly over all 64-bit numbers, for round_evenly.  They depend on the step and the column
// alone.
class Dither {
 public:
  explicit Dither(int64_t step) : value_(static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u) {}
  uint64_t next() { return value_ += 0xd1b54a32d192ed03u; }

 private:
  uint64_t value_;
};

// x as a T, but zero where a T would be subnormal: rows that sit out long would fill with such numbers, which
// processors take a hundred cycles for.
template <class T>
inline T round_normal(double x) {
  return static_cast<T>(std::abs(x) < std::numeric_limits<T>::min() ? 0.0 : x);
}

// round_normal, but one of the two neighbours of x, chosen by `dither` such that the mean over all dithers is
// x. What is a T already stays.
template <class T>
inline T round_evenly(double x, uint64_t dither) {
  if constexpr (sizeof(T) == sizeof(double)) return x;
  constexpr int kDropped = 52 - 23;  // bits of the fraction that a float does not have
  uint64_t bits = std::bit_cast<uint64_t>(x) + (dither >> (64 - kDropped));
  return round_normal<T>(std::bit_cast<double>(bits >> kDropped << kDropped));
}

}  // namespace ps

#endif  // PS_OPTIM_ELEMENTWISE_H_
