// Activations: what is applied to a layer's output, element by element (softmax: example by example).  Used
// by Network, after a layer's forward and before its backward.
#ifndef PS_MODEL_ACTIVATION_H_
#define PS_MODEL_ACTIVATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

enum class Activation {
  kLinear,
  kSigmoid,
  kTanh,
  kStanh,  // 1.7159 tanh(2x / 3): LeCun et al., "Efficient BackProp", 1998
  kRelu,
  kBrelu,     // min(max(x, 0), 24)
  kSoftplus,  // log(1 + exp(x))
  kSoftmax,   // exp(x_c) / sum of exp(x) over the example
  kExponential,
};

// Names in the job file, in the order of the manual.
std::vector<std::string> activation_names();

// `name` is one of activation_names().
Activation find_activation(std::string_view name);

// values [B, C] <- activation(values).
template <class T>
void activate(Activation activation, Device& device, Matrix<T> values);

// gradient [B, C] <- gradient x d(output)/d(input), where output [B, C] is what activate gave.
template <class T>
void activation_backward(Activation activation, Device& device, Matrix<const T> output, Matrix<T> gradient);

}  // namespace ps

#endif  // PS_MODEL_ACTIVATION_H_
