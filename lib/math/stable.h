// Functions of logits that neither overflow nor cancel.  Used by rules and kernels of activations and costs.
// T is float or double; constexpr, since nvcc compiles such functions for a device too.
#ifndef PS_MATH_STABLE_H_
#define PS_MATH_STABLE_H_

#include <algorithm>
#include <cmath>

namespace ps {

// log(1 + e^x)
template <class T>
constexpr T log1p_exp(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

// 1 / (1 + e^-x)
template <class T>
constexpr T logistic(T x) {
  T small = std::exp(-std::abs(x));
  return (x >= 0 ? T(1) : small) / (1 + small);
}

}  // namespace ps

#endif  // PS_MATH_STABLE_H_
