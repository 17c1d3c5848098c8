// Kernels of activations: functions applied to a layer's output, element by element (softmax: example by
// example).  Used by Network, after a layer's forward and before its backward.  T is float or double.
#ifndef PS_MATH_ACTIVATION_H_
#define PS_MATH_ACTIVATION_H_

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// math/activation_rules.h has the formulas of the activations.
enum class Activation {
  kLinear,
  kSigmoid,
  kTanh,
  kStanh,
  kRelu,
  kBrelu,
  kSoftplus,
  kSoftmax,  // exp(x_c) / sum of exp(x) over the example
  kExponential,
};

// values [B, C] <- activation(values).
template <class T>
void activate(Device& device, Activation activation, Matrix<T> values);

// gradient [B, C] <- gradient x d(output)/d(input), where output [B, C] is what activate gave.
template <class T>
void activation_backward(Device& device, Activation activation, Matrix<const T> output, Matrix<T> gradient);

}  // namespace ps

#endif  // PS_MATH_ACTIVATION_H_
