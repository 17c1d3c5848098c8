#include "math/dense_kernels.h"

#include <algorithm>

#include "math/blocks.h"
#include "math/kernels/kernels.h"

namespace ps {

template <class T>
void set_rows(Device& device, const T* row, Matrix<T> out) {
  device.for_each(out.rows, block_items(out.cols), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) std::copy_n(row, out.cols, out.row(b));
  });
}

template <class T>
void add_column_sums(Device& device, Columns<const T> m, int64_t rows, const T* scales, int64_t scale_stride,
                     T* sums) {
  device.for_each(m.width, block_items(rows), [&](int64_t begin, int64_t end) {
    math_kernels<T>().add_column_sums(m, rows, scales, scale_stride, Block{begin, end}, sums);
  });
}

template <class T>
void copy_columns(Device& device, Columns<const T> in, int64_t rows, Columns<T> out) {
  device.for_each(rows, block_items(in.width), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) std::copy_n(in.row(b), in.width, out.row(b));
  });
}

template <class T>
void add_columns(Device& device, Columns<const T> in, int64_t rows, Columns<T> out) {
  device.for_each(rows, block_items(in.width), [&](int64_t begin, int64_t end) {
    math_kernels<T>().add_columns(in, Block{begin, end}, out);
  });
}

template void set_rows(Device&, const float*, Matrix<float>);
template void add_column_sums(Device&, Columns<const float>, int64_t, const float*, int64_t, float*);
template void copy_columns(Device&, Columns<const float>, int64_t, Columns<float>);
template void add_columns(Device&, Columns<const float>, int64_t, Columns<float>);
template void set_rows(Device&, const double*, Matrix<double>);
template void add_column_sums(Device&, Columns<const double>, int64_t, const double*, int64_t, double*);
template void copy_columns(Device&, Columns<const double>, int64_t, Columns<double>);
template void add_columns(Device&, Columns<const double>, int64_t, Columns<double>);

}  // namespace ps
