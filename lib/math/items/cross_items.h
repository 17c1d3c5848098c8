// The items of the kernels of math/cross_kernels.h: an example.  The processor and devices with memory of their own both
// compile them (math/device_kernels.h).
#ifndef PS_MATH_ITEMS_CROSS_ITEMS_H_
#define PS_MATH_ITEMS_CROSS_ITEMS_H_

#include <cstdint>

#include "math/matrix.h"

namespace ps {

// The parameters of the network; biases may be null.
template <class T>
struct CrossWeights {
  Matrix<const T> weights, biases;  // [L, D]
};

// Values that forward writes for backward, for each l.
template <class T>
struct CrossStates {
  T* states;    // [B, L, D]: x_l
  T* products;  // [B, L]: x_l . w_l
};

// Gradients that backward writes, for each l.  The gradients of w_l and b_l are sums over them.
template <class T>
struct CrossGradients {
  T* states;         // [B, L, D], of x_{l+1}
  T* products;       // [B, L], of x_l . w_l
  Matrix<T> inputs;  // [B, D], of x_0
};

template <class T>
constexpr T cross_dot(const T* a, const T* b, int64_t size) {
  T sum = 0;
  for (int64_t d = 0; d < size; ++d) sum += a[d] * b[d];
  return sum;
}

template <class T>
constexpr void cross_add(T* sum, T scale, const T* values, int64_t size) {
  for (int64_t d = 0; d < size; ++d) sum[d] += scale * values[d];
}

template <class T>
constexpr void cross_copy(const T* from, int64_t size, T* to) {
  for (int64_t d = 0; d < size; ++d) to[d] = from[d];
}

template <class T>
struct CrossItems {
  CrossWeights<T> parameters;
  Matrix<const T> input;
  CrossStates<T> states;
  Matrix<T> output;

  constexpr void operator()(int64_t b) const {
    const int64_t depth = parameters.weights.rows, cols = input.cols;
    const T* x0 = input.row(b);
    T* x = output.row(b);  // x_l, then x_{l+1}
    cross_copy(x0, cols, x);
    for (int64_t l = 0; l < depth; ++l) {
      cross_copy(x, cols, states.states + (b * depth + l) * cols);
      const T product = cross_dot<T>(x, parameters.weights.row(l), cols);
      states.products[b * depth + l] = product;
      for (int64_t d = 0; d < cols; ++d) x[d] += x0[d] * product;
      if (parameters.biases.data != nullptr) cross_add(x, T(1), parameters.biases.row(l), cols);
    }
  }
};

template <class T>
struct CrossGradientItems {
  CrossWeights<T> parameters;
  Matrix<const T> input;
  CrossStates<T> states;
  Matrix<const T> output_gradient;
  CrossGradients<T> gradients;

  constexpr void operator()(int64_t b) const {
    const int64_t depth = parameters.weights.rows, cols = input.cols;
    T* const input_gradient = gradients.inputs.row(b);
    const T* above = output_gradient.row(b);
    for (int64_t d = 0; d < cols; ++d) input_gradient[d] = T(0);
    for (int64_t l = depth; l-- > 0;) {
      const int64_t here = b * depth + l;
      T* gradient = gradients.states + here * cols;  // of x_{l+1}
      cross_copy(above, cols, gradient);
      if (l + 1 < depth)
        cross_add(gradient, gradients.products[here + 1], parameters.weights.row(l + 1), cols);
      gradients.products[here] = cross_dot<T>(gradient, input.row(b), cols);
      cross_add<T>(input_gradient, states.products[here], gradient, cols);
      above = gradient;
    }
    cross_add(input_gradient, T(1), above, cols);
    cross_add(input_gradient, gradients.products[b * depth], parameters.weights.row(0), cols);
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_CROSS_ITEMS_H_
