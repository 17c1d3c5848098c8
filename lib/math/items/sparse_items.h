// The items of the kernels of math/sparse_kernels.h: one value of what a kernel computes, or one example.  A device
// with memory of its own runs them all (math/device_kernels.h); the processor has loops of its own for most,
// math/kernels/, which add in the same order and so give the same bits.
#ifndef PS_MATH_ITEMS_SPARSE_ITEMS_H_
#define PS_MATH_ITEMS_SPARSE_ITEMS_H_

#include <cstdint>

#include "math/items/add_in_order.h"
#include "math/kernels/kernels.h"
#include "math/matrix.h"

namespace ps {

template <class T>
constexpr T value_of_id(const UseView& use, int64_t position) {
  return use.values == nullptr ? T(1) : T(use.values[position]);
}

// Item i is a value of out [B, D].
template <class T>
struct BagItems {
  UseView use;
  const T* const* rows;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / out.width, d = i % out.width;
    T& sum = out.data[b * out.stride + d];
    sum = add_in_order(sum, use.offsets[b], use.offsets[b + 1],
                       [this, d](int64_t k) { return value_of_id<T>(use, k) * rows[use.index[k]][d]; });
  }
};

template <class T>
struct BagSquareItems {
  UseView use;
  const T* const* rows;
  Columns<T> out, squares;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / out.width, d = i % out.width;
    T sum = out.data[b * out.stride + d], square_sum = squares.data[b * squares.stride + d];
    for (int64_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k) {
      const T part = value_of_id<T>(use, k) * rows[use.index[k]][d];
      sum += part;
      square_sum += part * part;
    }
    out.data[b * out.stride + d] = sum;
    squares.data[b * squares.stride + d] = square_sum;
  }
};

// Item i is a value of the gradients of touched rows, [M, D].
template <class T>
struct BagGradientItems {
  UseView use;
  Columns<const T> out_gradient;
  T* row_gradients;

  constexpr void operator()(int64_t i) const {
    const int64_t m = i / out_gradient.width, d = i % out_gradient.width;
    T& gradient = row_gradients[use.touched[m] * out_gradient.width + d];
    gradient = add_in_order<24>(gradient, use.starts[m], use.starts[m + 1], [this, d](int64_t t) {
      return value_of_id<T>(use, use.positions[t]) *
             out_gradient.data[use.examples[t] * out_gradient.stride + d];
    });
  }
};

// Item i is a value of out [B, width].
template <class T>
struct CopyRowItems {
  UseView use;
  const T* const* rows;
  int64_t row_width;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / out.width, column = i % out.width;
    const int64_t k = use.offsets[b] + column / row_width;
    T& to = out.data[b * out.stride + column];
    to = k < use.offsets[b + 1] ? value_of_id<T>(use, k) * rows[use.index[k]][column % row_width] : T(0);
  }
};

// Item i is a value of the gradients of touched rows, [M, D].
template <class T>
struct CopiedGradientItems {
  UseView use;
  Columns<const T> out_gradient;
  int64_t row_width;
  T* row_gradients;

  constexpr void operator()(int64_t i) const {
    const int64_t m = i / row_width, d = i % row_width;
    T& gradient = row_gradients[use.touched[m] * row_width + d];
    gradient = add_in_order(gradient, use.starts[m], use.starts[m + 1], [this, d](int64_t t) {
      const int64_t k = use.positions[t], b = use.examples[t];
      const int64_t column = (k - use.offsets[b]) * row_width + d;
      return value_of_id<T>(use, k) * out_gradient.data[b * out_gradient.stride + column];
    });
  }
};

// Item i is a value of out [K, D].
template <class T>
struct GatherItems {
  UseView use;
  const T* const* rows;
  Matrix<T> out;

  constexpr void operator()(int64_t i) const {
    const int64_t k = i / out.cols;
    out.data[i] = value_of_id<T>(use, k) * rows[use.index[k]][i % out.cols];
  }
};

// Item i is a value of the gradients of touched rows, [M, D].
template <class T>
struct PairwiseGradientItems {
  UseView use;
  const T* const* rows;
  const T* out_gradient;
  Columns<const T> sums;
  T* row_gradients;

  constexpr void operator()(int64_t i) const {
    const int64_t m = i / sums.width, d = i % sums.width, n = use.touched[m];
    T& gradient = row_gradients[n * sums.width + d];
    const T weight = rows[n][d];
    T sum = gradient;
    for (int64_t t = use.starts[m]; t < use.starts[m + 1]; ++t) {
      const int64_t b = use.examples[t];
      const T value = value_of_id<T>(use, use.positions[t]);
      sum += out_gradient[b] * value * (sums.data[b * sums.stride + d] - value * weight);
    }
    gradient = sum;
  }
};

// Item i is a value of out [B, D].
template <class T>
struct DivideByCountItems {
  const uint32_t* offsets;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / out.width;
    const uint32_t ids = offsets[b + 1] - offsets[b];
    T& value = out.data[b * out.stride + i % out.width];
    value = value / static_cast<T>(ids > 1 ? ids : 1);
  }
};

// Item b is an example.
template <class T>
struct PairSumItems {
  Columns<const T> sums, squares;
  T* out;

  constexpr void operator()(int64_t b) const {
    const T *sum = sums.data + b * sums.stride, *square = squares.data + b * squares.stride;
    T total = 0;
    for (int64_t d = 0; d < sums.width; ++d) total += sum[d] * sum[d] - square[d];
    out[b] = total / 2;
  }
};

// rows [N] <- pointers to the rows of an array [N, width].
template <class T>
struct PointToRowItems {
  T* first;
  int64_t width;
  T** rows;

  constexpr void operator()(int64_t n) const { rows[n] = first + n * width; }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_SPARSE_ITEMS_H_
