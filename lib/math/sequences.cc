#include "math/sequences.h"

#include <algorithm>

#include "base/error.h"
#include "base/reals.h"
#include "math/blocks.h"
#include "math/items/sequence_items.h"

namespace ps {

namespace {

constexpr int64_t kExponentialWork = 16;  // operations of an exponential, which takes about 10 ns

int64_t num_examples(std::span<const uint32_t> offsets) {
  return std::max<int64_t>(1, std::ssize(offsets)) - 1;
}

// Returns an array of the batch as kernels of this device can read it.
template <class Array>
auto there(Device& device, const Array& array) {
  return mirror(device, array.data(), static_cast<int64_t>(array.size()));
}

// Returns the operations of an example, if each of its rows takes `work`.
int64_t work_of_example(std::span<const uint32_t> offsets, int64_t work) {
  const int64_t examples = num_examples(offsets);
  return examples == 0 ? work : (int64_t{offsets.back()} / examples + 1) * work;
}

// The rows of one example.
struct Rows {
  int64_t begin, end;

  int64_t count() const { return end - begin; }
};

// Calls body(b, rows) for every example, in parallel.  A row takes `work` operations.
template <class Body>
void for_sequences(Device& device, std::span<const uint32_t> offsets, int64_t work, const Body& body) {
  for_items(device, num_examples(offsets), work_of_example(offsets, work), [=](int64_t b) {
    body(b, Rows{offsets[static_cast<size_t>(b)], offsets[static_cast<size_t>(b) + 1]});
  });
}

// starts[t] <- the sum over s < t of the number of examples that are longer than s.  An example of length n
// takes part in the steps 0 to n - 1.
void count_steps(std::span<const uint32_t> offsets, std::vector<int64_t>& starts) {
  uint32_t longest = 0;
  for (size_t b = 0; b + 1 < offsets.size(); ++b) longest = std::max(longest, offsets[b + 1] - offsets[b]);
  starts.assign(size_t{longest} + 1, 0);
  for (size_t b = 0; b + 1 < offsets.size(); ++b) ++starts[offsets[b + 1] - offsets[b]];
  // Here starts[n] has the number of examples of length n.  The first loop turns it into the number of longer
  // examples, which is the number of rows of step n; the second one into the sum over the steps before n.
  int64_t longer = 0;
  for (size_t n = starts.size(); n-- > 0;) {
    const int64_t examples = starts[n];
    starts[n] = longer;
    longer += examples;
  }
  int64_t sum = 0;
  for (int64_t& start : starts) {
    const int64_t rows = start;
    start = sum;
    sum += rows;
  }
}

}  // namespace

// Within a step, examples are ordered by falling length, and those of one length by their number.  An example of
// length n therefore comes after all longer ones, whose number is the number of rows of step n (0 if there is
// no such step).  `next` counts from there for each length.
void pack_sequences(std::span<const uint32_t> offsets, bool reversed, PackedSequences& packed) {
  PS_CHECK(!offsets.empty());
  count_steps(offsets, packed.starts);
  std::vector<int64_t>
      next;  // by length: the position that the next example of this length gets in each step
  for (size_t t = 0; t < packed.starts.size(); ++t)
    next.push_back(t + 1 < packed.starts.size() ? packed.starts[t + 1] - packed.starts[t] : 0);
  packed.rows.resize(offsets.back());
  packed.ends.assign(offsets.size() - 1, -1);
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    const uint32_t length = offsets[b + 1] - offsets[b];
    if (length == 0) continue;
    const int64_t position = next[length]++;
    for (uint32_t t = 0; t < length; ++t) {
      const uint32_t row = reversed ? offsets[b + 1] - 1 - t : offsets[b] + t;
      packed.rows[static_cast<size_t>(packed.starts[t] + position)] = row;
    }
    packed.ends[b] = packed.starts[length - 1] + position;
  }
}

template <class T>
void pack_rows(Device& device, const PackedSequences& packed, Columns<const T> in, Matrix<T> out) {
  const uint32_t* const rows = there(device, packed.rows);
  if (run_there(device, out.size(), PackItems<T>{rows, in, out})) return;
  for_items(device, out.rows, out.cols,
            [=](int64_t p) { std::copy_n(in.row(rows[p]), out.cols, out.row(p)); });
}

