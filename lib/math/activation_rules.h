// The rules of activations that work element by element: y = value(x), and slope(y), the derivative dy/dx by
// the value y.  Used by the kernels of math/activation.h.  T is float or double; constexpr, since nvcc
// compiles such functions for a device too.
#ifndef PS_MATH_ACTIVATION_RULES_H_
#define PS_MATH_ACTIVATION_RULES_H_

#include <algorithm>
#include <cmath>

#include "math/stable.h"

namespace ps {

struct SigmoidRule {
  template <class T>
  static constexpr T value(T x) {
    return logistic(x);
  }
  template <class T>
  static constexpr T slope(T y) {
    return y * (T(1) - y);
  }
};

struct TanhRule {
  template <class T>
  static constexpr T value(T x) {
    return std::tanh(x);
  }
  template <class T>
  static constexpr T slope(T y) {
    return T(1) - y * y;
  }
};

// Scaled tanh, 1.7159 tanh(2x / 3): LeCun et al., "Efficient BackProp", 1998.
struct StanhRule {
  static constexpr double kHeight = 1.7159, kSlope = 2.0 / 3.0;

  template <class T>
  static constexpr T value(T x) {
    return T(kHeight) * std::tanh(T(kSlope) * x);
  }
  template <class T>
  static constexpr T slope(T y) {
    return T(kSlope) * (T(kHeight) - y * y / T(kHeight));
  }
};

struct ReluRule {
  template <class T>
  static constexpr T value(T x) {
    return std::max(x, T(0));
  }
  template <class T>
  static constexpr T slope(T y) {
    return y > 0 ? T(1) : T(0);
  }
};

// min(max(x, 0), 24)
struct BreluRule {
  static constexpr double kTop = 24;

  template <class T>
  static constexpr T value(T x) {
    return std::clamp(x, T(0), T(kTop));
  }
  template <class T>
  static constexpr T slope(T y) {
    return y > 0 && y < T(kTop) ? T(1) : T(0);
  }
};

// log(1 + exp(x))
struct SoftplusRule {
  template <class T>
  static constexpr T value(T x) {
    return log1p_exp(x);
  }
  template <class T>
  static constexpr T slope(T y) {
    return -std::expm1(-y);
  }
};

struct ExponentialRule {
  template <class T>
  static constexpr T value(T x) {
    return std::exp(x);
  }
  template <class T>
  static constexpr T slope(T y) {
    return y;
  }
};

}  // namespace ps

#endif  // PS_MATH_ACTIVATION_RULES_H_
