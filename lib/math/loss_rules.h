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

// The logistic loss of a label that is 1 - smoothing / 2, or smoothing / 2: Szegedy et al., "Rethinking the inception
// architecture for computer vision", CVPR 2016, for two classes.
struct SmoothedLogisticLoss {
  double smoothing;

  template <class T>
  constexpr T operator()(T score, T label, T& slope) const {
    const T away = static_cast<T>(smoothing) / 2;  // the part of the other class
    const T loss = LogisticLoss()(score, label, slope);
    slope += label > 0 ? away : -away;
    return loss + (label > 0 ? away * score : -away * score);
  }
};

// With p the probability of the label and q = 1 - p: -alpha q^gamma log p, where alpha counts for a positive label and 1 -
// alpha for others: Lin et al., "Focal loss for dense object detection", ICCV 2017.
//   d/dz (q^gamma log(1 + e^-z)) = -q^gamma (gamma p log(1 + e^-z) + q), where p = logistic(z)
struct FocalLoss {
  double gamma, alpha;

  template <class T>
  constexpr T operator()(T score, T label, T& slope) const {
    const T toward = label > 0 ? score : -score;
    const T right = logistic(toward), wrong = logistic(-toward), loss = log1p_exp(-toward);
    const T scale = static_cast<T>(label > 0 ? alpha : 1 - alpha) * std::pow(wrong, static_cast<T>(gamma));
    const T falling = scale * (static_cast<T>(gamma) * right * loss + wrong);
    slope = label > 0 ? -falling : falling;
    return scale * loss;
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
