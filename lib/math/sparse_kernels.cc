#include "math/sparse_kernels.h"

#include <algorithm>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/items/sparse_items.h"
#include "math/kernels/kernels.h"

namespace ps {

// How the kernels of this file divide their work:
// - Sums of examples (bags, copies) run in blocks of examples: each example's row of `out` has one writer.
// - Gradients of rows run in blocks of touched keys, over the transposed use: each row's gradient has one writer,
//   which adds the examples in their order.  Without the transposed part, one thread scatters them example by example.
// A block has about as many operations as block_items asks for, counted from the mean number of ids.  A device with
// memory of its own runs one item for each value instead (run_there), in the same order.
UseView view_use(Device& device, const KeyUse& use, const float* values) {
  const auto there = [&device](const auto& array) {
    return mirror(device, array.data(), static_cast<int64_t>(array.size()));
  };
  const int64_t num_ids = static_cast<int64_t>(use.index.size());
  return {there(use.offsets),
          there(use.index),
          there(use.touched),
          there(use.starts),
          there(use.positions),
          there(use.examples),
          mirror(device, values, num_ids),
          num_ids,
          static_cast<int64_t>(use.touched.size())};
}

namespace {

int64_t num_examples(const KeyUse& use) {
  return std::max<int64_t>(1, static_cast<int64_t>(use.offsets.size())) - 1;
}

int64_t num_touched(const KeyUse& use) {
  return static_cast<int64_t>(use.touched.size());
}

// Calls body(block) for blocks of examples, in parallel.
template <class Body>
void for_examples(Device& device, const KeyUse& use, int64_t width, Body&& body) {
  const int64_t examples = num_examples(use);
  if (examples == 0) return;
  const int64_t ids_per_example = static_cast<int64_t>(use.index.size()) / examples + 1;
  device.for_each(examples, block_items(ids_per_example * width), [&](int64_t begin, int64_t end) {
    body(Block{begin, end});
  });
}

// Calls body(block) for blocks of touched keys, in parallel.
template <class Body>
void for_touched(Device& device, const KeyUse& use, int64_t width, Body&& body) {
  const int64_t touched = num_touched(use);
  if (touched == 0) return;
  const int64_t uses_per_key = static_cast<int64_t>(use.index.size()) / touched + 1;
  device.for_each(touched, block_items(uses_per_key * width), [&](int64_t begin, int64_t end) {
    body(Block{begin, end});
  });
}

}  // namespace

template <class T>
void add_bags(Device& device, const KeyUse& use, const float* values, const T* const* rows, Columns<T> out) {
  const UseView ids = view_use(device, use, values);
  if (run_there(device, num_examples(use) * out.width, BagItems<T>{ids, rows, out})) return;
  for_examples(device, use, out.width,
               [&](Block examples) { math_kernels<T>(device.cpu()).add_bags(ids, examples, rows, out); });
}

template <class T>
void add_bags_and_squares(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                          Columns<T> out, Columns<T> squares) {
  const UseView ids = view_use(device, use, values);
  if (run_there(device, num_examples(use) * out.width, BagSquareItems<T>{ids, rows, out, squares})) return;
  for_examples(device, use, out.width, [&](Block examples) {
    math_kernels<T>(device.cpu()).add_bags_and_squares(ids, examples, rows, out, squares);
  });
}

template <class T>
void copy_rows(Device& device, const KeyUse& use, const float* values, const T* const* rows,
               int64_t row_width, Columns<T> out) {
  const UseView ids = view_use(device, use, values);
  if (run_there(device, num_examples(use) * out.width, CopyRowItems<T>{ids, rows, row_width, out})) return;
  for_examples(device, use, row_width, [&](Block examples) {
    math_kernels<T>(device.cpu()).copy_rows(ids, examples, rows, row_width, out);
  });
}

// A use that is not transposed is scattered on the caller's thread, since two threads could meet at the same
// row.
template <class T>
void add_bag_gradients(Device& device, const KeyUse& use, const float* values, Columns<const T> out_gradient,
                       T* row_gradients) {
  const UseView ids = view_use(device, use, values);
  if (!use.transposed()) {
    PS_CHECK(device.kernels() == nullptr || ids.num_ids == 0);  // without ids there is nothing to transpose
    if (device.kernels() != nullptr) return;
    math_kernels<T>(device.cpu())
        .scatter_bag_gradients(ids, {0, num_examples(use)}, out_gradient, row_gradients);
    return;
  }
  const BagGradientItems<T> items{ids, out_gradient, row_gradients};
  if (run_there(device, num_touched(use) * out_gradient.width, items)) return;
  for_touched(device, use, out_gradient.width, [&](Block touched) {
    math_kernels<T>(device.cpu()).add_bag_gradients(ids, touched, out_gradient, row_gradients);
  });
}

template <class T>
void add_copied_gradients(Device& device, const KeyUse& use, const float* values,
                          Columns<const T> out_gradient, int64_t row_width, T* row_gradients) {
  const UseView ids = view_use(device, use, values);
  const CopiedGradientItems<T> items{ids, out_gradient, row_width, row_gradients};
  if (run_there(device, num_touched(use) * row_width, items)) return;
  for_touched(device, use, row_width, [&](Block touched) {
    math_kernels<T>(device.cpu()).add_copied_gradients(ids, touched, out_gradient, row_width, row_gradients);
  });
}

template <class T>
void gather_rows(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                 Matrix<T> out) {
  if (run_there(device, out.size(), GatherItems<T>{view_use(device, use, values), rows, out})) return;
  for_items(device, out.rows, out.cols, [=, index = use.index.data()](int64_t k) {
    const T* row = rows[index[k]];
    const T value = values == nullptr ? T(1) : T(values[k]);
    for (int64_t d = 0; d < out.cols; ++d) out.row(k)[d] = value * row[d];
  });
}

// Each id is an example of its own: its position takes the place of the example's.
template <class T>
void add_gathered_gradients(Device& device, const KeyUse& use, const float* values,
                            Matrix<const T> out_gradient, T* row_gradients) {
  UseView ids = view_use(device, use, values);
  ids.examples = ids.positions;
  const BagGradientItems<T> items{ids, columns(out_gradient), row_gradients};
  if (run_there(device, num_touched(use) * out_gradient.cols, items)) return;
  for_touched(device, use, out_gradient.cols, [&](Block touched) {
    math_kernels<T>(device.cpu()).add_bag_gradients(ids, touched, columns(out_gradient), row_gradients);
  });
}

template <class T>
void add_pairwise_gradients(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                            const T* out_gradient, Columns<const T> sums, T* row_gradients) {
  const UseView ids = view_use(device, use, values);
  const PairwiseGradientItems<T> items{ids, rows, out_gradient, sums, row_gradients};
  if (run_there(device, num_touched(use) * sums.width, items)) return;
  for_touched(device, use, sums.width, [&](Block touched) {
    math_kernels<T>(device.cpu())
        .add_pairwise_gradients(ids, touched, rows, out_gradient, sums, row_gradients);
  });
}

template <class T>
void divide_by_counts(Device& device, const KeyUse& use, Columns<T> out) {
  const int64_t examples = num_examples(use);
  const uint32_t* const offsets = mirror(device, use.offsets.data(), examples + 1);
  if (run_there(device, examples * out.width, DivideByCountItems<T>{offsets, out})) return;
  for_items(device, examples, out.width, [=](int64_t b) {
    const T count = static_cast<T>(std::max<uint32_t>(1, offsets[b + 1] - offsets[b]));
    T* row = out.row(b);
    for (int64_t d = 0; d < out.width; ++d) row[d] /= count;
  });
}

template <class T>
void add_up_pairs(Device& device, Columns<const T> sums, Columns<const T> squares, int64_t rows, T* out) {
  for_items(device, rows, sums.width, PairSumItems<T>{sums, squares, out});
}

template <class T>
void point_to_rows(Device& device, T* first, int64_t rows, int64_t width, T** pointers) {
  for_items(device, rows, 1, PointToRowItems<T>{first, width, pointers});
}

#define PS_INSTANTIATE(T)                                                                                  \
  template void point_to_rows(Device&, T*, int64_t, int64_t, T**);                                         \
  template void divide_by_counts(Device&, const KeyUse&, Columns<T>);                                      \
  template void gather_rows(Device&, const KeyUse&, const float*, const T* const*, Matrix<T>);             \
  template void add_gathered_gradients(Device&, const KeyUse&, const float*, Matrix<const T>, T*);         \
  template void add_up_pairs(Device&, Columns<const T>, Columns<const T>, int64_t, T*);                    \
  template void add_bags(Device&, const KeyUse&, const float*, const T* const*, Columns<T>);               \
  template void add_bags_and_squares(Device&, const KeyUse&, const float*, const T* const*, Columns<T>,    \
                                     Columns<T>);                                                          \
  template void copy_rows(Device&, const KeyUse&, const float*, const T* const*, int64_t, Columns<T>);     \
  template void add_bag_gradients(Device&, const KeyUse&, const float*, Columns<const T>, T*);             \
  template void add_copied_gradients(Device&, const KeyUse&, const float*, Columns<const T>, int64_t, T*); \
  template void add_pairwise_gradients(Device&, const KeyUse&, const float*, const T* const*, const T*,    \
                                       Columns<const T>, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
