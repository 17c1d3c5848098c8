#include "math/activation.h"

#include "base/reals.h"
#include "math/blocks.h"
#include "math/items/activation_items.h"

namespace ps {

namespace {

// The operations that exp or tanh take for an element: they take about 10 ns.
constexpr int64_t kActivationWork = 16;

// Calls body(rule) with the rule of an activation that works element by element and is not linear.
template <class Body>
void with_rule(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::kLinear:
    case Activation::kSoftmax:
      return;
    case Activation::kSigmoid:
      return body(SigmoidRule());
    case Activation::kTanh:
      return body(TanhRule());
    case Activation::kStanh:
      return body(StanhRule());
    case Activation::kRelu:
      return body(ReluRule());
    case Activation::kBrelu:
      return body(BreluRule());
    case Activation::kSoftplus:
      return body(SoftplusRule());
    case Activation::kExponential:
      return body(ExponentialRule());
  }
}

}  // namespace

template <class T>
void activate(Device& device, Activation activation, Matrix<T> values) {
  if (activation == Activation::kSoftmax) {
    return for_items(device, values.rows, kActivationWork * values.cols, SoftmaxItems<T>{values});
  }
  with_rule(activation, [&](auto rule) {
    for_items(device, values.size(), kActivationWork, ActivateItems<T, decltype(rule)>{values.data});
  });
}

template <class T>
void activation_backward(Device& device, Activation activation, Matrix<const T> output, Matrix<T> gradient) {
  if (activation == Activation::kSoftmax) {
    return for_items(device, gradient.rows, kActivationWork * gradient.cols,
                     SoftmaxSlopeItems<T>{output, gradient});
  }
  with_rule(activation, [&](auto rule) {
    for_items(device, gradient.size(), kActivationWork,
              ActivationSlopeItems<T, decltype(rule)>{output.data, gradient.data});
  });
}

#define PS_INSTANTIATE(T)                                 \
  template void activate(Device&, Activation, Matrix<T>); \
  template void activation_backward(Device&, Activation, Matrix<const T>, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
