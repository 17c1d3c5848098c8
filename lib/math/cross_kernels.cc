#include "math/cross_kernels.h"

#include <algorithm>

#include "math/blocks.h"

namespace ps {

namespace {

template <class T>
T cross_dot(const T* a, const T* b, int64_t size) {
  T sum = 0;
  for (int64_t d = 0; d < size; ++d) sum += a[d] * b[d];
  return sum;
}

template <class T>
void cross_add(T* sum, T scale, const T* values, int64_t size) {
  for (int64_t d = 0; d < size; ++d) sum[d] += scale * values[d];
}

template <class T>
void cross_example(const CrossWeights<T>& parameters, Matrix<const T> input, const CrossStates<T>& states,
                   int64_t b, T* x) {
  const int64_t depth = parameters.weights.rows, cols = input.cols;
  const T* x0 = input.row(b);
  std::copy_n(x0, cols, x);  // x_l, then x_{l+1}
  for (int64_t l = 0; l < depth; ++l) {
    std::copy_n(x, cols, states.states + (b * depth + l) * cols);
    const T product = cross_dot(x, parameters.weights.row(l), cols);
    states.products[b * depth + l] = product;
    for (int64_t d = 0; d < cols; ++d) x[d] += x0[d] * product;
    if (parameters.biases) cross_add(x, T(1), parameters.biases.row(l), cols);
  }
}

template <class T>
void cross_example_backward(const CrossWeights<T>& parameters, Matrix<const T> input,
                            const CrossStates<T>& states, const T* above, const CrossGradients<T>& gradients,
                            int64_t b) {
  const int64_t depth = parameters.weights.rows, cols = input.cols;
  T* const input_gradient = gradients.inputs.row(b);
  std::fill_n(input_gradient, cols, T(0));
  for (int64_t l = depth; l-- > 0;) {
    const int64_t here = b * depth + l;
    T* gradient = gradients.states + here * cols;  // of x_{l+1}
    std::copy_n(above, cols, gradient);
    if (l + 1 < depth) cross_add(gradient, gradients.products[here + 1], parameters.weights.row(l + 1), cols);
    gradients.products[here] = cross_dot(gradient, input.row(b), cols);
    cross_add(input_gradient, states.products[here], gradient, cols);
    above = gradient;
  }
  cross_add(input_gradient, T(1), above, cols);
  cross_add(input_gradient, gradients.products[b * depth], parameters.weights.row(0), cols);
}

}  // namespace

template <class T>
void cross_forward(Device& device, const CrossWeights<T>& parameters, Matrix<const T> input,
                   const CrossStates<T>& states, Matrix<T> output) {
  for_items(device, input.rows, 4 * parameters.weights.size(),
            [=](int64_t b) { cross_example(parameters, input, states, b, output.row(b)); });
}

template <class T>
void cross_backward(Device& device, const CrossWeights<T>& parameters, Matrix<const T> input,
                    const CrossStates<T>& states, Matrix<const T> output_gradient,
                    const CrossGradients<T>& gradients) {
  for_items(device, input.rows, 4 * parameters.weights.size(), [=](int64_t b) {
    cross_example_backward(parameters, input, states, output_gradient.row(b), gradients, b);
  });
}

#define PS_INSTANTIATE(T)                                                                               \
  template void cross_forward(Device&, const CrossWeights<T>&, Matrix<const T>, const CrossStates<T>&,  \
                              Matrix<T>);                                                               \
  template void cross_backward(Device&, const CrossWeights<T>&, Matrix<const T>, const CrossStates<T>&, \
                               Matrix<const T>, const CrossGradients<T>&);
PS_INSTANTIATE(float)
PS_INSTANTIATE(double)
#undef PS_INSTANTIATE

}  // namespace ps
