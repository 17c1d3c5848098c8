// The rules of costs of one value per example: loss(value, label, slope) gives the cost, and sets slope to
// its derivative by the value.  Used by the kernel evaluate_losses (math/cost_kernels.h).  T is float or
// double; constexpr, since nvcc compiles such functions for a device too.
#ifndef PS_MATH_LOSS_RULES_H_
#define PS_MATH_LOSS_RULES_H_

#include <cmath>

#include "math/stable.h"

namespace ps {

// With p = logistic(score): -log p for a positive label, else -log(1 - p).
struct LogisticLoss {
  template <class T>
  constexpr T operator()(T score, T label, T& slope) const {
    const T toward = label > 0 ? -score : score;  // the cost grows with it
    slope = label > 0 ? -logistic(toward) : logistic(toward);
    return log1p_exp(toward);
  }
};

// r^2 with the residual r = value - label; without a half, as PaddlePaddle's regression_cost: its gradient is
// 2 r.
struct SquaredLoss {
  template <class T>
  constexpr T operator()(T value, T label, T& slope) const {
    const T residual = value - label;
    slope = 2 * residual;
    return residual * residual;
  }
};

// |r|; its gradient at 0 is 0.
struct AbsoluteLoss {
  template <class T>
  constexpr T operator()(T value, T label, T& slope) const {
    const T residual = value - label;
    slope = static_cast<T>((residual > 0) - (residual < 0));
    return std::abs(residual);
  }
};

// r^2 / 2 up to |r| = delta, then delta (|r| - delta / 2): Huber, "Robust estimation of a location
// parameter", 1964.
struct HuberLoss {
  double delta;

  template <class T>
  constexpr T operator()(T value, T label, T& slope) const {
    const T residual = value - label;
    const T limit = static_cast<T>(delta), size = std::abs(residual);
    if (size <= limit) return slope = residual, residual * residual / 2;
    slope = std::copysign(limit, residual);
    return limit * (size - limit / 2);
  }
};

}  // namespace ps

#endif  // PS_MATH_LOSS_RULES_H_
