// Arithmetic of one weight, for loops that compilers vectorise: no branches, and no calls that are not
// inlined.  The functions are always inlined and use compiler built-ins alone, since they are compiled for
// several levels of instruction sets; they are constexpr, since nvcc compiles such functions for a device
// too.
#ifndef PS_OPTIM_KERNELS_ARITHMETIC_H_
#define PS_OPTIM_KERNELS_ARITHMETIC_H_

namespace ps {

[[gnu::always_inline]] constexpr float absolute(float x) {
  return __builtin_fabsf(x);
}
[[gnu::always_inline]] constexpr double absolute(double x) {
  return __builtin_fabs(x);
}
[[gnu::always_inline]] constexpr float with_sign(float size, float sign) {
  return __builtin_copysignf(size, sign);
}
[[gnu::always_inline]] constexpr double with_sign(double size, double sign) {
  return __builtin_copysign(size, sign);
}
template <class T>
[[gnu::always_inline]] constexpr T root(T x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return __builtin_sqrtf(x);
  } else {
    return __builtin_sqrt(x);
  }
}

// Returns the first argument if both are equal, or if one is NaN.
template <class T>
[[gnu::always_inline]] constexpr T larger(T x, T y) {
  return x < y ? y : x;
}
template <class T>
[[gnu::always_inline]] constexpr T smaller(T x, T y) {
  return y < x ? y : x;
}

// Moves x towards zero by `threshold` >= 0, but not past zero: the proximal step of L1.  NaN stays NaN.
template <class T>
[[gnu::always_inline]] constexpr T soft_threshold(T x, T threshold) {
  return with_sign(larger(absolute(x) - threshold, T(0)), x);
}

// Returns soft_threshold(weight - move, threshold), rounding `weight` once.
template <class T>
[[gnu::always_inline]] constexpr T proximal_step(T weight, T move, T threshold) {
  T sign = with_sign(T(1), weight - move);
  T kept = weight - (move + sign * threshold);
  return sign * larger(sign * kept, T(0)) + T(0);  // + 0 makes -0 into 0
}

// Clamps x to [-bound, bound]; NaN stays NaN. (It is written out, since nvcc 13.0 has returned an undefined
// value when it called larger and smaller.)
template <class T>
[[gnu::always_inline]] constexpr T clip(T x, T bound) {
  const T above = x < -bound ? -bound : x;
  return bound < above ? bound : above;
}

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_ARITHMETIC_H_
