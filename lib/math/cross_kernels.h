// Kernels of a cross network: Wang et al., "Deep & cross network for ad click predictions", ADKDD 2017.  Used
// by the layer cross.  T is float or double.
//
//   x_{l+1} = x_0 (x_l . w_l) + b_l + x_l for l in [0, L), with x_0 the input and x_L the output, [B, D] each
#ifndef PS_MATH_CROSS_KERNELS_H_
#define PS_MATH_CROSS_KERNELS_H_

#include "math/device.h"
#include "math/items/cross_items.h"
#include "math/matrix.h"

namespace ps {

// output [B, D] <- x_L.
template <class T>
void cross_forward(Device& device, const CrossWeights<T>& parameters, Matrix<const T> input,
                   const CrossStates<T>& states, Matrix<T> output);

template <class T>
void cross_backward(Device& device, const CrossWeights<T>& parameters, Matrix<const T> input,
                    const CrossStates<T>& states, Matrix<const T> output_gradient,
                    const CrossGradients<T>& gradients);

}  // namespace ps

#endif  // PS_MATH_CROSS_KERNELS_H_
