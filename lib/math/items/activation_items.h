// The items of the kernels of math/activation.h: a value, or an example for softmax.  The processor and devices with
// memory of their own both compile them (math/device_kernels.h).
#ifndef PS_MATH_ITEMS_ACTIVATION_ITEMS_H_
#define PS_MATH_ITEMS_ACTIVATION_ITEMS_H_

#include <cstdint>

#include "math/activation_rules.h"
#include "math/matrix.h"
#include "math/softmax_row.h"

namespace ps {

template <class T, class Rule>
struct ActivateItems {
  T* x;

  constexpr void operator()(int64_t i) const { x[i] = Rule::value(x[i]); }
};

template <class T, class Rule>
struct ActivationSlopeItems {
  const T* y;
  T* gradient;

  constexpr void operator()(int64_t i) const { gradient[i] = gradient[i] * Rule::slope(y[i]); }
};

template <class T>
struct SoftmaxItems {
  Matrix<T> values;

  constexpr void operator()(int64_t b) const { softmax_row(values.data + b * values.cols, values.cols); }
};

template <class T>
struct SoftmaxSlopeItems {
  Matrix<const T> output;
  Matrix<T> gradient;

  constexpr void operator()(int64_t b) const {
    softmax_row_backward(output.data + b * output.cols, gradient.data + b * gradient.cols, gradient.cols);
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_ACTIVATION_ITEMS_H_