template <class T>
void unpack_rows(Device& device, const PackedSequences& packed, Matrix<const T> in, Columns<T> out) {
  const uint32_t* const rows = there(device, packed.rows);
  if (run_there(device, in.size(), UnpackItems<T>{rows, in, out})) return;
  for_items(device, in.rows, in.cols, [=](int64_t p) { std::copy_n(in.row(p), in.cols, out.row(rows[p])); });
}

template <class T>
void add_unpacked_rows(Device& device, const PackedSequences& packed, Matrix<const T> in, Columns<T> out) {
  const uint32_t* const rows = there(device, packed.rows);
  if (run_there(device, in.size(), AddUnpackedItems<T>{rows, in, out})) return;
  for_items(device, in.rows, in.cols, [=](int64_t p) {
    T* to = out.row(rows[p]);
    for (int64_t d = 0; d < in.cols; ++d) to[d] += in.row(p)[d];
  });
}

template <class T>
void copy_last_rows(Device& device, const PackedSequences& packed, Matrix<const T> in, Columns<T> out) {
  const int64_t examples = std::ssize(packed.ends);
  const int64_t* const ends = there(device, packed.ends);
  if (run_there(device, examples * in.cols, LastRowItems<T>{ends, in, out})) return;
  for_items(device, examples, in.cols, [=](int64_t b) {
    if (ends[b] < 0) {
      std::fill_n(out.row(b), in.cols, T(0));
    } else {
      std::copy_n(in.row(ends[b]), in.cols, out.row(b));
    }
  });
}

template <class T>
void add_last_gradients(Device& device, const PackedSequences& packed, Columns<const T> out_gradient,
                        Matrix<T> in_gradient) {
  const int64_t examples = std::ssize(packed.ends);
  const int64_t* const ends = there(device, packed.ends);
  const LastGradientItems<T> items{ends, out_gradient, in_gradient};
  if (run_there(device, examples * in_gradient.cols, items)) return;
  for_items(device, examples, in_gradient.cols, [=](int64_t b) {
    if (ends[b] < 0) return;
    T* to = in_gradient.row(ends[b]);
    for (int64_t d = 0; d < in_gradient.cols; ++d) to[d] += out_gradient.row(b)[d];
  });
}

// The first row of an example is the largest so far; a later one takes its place only if it is greater, so
// that the first of equal values wins and a NaN never replaces a number.  best[d] is written for empty
// examples too, but not read: the gradient leaves out examples without rows.
template <class T>
void copy_largest(Device& device, std::span<const uint32_t> offsets, Matrix<const T> in, Matrix<T> out,
                  uint32_t* argmax) {
  const LargestItems<T> items{there(device, offsets), in, out.data, argmax};
  if (run_there(device, out.size(), items)) return;
  for_sequences(device, offsets, in.cols, [=](int64_t b, Rows rows) {
    uint32_t* best = argmax + b * in.cols;
    for (int64_t d = 0; d < in.cols; ++d) {
      best[d] = static_cast<uint32_t>(rows.begin);
      for (int64_t k = rows.begin + 1; k < rows.end; ++k) {
        if (in.row(k)[d] > in.row(best[d])[d]) best[d] = static_cast<uint32_t>(k);
      }
      out.row(b)[d] = rows.count() > 0 ? in.row(best[d])[d] : T(0);
    }
  });
}

template <class T>
void add_largest_gradients(Device& device, std::span<const uint32_t> offsets, Matrix<const T> out_gradient,
                           const uint32_t* argmax, Matrix<T> in_gradient) {
  const LargestGradientItems<T> items{there(device, offsets), argmax, out_gradient.data, in_gradient};
  if (run_there(device, out_gradient.size(), items)) return;
  for_sequences(device, offsets, in_gradient.cols, [=](int64_t b, Rows rows) {
    if (rows.count() == 0) return;
    const int64_t cols = in_gradient.cols;
    for (int64_t d = 0; d < cols; ++d) in_gradient.row(argmax[b * cols + d])[d] += out_gradient.row(b)[d];
  });
}

template <class T>
void sum_weighted_rows(Device& device, std::span<const uint32_t> offsets, const T* weights,
                       Matrix<const T> in, Matrix<T> out) {
  if (run_there(device, out.size(), WeightedSumItems<T>{there(device, offsets), weights, in, out.data}))
    return;
  for_sequences(device, offsets, in.cols, [=](int64_t b, Rows rows) {
    T* sum = out.row(b);
    std::fill_n(sum, in.cols, T(0));
    for (int64_t k = rows.begin; k < rows.end; ++k) {
      for (int64_t d = 0; d < in.cols; ++d) sum[d] += weights[k] * in.row(k)[d];
    }
  });
}

