// The items of the kernels of math/attention.h: a value, or a row of weights.  Devices with memory of their own run them
// (math/device_kernels.h); the processor has products of matrices for each head of each example.
//
// Shapes as in math/attention.h.  A row is one of the H K rows of all heads; its weights lie in the square of its example.
#ifndef PS_MATH_ITEMS_ATTENTION_ITEMS_H_
#define PS_MATH_ITEMS_ATTENTION_ITEMS_H_

#include <cstdint>

#include "math/items/sequence_items.h"
#include "math/matrix.h"
#include "math/softmax_row.h"

namespace ps {

struct AttentionShape {
  int64_t heads, width;  // H, d
  bool causal;           // a row attends to itself and the rows before it alone

  // Keys that query i sees, of n.
  constexpr int64_t seen_keys(int64_t i, int64_t n) const { return causal ? i + 1 : n; }
};

// One row: its number among the `count` rows of its example, the first of these rows in an array of heads, and
// the position at which the example's square begins in an array of weights.
struct AttentionRow {
  int64_t number, count, first, square;

  constexpr int64_t weights() const { return square + number * count; }  // of this row
};

// The rows of all examples and heads.
struct AttentionRows {
  AttentionShape shape;
  const uint32_t* offsets;              // [B + 1]
  const int64_t* squares;               // [B + 1]
  int64_t examples, num_rows, weights;  // B, K, S

  constexpr AttentionRow row(int64_t r) const { return row_of(r / num_rows, r % num_rows); }

  // The row that weight w belongs to.
  constexpr AttentionRow row_of_weight(int64_t w) const {
    const int64_t b = segment_of(squares, examples, w % weights), n = offsets[b + 1] - offsets[b];
    return row_of(w / weights, offsets[b] + (w % weights - squares[b]) / n);
  }

 private:
  constexpr AttentionRow row_of(int64_t head, int64_t k) const {
    const int64_t b = segment_of(offsets, examples, k);
    return {k - offsets[b], int64_t{offsets[b + 1]} - offsets[b], head * num_rows + offsets[b],
            head * weights + squares[b]};
  }
};

// Item w is a weight.  The weight of row i for row j is a_i . b_j times scale, or 0 if i does not see j.
template <class T>
struct ScoreItems {
  AttentionRows rows;
  T scale;
  const T *a, *b;
  T* weights;

  constexpr void operator()(int64_t w) const {
    const AttentionRow row = rows.row_of_weight(w);
    const int64_t j = w - row.weights(), width = rows.shape.width;
    T sum = 0;
    if (j < rows.shape.seen_keys(row.number, row.count)) {
      const T *left = a + (row.first + row.number) * width, *right = b + (row.first + j) * width;
      for (int64_t d = 0; d < width; ++d) sum += left[d] * right[d];
    }
    weights[w] = sum * scale;
  }
};

// Item r is a row, whose weights become their softmax.
template <class T>
struct AttentionSoftmaxItems {
  AttentionRows rows;
  T* weights;

  constexpr void operator()(int64_t r) const {
    const AttentionRow row = rows.row(r);
    softmax_row(weights + row.weights(), rows.shape.seen_keys(row.number, row.count));
  }
};

// Item r is a row: its gradients of weights become the gradients of the scores, before these were scaled.
template <class T>
struct AttentionSlopeItems {
  AttentionRows rows;
  T scale;
  const T* weights;
  T* gradients;

  constexpr void operator()(int64_t r) const {
    const AttentionRow row = rows.row(r);
    const int64_t seen = rows.shape.seen_keys(row.number, row.count);
    T* slopes = gradients + row.weights();
    softmax_row_backward(weights + row.weights(), slopes, seen);
    for (int64_t j = 0; j < seen; ++j) slopes[j] *= scale;
  }
};

// Item i is a value of out [H, K, d]: row i is the sum of rows j of `in` by the weights of i for j.
template <class T>
struct AttendedItems {
  AttentionRows rows;
  const T *weights, *in;
  T* out;

  constexpr void operator()(int64_t i) const {
    const int64_t width = rows.shape.width, d = i % width;
    const AttentionRow row = rows.row(i / width);
    const int64_t seen = rows.shape.seen_keys(row.number, row.count);
    T sum = 0;
    for (int64_t j = 0; j < seen; ++j) sum += weights[row.weights() + j] * in[(row.first + j) * width + d];
    out[i] = sum;
  }
};

// The transpose of AttendedItems: row i is the sum of rows j of `in` by the weights of j for i.
template <class T>
struct AttendingItems {
  AttentionRows rows;
  const T *weights, *in;
  T* out;

  constexpr void operator()(int64_t i) const {
    const int64_t width = rows.shape.width, d = i % width;
    const AttentionRow row = rows.row(i / width);
    T sum = 0;
    for (int64_t j = rows.shape.causal ? row.number : 0; j < row.count; ++j)
      sum += weights[row.square + j * row.count + row.number] * in[(row.first + j) * width + d];
    out[i] = sum;
  }
};

// Item i is a value of rows [K, H d], and a value of heads [H, K, d].
template <class T>
struct SplitHeadItems {
  Matrix<const T> rows;
  int64_t width;
  T* heads;

  constexpr void operator()(int64_t i) const {
    const int64_t k = i / rows.cols, d = i % rows.cols;
    heads[(d / width * rows.rows + k) * width + d % width] = rows.data[i];
  }
};

template <class T>
struct JoinHeadItems {
  const T* heads;
  int64_t width;
  Matrix<T> rows;

  constexpr void operator()(int64_t i) const {
    const int64_t k = i / rows.cols, d = i % rows.cols;
    rows.data[i] = heads[(d / width * rows.rows + k) * width + d % width];
  }
};

// Item i is a value of out [K, D]: the encoding of position t is row t of `encodings`.
template <class T>
struct PositionItems {
  const uint32_t* offsets;
  int64_t examples;
  const T* encodings;
  Matrix<const T> in;
  T* out;

  constexpr void operator()(int64_t i) const {
    const int64_t k = i / in.cols, position = k - offsets[segment_of(offsets, examples, k)];
    out[i] = in.data[i] + encodings[position * in.cols + i % in.cols];
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_ATTENTION_ITEMS_H_
