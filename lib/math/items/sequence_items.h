// The items of the kernels of math/sequences.h: an example, or a value.  Devices with memory of their own run them all
// (math/device_kernels.h); where they are values, the processor has loops over rows, which add in the same order.
//
// Shapes as in math/sequences.h: example b of B has the rows [offsets[b], offsets[b + 1]).
#ifndef PS_MATH_ITEMS_SEQUENCE_ITEMS_H_
#define PS_MATH_ITEMS_SEQUENCE_ITEMS_H_

#include <cstdint>

#include "math/matrix.h"
#include "math/softmax_row.h"

namespace ps {

// Returns the part that has position k, by binary search.  Part b of `parts` has the positions [starts[b],
// starts[b + 1]), as an example has its rows.
template <class Index>
constexpr int64_t segment_of(const Index* starts, int64_t parts, int64_t k) {
  int64_t begin = 0, end = parts;  // the part is in [begin, end)
  while (end - begin > 1) {
    const int64_t middle = begin + (end - begin) / 2;
    (static_cast<int64_t>(starts[middle]) <= k ? begin : end) = middle;
  }
  return begin;
}

// Item i is a value of the packed rows, which `rows` [K] names by their rows of the batch.
template <class T>
struct PackItems {
  const uint32_t* rows;
  Columns<const T> in;
  Matrix<T> out;

  constexpr void operator()(int64_t i) const {
    out.data[i] = in.data[rows[i / out.cols] * in.stride + i % out.cols];
  }
};

template <class T>
struct UnpackItems {
  const uint32_t* rows;
  Matrix<const T> in;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    out.data[rows[i / in.cols] * out.stride + i % in.cols] = in.data[i];
  }
};

template <class T>
struct AddUnpackedItems {
  const uint32_t* rows;
  Matrix<const T> in;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    out.data[rows[i / in.cols] * out.stride + i % in.cols] += in.data[i];
  }
};

// Item i is a value of [B, D]; the last row of an example is the packed row ends[b], or none if that is negative.
template <class T>
struct LastRowItems {
  const int64_t* ends;
  Matrix<const T> in;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / in.cols, d = i % in.cols;
    out.data[b * out.stride + d] = ends[b] < 0 ? T(0) : in.data[ends[b] * in.cols + d];
  }
};

template <class T>
struct LastGradientItems {
  const int64_t* ends;
  Columns<const T> out_gradient;
  Matrix<T> in_gradient;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / in_gradient.cols, d = i % in_gradient.cols;
    if (ends[b] >= 0)
      in_gradient.data[ends[b] * in_gradient.cols + d] += out_gradient.data[b * out_gradient.stride + d];
  }
};

// Item i is a value of out [B, D].
template <class T>
struct LargestItems {
  const uint32_t* offsets;
  Matrix<const T> in;
  T* out;
  uint32_t* argmax;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / in.cols, d = i % in.cols;
    uint32_t best = offsets[b];
    for (uint32_t k = best + 1; k < offsets[b + 1]; ++k) {
      if (in.data[k * in.cols + d] > in.data[best * in.cols + d]) best = k;
    }
    argmax[i] = best;
    out[i] = offsets[b] < offsets[b + 1] ? in.data[best * in.cols + d] : T(0);
  }
};

template <class T>
struct LargestGradientItems {
  const uint32_t *offsets, *argmax;
  const T* out_gradient;
  Matrix<T> in_gradient;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / in_gradient.cols;
    if (offsets[b] < offsets[b + 1])
      in_gradient.data[argmax[i] * in_gradient.cols + i % in_gradient.cols] += out_gradient[i];
  }
};

template <class T>
struct WeightedSumItems {
  const uint32_t* offsets;
  const T* weights;
  Matrix<const T> in;
  T* out;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / in.cols, d = i % in.cols;
    T sum = 0;
    for (int64_t k = offsets[b]; k < offsets[b + 1]; ++k) sum += weights[k] * in.data[k * in.cols + d];
    out[i] = sum;
  }
};

// Item k is a row.
template <class T>
struct RowWeightGradientItems {
  const uint32_t* offsets;
  int64_t examples;
  Matrix<const T> in;
  const T* out_gradient;
  T* weight_gradients;

  constexpr void operator()(int64_t k) const {
    const T* gradient = out_gradient + segment_of(offsets, examples, k) * in.cols;
    T sum = 0;
    for (int64_t d = 0; d < in.cols; ++d) sum += gradient[d] * in.data[k * in.cols + d];
    weight_gradients[k] = sum;
  }
};

// Item i is a value of in_gradient [K, D].
template <class T>
struct WeightedRowGradientItems {
  const uint32_t* offsets;
  int64_t examples;
  const T *weights, *out_gradient;
  Matrix<T> in_gradient;

  constexpr void operator()(int64_t i) const {
    const int64_t k = i / in_gradient.cols, b = segment_of(offsets, examples, k);
    in_gradient.data[i] += weights[k] * out_gradient[b * in_gradient.cols + i % in_gradient.cols];
  }
};

// In these, an item is an example.
template <class T>
struct EqualWeightItems {
  const uint32_t* offsets;
  bool mean;
  T* weights;

  constexpr void operator()(int64_t b) const {
    const uint32_t begin = offsets[b], end = offsets[b + 1];
    const T weight = mean ? T(1) / static_cast<T>(end - begin) : T(1);
    for (uint32_t k = begin; k < end; ++k) weights[k] = weight;
  }
};

template <class T>
struct SequenceSoftmaxItems {
  const uint32_t* offsets;
  T* scores;

  constexpr void operator()(int64_t b) const {
    if (offsets[b] < offsets[b + 1]) softmax_row(scores + offsets[b], offsets[b + 1] - offsets[b]);
  }
};

template <class T>
struct SequenceSoftmaxSlopeItems {
  const uint32_t* offsets;
  const T* weights;
  T* gradients;

  constexpr void operator()(int64_t b) const {
    softmax_row_backward(weights + offsets[b], gradients + offsets[b], offsets[b + 1] - offsets[b]);
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_SEQUENCE_ITEMS_H_