// The same on a device with memory of its own: one loop has an item for each row, another one an item for each
// value.
template <class T>
static void add_weighted_gradients_there(Device& device, std::span<const uint32_t> offsets, const T* weights,
                                         Matrix<const T> in, Matrix<const T> out_gradient,
                                         T* weight_gradients, Matrix<T> in_gradient) {
  const uint32_t* const rows = there(device, offsets);
  const int64_t examples = num_examples(offsets);
  if (weight_gradients != nullptr) {
    for_items(device, in.rows, in.cols,
              RowWeightGradientItems<T>{rows, examples, in, out_gradient.data, weight_gradients});
  }
  if (!in_gradient) return;
  for_items(device, in.size(), 1,
            WeightedRowGradientItems<T>{rows, examples, weights, out_gradient.data, in_gradient});
}

// With out[b] = sum over k of weights[k] in[k], and g = out_gradient[b] [D]: the gradient of weights[k] is
// g . in[k], and that of in[k] is weights[k] g.  One pass over the rows of an example computes both, while
// the row is in the cache.
template <class T>
void add_weighted_gradients(Device& device, std::span<const uint32_t> offsets, const T* weights,
                            Matrix<const T> in, Matrix<const T> out_gradient, T* weight_gradients,
                            Matrix<T> in_gradient) {
  if (device.kernels() != nullptr)
    return add_weighted_gradients_there(device, offsets, weights, in, out_gradient, weight_gradients,
                                        in_gradient);
  for_sequences(device, offsets, 2 * in.cols, [=](int64_t b, Rows rows) {
    const T* gradient = out_gradient.row(b);
    for (int64_t k = rows.begin; k < rows.end; ++k) {
      T sum = 0;
      for (int64_t d = 0; d < in.cols; ++d) sum += gradient[d] * in.row(k)[d];
      if (weight_gradients != nullptr) weight_gradients[k] = sum;
      if (!in_gradient) continue;
      for (int64_t d = 0; d < in.cols; ++d) in_gradient.row(k)[d] += weights[k] * gradient[d];
    }
  });
}

template <class T>
void set_equal_weights(Device& device, std::span<const uint32_t> offsets, bool mean, T* weights) {
  for_items(device, num_examples(offsets), work_of_example(offsets, 1),
            EqualWeightItems<T>{there(device, offsets), mean, weights});
}

template <class T>
void softmax_of_sequences(Device& device, std::span<const uint32_t> offsets, T* scores) {
  for_items(device, num_examples(offsets), work_of_example(offsets, kExponentialWork),
            SequenceSoftmaxItems<T>{there(device, offsets), scores});
}

template <class T>
void softmax_of_sequences_backward(Device& device, std::span<const uint32_t> offsets, const T* weights,
                                   T* gradients) {
  for_items(device, num_examples(offsets), work_of_example(offsets, 4),
            SequenceSoftmaxSlopeItems<T>{there(device, offsets), weights, gradients});
}

#define PS_INSTANTIATE(T)                                                                                    \
  template void pack_rows(Device&, const PackedSequences&, Columns<const T>, Matrix<T>);                     \
  template void unpack_rows(Device&, const PackedSequences&, Matrix<const T>, Columns<T>);                   \
  template void add_unpacked_rows(Device&, const PackedSequences&, Matrix<const T>, Columns<T>);             \
  template void copy_last_rows(Device&, const PackedSequences&, Matrix<const T>, Columns<T>);                \
  template void add_last_gradients(Device&, const PackedSequences&, Columns<const T>, Matrix<T>);            \
  template void copy_largest(Device&, std::span<const uint32_t>, Matrix<const T>, Matrix<T>, uint32_t*);     \
  template void add_largest_gradients(Device&, std::span<const uint32_t>, Matrix<const T>, const uint32_t*,  \
                                      Matrix<T>);                                                            \
  template void sum_weighted_rows(Device&, std::span<const uint32_t>, const T*, Matrix<const T>, Matrix<T>); \
  template void add_weighted_gradients(Device&, std::span<const uint32_t>, const T*, Matrix<const T>,        \
                                       Matrix<const T>, T*, Matrix<T>);                                      \
  template void set_equal_weights(Device&, std::span<const uint32_t>, bool, T*);                             \
  template void softmax_of_sequences(Device&, std::span<const uint32_t>, T*);                                \
  template void softmax_of_sequences_backward(Device&, std::span<const uint32_t>, const T*, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
