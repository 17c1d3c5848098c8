#include "math/attention.h"

#include <algorithm>
#include <cmath>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/device_kernels.h"
#include "math/kernels/kernels.h"
#include "math/softmax_row.h"

namespace ps {

namespace {

// One example in one head: its rows in arrays of heads, and its square of weights.
template <class T>
struct AttentionPart {
  Matrix<T> queries, keys, values, outputs, weights;

  Block all() const { return {0, queries.rows}; }
};

// Returns the part whose rows begin at `first` in the arrays of heads [H K, d], and whose weights begin at
// `square`.
template <class T>
AttentionPart<T> attention_part(const AttentionArrays<T>& arrays, int64_t first, int64_t rows, int64_t width,
                                int64_t square) {
  auto matrix = [=](T* data) { return Matrix<T>{data + first * width, rows, width}; };
  return {matrix(arrays.queries),
          matrix(arrays.keys),
          matrix(arrays.values),
          matrix(arrays.outputs),
          {arrays.weights + square, rows, rows}};
}

template <class T>
void clear(Matrix<T> matrix) {
  std::fill_n(matrix.data, matrix.size(), T(0));
}

// Calls body(part of arrays, part of gradients) for every head of every example that has rows, in parallel:
// an item is one head of one example, and no two items share a row.  The rows of a head follow those of the
// head before, K = `rows` each, and so do the squares of weights, S = `weights` each.  The work of an item
// is that of the mean example, which has products of width d and an exponential for each of its weights.
template <class T, class Body>
void for_each_example(Device& device, const AttentionShape& shape, std::span<const uint32_t> offsets,
                      std::span<const int64_t> squares, const AttentionArrays<T>& arrays,
                      const AttentionArrays<T>& gradients, const Body& body) {
  const int64_t examples = static_cast<int64_t>(offsets.size()) - 1, rows = offsets.back();
  if (rows == 0) return;
  const int64_t weights = squares.back();
  const int64_t work = weights / examples * (8 * shape.width + 16);
  for_items(device, examples * shape.heads, work, [=](int64_t item) {
    const size_t b = static_cast<size_t>(item / shape.heads);
    const int64_t head = item % shape.heads;
    const int64_t first = head * rows + offsets[b], count = offsets[b + 1] - offsets[b];
    if (count == 0) return;
    const int64_t square = head * weights + squares[b];
    body(attention_part(arrays, first, count, shape.width, square),
         attention_part(gradients, first, count, shape.width, square));
  });
}

// Returns 1 / sqrt(d), by which Vaswani et al. multiply scores: without it their variance would grow with
// d, and the softmax would saturate.
template <class T>
T score_scale(const AttentionShape& shape) {
  return T(1) / std::sqrt(static_cast<T>(shape.width));
}

AttentionRows rows_there(Device& device, const AttentionShape& shape, std::span<const uint32_t> offsets,
                         std::span<const int64_t> squares) {
  return {shape,
          mirror(device, offsets.data(), std::ssize(offsets)),
          mirror(device, squares.data(), std::ssize(squares)),
          std::ssize(offsets) - 1,
          offsets.back(),
          squares.back()};
}

// The passes of attend on a device with memory of its own: an item is a value, or a row of weights.  Each loop
// has finished before the next one begins: scores, then their softmax, then the weighted sums of values.
template <class T>
void attend_there(Device& device, const AttentionRows& rows, const AttentionArrays<T>& a) {
  const int64_t all_rows = rows.shape.heads * rows.num_rows, width = rows.shape.width;
  const int64_t all_weights = rows.shape.heads * rows.weights;
  for_items(device, all_weights, width,
            ScoreItems<T>{rows, score_scale<T>(rows.shape), a.queries, a.keys, a.weights});
  for_items(device, all_rows, 1, AttentionSoftmaxItems<T>{rows, a.weights});
  for_items(device, all_rows * width, 1, AttendedItems<T>{rows, a.weights, a.values, a.outputs});
}

// The passes of attend_backward, in the order of its formulas: values, weights, scores, then queries and keys.
template <class T>
void attend_backward_there(Device& device, const AttentionRows& rows, const AttentionArrays<T>& a,
                           const AttentionArrays<T>& g) {
  const int64_t all_rows = rows.shape.heads * rows.num_rows, width = rows.shape.width;
  const int64_t all_weights = rows.shape.heads * rows.weights;
  for_items(device, all_rows * width, 1, AttendingItems<T>{rows, a.weights, g.outputs, g.values});
  for_items(device, all_weights, width, ScoreItems<T>{rows, T(1), g.outputs, a.values, g.weights});
  for_items(device, all_rows, 1,
            AttentionSlopeItems<T>{rows, score_scale<T>(rows.shape), a.weights, g.weights});
  for_items(device, all_rows * width, 1, AttendedItems<T>{rows, g.weights, a.keys, g.queries});
  for_items(device, all_rows * width, 1, AttendingItems<T>{rows, g.weights, a.queries, g.keys});
}

// The value of column d of `cols` of the encoding of a position.
template <class T>
T position_encoding(double position, int64_t d, int64_t cols) {
  const double exponent = static_cast<double>(d - d % 2) / static_cast<double>(cols);
  const double angle = position / std::pow(1e4, exponent);
  return static_cast<T>(d % 2 == 0 ? std::sin(angle) : std::cos(angle));
}

constexpr int64_t kSineWork = 32;

// encodings [positions, cols] <- the encodings of all positions, which the processor computes.
template <class T>
void send_encodings(Device& device, int64_t positions, int64_t cols, DeviceBuffer<T>& encodings) {
  encodings.resize(device, positions * cols);
  const Upload computed = device.kernels()->upload(encodings.bytes());
  for_items(device.host(), positions, kSineWork * cols, [=, to = static_cast<T*>(computed.here)](int64_t t) {
    for (int64_t d = 0; d < cols; ++d)
      to[t * cols + d] = position_encoding<T>(static_cast<double>(t), d, cols);
  });
  device.kernels()->copy(encodings.data(), computed.there, encodings.bytes());
}

}  // namespace

// Weights take the sum of n^2 values over the examples, not B times the square of the longest: there is no
// padding.
void count_squares(std::span<const uint32_t> offsets, std::vector<int64_t>& squares) {
  squares.assign(1, 0);
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    const int64_t rows = offsets[b + 1] - offsets[b];
    squares.push_back(squares.back() + rows * rows);
  }
}

