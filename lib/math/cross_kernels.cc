#include "math/cross_kernels.h"

#include "base/reals.h"
#include "math/blocks.h"

namespace ps {

template <class T>
void cross_forward(Device& device, const CrossWeights<T>& parameters, Matrix<const T> input,
                   const CrossStates<T>& states, Matrix<T> output) {
  for_items(device, input.rows, 4 * parameters.weights.size(),
            CrossItems<T>{parameters, input, states, output});
}

template <class T>
void cross_backward(Device& device, const CrossWeights<T>& parameters, Matrix<const T> input,
                    const CrossStates<T>& states, Matrix<const T> output_gradient,
                    const CrossGradients<T>& gradients) {
  for_items(device, input.rows, 4 * parameters.weights.size(),
            CrossGradientItems<T>{parameters, input, states, output_gradient, gradients});
}

#define PS_INSTANTIATE(T)                                                                               \
  template void cross_forward(Device&, const CrossWeights<T>&, Matrix<const T>, const CrossStates<T>&,  \
                              Matrix<T>);                                                               \
  template void cross_backward(Device&, const CrossWeights<T>&, Matrix<const T>, const CrossStates<T>&, \
                               Matrix<const T>, const CrossGradients<T>&);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
