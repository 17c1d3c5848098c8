#include "math/sparse_kernels.h"

#include <algorithm>

#include "math/blocks.h"
#include "math/kernels/kernels.h"

namespace ps {

namespace {

UseView view(const KeyUse& use, const float* values) {
  return {use.offsets.data(),
          use.index.data(),
          use.touched.data(),
          use.starts.data(),
          use.positions.data(),
          use.examples.data(),
          values,
          static_cast<int64_t>(use.index.size()),
          static_cast<int64_t>(use.touched.size())};
}

// Calls body(block) for blocks of examples, in parallel.
template <class Body>
void for_examples(Device& device, const KeyUse& use, int64_t width, Body&& body) {
  const int64_t examples = static_cast<int64_t>(use.offsets.size()) - 1;
  if (examples <= 0) return;
  const int64_t ids_per_example = static_cast<int64_t>(use.index.size()) / examples + 1;
  device.for_each(examples, block_items(ids_per_example * width), [&](int64_t begin, int64_t end) {
    body(Block{begin, end});
  });
}

// Calls body(block) for blocks of touched keys, in parallel.
template <class Body>
void for_touched(Device& device, const KeyUse& use, int64_t width, Body&& body) {
  const int64_t touched = static_cast<int64_t>(use.touched.size());
  if (touched == 0) return;
  const int64_t uses_per_key = static_cast<int64_t>(use.index.size()) / touched + 1;
  device.for_each(touched, block_items(uses_per_key * width), [&](int64_t begin, int64_t end) {
    body(Block{begin, end});
  });
}

}  // namespace

template <class T>
void add_bags(Device& device, const KeyUse& use, const float* values, const T* const* rows, Columns<T> out) {
  for_examples(device, use, out.width, [&](Block examples) {
    math_kernels<T>(device.cpu()).add_bags(view(use, values), examples, rows, out);
  });
}

template <class T>
void add_bags_and_squares(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                          Columns<T> out, Columns<T> squares) {
  for_examples(device, use, out.width, [&](Block examples) {
    math_kernels<T>(device.cpu()).add_bags_and_squares(view(use, values), examples, rows, out, squares);
  });
}

template <class T>
void copy_rows(Device& device, const KeyUse& use, const float* values, const T* const* rows,
               int64_t row_width, Columns<T> out) {
  for_examples(device, use, row_width, [&](Block examples) {
    math_kernels<T>(device.cpu()).copy_rows(view(use, values), examples, rows, row_width, out);
  });
}

template <class T>
void add_bag_gradients(Device& device, const KeyUse& use, const float* values, Columns<const T> out_gradient,
                       T* row_gradients) {
  if (!use.transposed()) {
    const int64_t examples = std::max<int64_t>(1, static_cast<int64_t>(use.offsets.size())) - 1;
    math_kernels<T>(device.cpu())
        .scatter_bag_gradients(view(use, values), {0, examples}, out_gradient, row_gradients);
    return;
  }
  for_touched(device, use, out_gradient.width, [&](Block touched) {
    math_kernels<T>(device.cpu()).add_bag_gradients(view(use, values), touched, out_gradient, row_gradients);
  });
}

template <class T>
void add_copied_gradients(Device& device, const KeyUse& use, const float* values,
                          Columns<const T> out_gradient, int64_t row_width, T* row_gradients) {
  for_touched(device, use, row_width, [&](Block touched) {
    math_kernels<T>(device.cpu())
        .add_copied_gradients(view(use, values), touched, out_gradient, row_width, row_gradients);
  });
}

template <class T>
void gather_rows(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                 Matrix<T> out) {
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
  UseView ids = view(use, values);
  ids.examples = ids.positions;
  for_touched(device, use, out_gradient.cols, [&](Block touched) {
    math_kernels<T>(device.cpu()).add_bag_gradients(ids, touched, columns(out_gradient), row_gradients);
  });
}

template <class T>
void add_pairwise_gradients(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                            const T* out_gradient, Columns<const T> sums, T* row_gradients) {
  for_touched(device, use, sums.width, [&](Block touched) {
    math_kernels<T>(device.cpu())
        .add_pairwise_gradients(view(use, values), touched, rows, out_gradient, sums, row_gradients);
  });
}

template <class T>
void divide_by_counts(Device& device, const KeyUse& use, Columns<T> out) {
  const int64_t examples = static_cast<int64_t>(use.offsets.size()) - 1;
  for_items(device, examples, out.width, [=, offsets = use.offsets.data()](int64_t b) {
    const T count = static_cast<T>(std::max<uint32_t>(1, offsets[b + 1] - offsets[b]));
    T* row = out.row(b);
    for (int64_t d = 0; d < out.width; ++d) row[d] /= count;
  });
}

template <class T>
void add_up_pairs(Device& device, Columns<const T> sums, Columns<const T> squares, int64_t rows, T* out) {
  for_items(device, rows, sums.width, [=](int64_t b) {
    const T *sum = sums.row(b), *square = squares.row(b);
    T total = 0;
    for (int64_t d = 0; d < sums.width; ++d) total += sum[d] * sum[d] - square[d];
    out[b] = total / 2;
  });
}

template void divide_by_counts(Device&, const KeyUse&, Columns<float>);
template void divide_by_counts(Device&, const KeyUse&, Columns<double>);
template void gather_rows(Device&, const KeyUse&, const float*, const float* const*, Matrix<float>);
template void gather_rows(Device&, const KeyUse&, const float*, const double* const*, Matrix<double>);
template void add_gathered_gradients(Device&, const KeyUse&, const float*, Matrix<const float>, float*);
template void add_gathered_gradients(Device&, const KeyUse&, const float*, Matrix<const double>, double*);
template void add_up_pairs(Device&, Columns<const float>, Columns<const float>, int64_t, float*);
template void add_up_pairs(Device&, Columns<const double>, Columns<const double>, int64_t, double*);
template void add_bags(Device&, const KeyUse&, const float*, const float* const*, Columns<float>);
template void add_bags_and_squares(Device&, const KeyUse&, const float*, const float* const*, Columns<float>,
                                   Columns<float>);
template void copy_rows(Device&, const KeyUse&, const float*, const float* const*, int64_t, Columns<float>);
template void add_bag_gradients(Device&, const KeyUse&, const float*, Columns<const float>, float*);
template void add_copied_gradients(Device&, const KeyUse&, const float*, Columns<const float>, int64_t,
                                   float*);
template void add_pairwise_gradients(Device&, const KeyUse&, const float*, const float* const*, const float*,
                                     Columns<const float>, float*);
template void add_bags(Device&, const KeyUse&, const float*, const double* const*, Columns<double>);
template void add_bags_and_squares(Device&, const KeyUse&, const float*, const double* const*,
                                   Columns<double>, Columns<double>);
template void copy_rows(Device&, const KeyUse&, const float*, const double* const*, int64_t, Columns<double>);
template void add_bag_gradients(Device&, const KeyUse&, const float*, Columns<const double>, double*);
template void add_copied_gradients(Device&, const KeyUse&, const float*, Columns<const double>, int64_t,
                                   double*);
template void add_pairwise_gradients(Device&, const KeyUse&, const float*, const double* const*,
                                     const double*, Columns<const double>, double*);

}  // namespace ps