// Row k of `rows` has the G H heads side by side; head h of it becomes row k of block h in `heads`.
template <class T>
void split_heads(Device& device, Matrix<const T> rows, int64_t width, T* heads) {
  if (run_there(device, rows.size(), SplitHeadItems<T>{rows, width, heads})) return;
  for_items(device, rows.rows, rows.cols, [=](int64_t k) {
    for (int64_t h = 0; h < rows.cols / width; ++h)
      std::copy_n(rows.row(k) + h * width, width, heads + (h * rows.rows + k) * width);
  });
}

template <class T>
void join_heads(Device& device, const T* heads, int64_t width, Matrix<T> rows) {
  if (run_there(device, rows.size(), JoinHeadItems<T>{heads, width, rows})) return;
  for_items(device, rows.rows, rows.cols, [=](int64_t k) {
    for (int64_t h = 0; h < rows.cols / width; ++h)
      std::copy_n(heads + (h * rows.rows + k) * width, width, rows.row(k) + h * width);
  });
}

// With n rows of an example in a head: weights [n, n] = softmax of the rows of (queries keysᵀ scale), outputs =
// weights values.  When `causal`, row i sees the keys 0 to i alone; the weights behind them are set to zero, so
// that the second product runs over whole rows.
template <class T>
void attend(Device& device, const AttentionShape& shape, std::span<const uint32_t> offsets,
            std::span<const int64_t> squares, const AttentionArrays<T>& arrays) {
  if (device.kernels() != nullptr)
    return attend_there(device, rows_there(device, shape, offsets, squares), arrays);
  const T scale = score_scale<T>(shape);
  const MathKernels<T>& kernels = math_kernels<T>(device.cpu());
  auto attend_part = [=, &kernels](const AttentionPart<T>& part, const AttentionPart<T>&) {
    const int64_t n = part.queries.rows;
    clear(part.weights);
    kernels.add_product_transposed_right(part.queries, part.keys, part.all(), part.weights);
    for (int64_t i = 0; i < n; ++i) {
      T* row = part.weights.row(i);
      const int64_t seen = shape.seen_keys(i, n);
      for (int64_t j = 0; j < seen; ++j) row[j] *= scale;
      softmax_row(row, seen);
      std::fill(row + seen, row + n, T(0));
    }
    clear(part.outputs);
    kernels.add_product(part.weights, part.values, part.all(), part.outputs);
  };
  for_each_example(device, shape, offsets, squares, arrays, arrays, attend_part);
}

