#include "math/dense_kernels.h"

#include <algorithm>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/kernels/kernels.h"

namespace ps {

template <class T>
void fill_values(Device& device, std::type_identity_t<T> value, int64_t size, T* out) {
  if (run_there(device, size, FillItems<T>{value, out})) return;
  device.for_each(size, block_items(1),
                  [=](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
}

template <class T>
void copy_values(Device& device, const T* in, int64_t size, T* out) {
  if (DeviceKernels* there = device.kernels().get()) {
    return there->copy(out, in, static_cast<uint64_t>(size) * sizeof(T));
  }
  device.for_each(size, block_items(1),
                  [=](int64_t begin, int64_t end) { std::copy(in + begin, in + end, out + begin); });
}

template <class T>
void add_scaled_values(Device& device, T scale, const T* in, int64_t size, T* out) {
  for_items(device, size, 1, AddScaledItems<T>{scale, in, out});
}

template <class T>
void multiply_values(Device& device, const T* a, const T* b, int64_t size, T* out) {
  for_items(device, size, 1, MultiplyItems<T>{a, b, out});
}

template <class T>
void add_multiplied_values(Device& device, const T* a, const T* b, int64_t size, T* out) {
  for_items(device, size, 1, AddMultipliedItems<T>{a, b, out});
}

template <class T>
void set_rows(Device& device, const T* row, Matrix<T> out) {
  if (run_there(device, out.size(), SetRowItems<T>{row, out})) return;
  device.for_each(out.rows, block_items(out.cols), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) std::copy_n(row, out.cols, out.row(b));
  });
}

template <class T>
void add_column_sums(Device& device, Columns<const T> m, int64_t rows, const T* scales, int64_t scale_stride,
                     T* sums) {
  if (run_there(device, m.width, ColumnSumItems<T>{m, rows, scales, scale_stride, sums})) return;
  device.for_each(m.width, block_items(rows), [&](int64_t begin, int64_t end) {
    math_kernels<T>(device.cpu()).add_column_sums(m, rows, scales, scale_stride, Block{begin, end}, sums);
  });
}

template <class T>
void copy_columns(Device& device, Columns<const T> in, int64_t rows, Columns<T> out) {
  if (run_there(device, rows * in.width, CopyColumnItems<T>{in, out})) return;
  device.for_each(rows, block_items(in.width), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) std::copy_n(in.row(b), in.width, out.row(b));
  });
}

template <class T>
void add_columns(Device& device, Columns<const T> in, int64_t rows, Columns<T> out) {
  if (run_there(device, rows * in.width, AddColumnItems<T>{in, out})) return;
  device.for_each(rows, block_items(in.width), [&](int64_t begin, int64_t end) {
    math_kernels<T>(device.cpu()).add_columns(in, Block{begin, end}, out);
  });
}

#define PS_INSTANTIATE(T)                                                                   \
  template void fill_values<T>(Device&, T, int64_t, T*);                                    \
  template void copy_values(Device&, const T*, int64_t, T*);                                \
  template void add_scaled_values(Device&, T, const T*, int64_t, T*);                       \
  template void multiply_values(Device&, const T*, const T*, int64_t, T*);                  \
  template void add_multiplied_values(Device&, const T*, const T*, int64_t, T*);            \
  template void set_rows(Device&, const T*, Matrix<T>);                                     \
  template void add_column_sums(Device&, Columns<const T>, int64_t, const T*, int64_t, T*); \
  template void copy_columns(Device&, Columns<const T>, int64_t, Columns<T>);               \
  template void add_columns(Device&, Columns<const T>, int64_t, Columns<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
