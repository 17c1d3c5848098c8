// The softmax of one row, and its gradient.  Used by the kernels of activations, of sequences and of attention;
// constexpr, since nvcc compiles such functions for a device too.
#ifndef PS_MATH_SOFTMAX_ROW_H_
#define PS_MATH_SOFTMAX_ROW_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ps {

// x [cols] <- softmax(x), of at least one value.  The largest value is subtracted first, so that no exponential
// overflows.
template <class T>
constexpr void softmax_row(T* x, int64_t cols) {
  T largest = x[0], sum = 0;
  for (int64_t c = 1; c < cols; ++c) largest = std::max(largest, x[c]);
  for (int64_t c = 0; c < cols; ++c) sum += x[c] = std::exp(x[c] - largest);
  for (int64_t c = 0; c < cols; ++c) x[c] /= sum;
}

// With y = softmax(x): dx_c = y_c (dy_c - sum over j of dy_j y_j)
template <class T>
constexpr void softmax_row_backward(const T* y, T* gradient, int64_t cols) {
  T sum = 0;
  for (int64_t c = 0; c < cols; ++c) sum += gradient[c] * y[c];
  for (int64_t c = 0; c < cols; ++c) gradient[c] = y[c] * (gradient[c] - sum);
}

}  // namespace ps

#endif  // PS_MATH_SOFTMAX_ROW_H_
