// Kernels of a cross network: Wang et al., "Deep & cross network for ad click predictions", ADKDD 2017.  Used
// by the layer cross.  T is float or double.
//
//   x_{l+1} = x_0 (x_l . w_l) + b_l + x_l for l in [0, L), with x_0 the input and x_L the output, [B, D] each
#ifndef PS_MATH_CROSS_KERNELS_H_
#define PS_MATH_CROSS_KERNELS_H_

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// The parameters of the network; biases may be null.
template <class T>
struct CrossWeights {
  Matrix<const T> weights, biases;  // [L, D]
};

// Values of each l that forward writes for backward.
template <class T>
struct CrossStates {
  T* states;    // [B, L, D]: x_l
  T* products;  // [B, L]: x_l . w_l
};

// Gradients of each l that backward writes; the gradients of w_l and b_l are sums over them.
template <class T>
struct CrossGradients {
  T* states;         // [B, L, D], of x_{l+1}
  T* products;       // [B, L], of x_l . w_l
  Matrix<T> inputs;  // [B, D], of x_0
};

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