// With dO the gradients of the outputs and P the weights: dV = Pᵀ dO, and dP = dO Vᵀ. The softmax turns dP into
// the gradient dS of the scores, row by row and in place; then dQ = scale dS K, and dK = scale dSᵀ Q.
template <class T>
void attend_backward(Device& device, const AttentionShape& shape, std::span<const uint32_t> offsets,
                     std::span<const int64_t> squares, const AttentionArrays<T>& arrays,
                     const AttentionArrays<T>& gradients) {
  if (device.kernels() != nullptr)
    return attend_backward_there(device, rows_there(device, shape, offsets, squares), arrays, gradients);
  const T scale = score_scale<T>(shape);
  const MathKernels<T>& kernels = math_kernels<T>(device.cpu());
  auto attend_part = [=, &kernels](const AttentionPart<T>& part, const AttentionPart<T>& gradient) {
    const int64_t n = part.queries.rows;
    for (const Matrix<T>& matrix : {gradient.weights, gradient.values, gradient.queries, gradient.keys})
      clear(matrix);
    kernels.add_product_transposed_left(part.weights, gradient.outputs, part.all(), gradient.values);
    kernels.add_product_transposed_right(gradient.outputs, part.values, part.all(), gradient.weights);
    for (int64_t i = 0; i < n; ++i) {
      T* row = gradient.weights.row(i);
      const int64_t seen = shape.seen_keys(i, n);
      softmax_row_backward(part.weights.row(i), row, seen);
      for (int64_t j = 0; j < seen; ++j) row[j] *= scale;
      std::fill(row + seen, row + n, T(0));
    }
    kernels.add_product(gradient.weights, part.keys, part.all(), gradient.queries);
    kernels.add_product_transposed_left(gradient.weights, part.queries, part.all(), gradient.keys);
  };
  for_each_example(device, shape, offsets, squares, arrays, gradients, attend_part);
}

// The processor computes sines and cosines for each row anew.  On a device with memory of its own the encodings
// of all positions, up to the longest example, are computed by the processor once a batch and sent there, so
// that both give the same bits.
template <class T>
void add_position_encoding(Device& device, std::span<const uint32_t> offsets, Matrix<const T> in,
                           DeviceBuffer<T>& encodings, Matrix<T> out) {
  const int64_t examples = static_cast<int64_t>(offsets.size()) - 1;
  if (in.rows == 0) return;
  if (device.kernels() != nullptr) {
    int64_t longest = 0;
    for (size_t b = 0; b + 1 < offsets.size(); ++b)
      longest = std::max(longest, int64_t{offsets[b + 1]} - offsets[b]);
    send_encodings(device, longest, in.cols, encodings);
    const uint32_t* const rows = mirror(device, offsets.data(), std::ssize(offsets));
    return for_items(device, in.size(), 1, PositionItems<T>{rows, examples, encodings.data(), in, out.data});
  }
  for_items(device, examples, kSineWork * in.size() / examples, [=](int64_t example) {
    const size_t b = static_cast<size_t>(example);
    for (int64_t k = offsets[b]; k < offsets[b + 1]; ++k) {
      const double position = static_cast<double>(k - offsets[b]);
      for (int64_t d = 0; d < in.cols; ++d)
        out.row(k)[d] = in.row(k)[d] + position_encoding<T>(position, d, in.cols);
    }
  });
}

#define PS_INSTANTIATE(T)                                                                                    \
  template void split_heads(Device&, Matrix<const T>, int64_t, T*);                                          \
  template void join_heads(Device&, const T*, int64_t, Matrix<T>);                                           \
  template void attend(Device&, const AttentionShape&, std::span<const uint32_t>, std::span<const int64_t>,  \
                       const AttentionArrays<T>&);                                                           \
  template void attend_backward(Device&, const AttentionShape&, std::span<const uint32_t>,                   \
                                std::span<const int64_t>, const AttentionArrays<T>&,                         \
                                const AttentionArrays<T>&);                                                  \
  template void add_position_encoding(Device&, std::span<const uint32_t>, Matrix<const T>, DeviceBuffer<T>&, \
                                      Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
