// Sums over dense matrices.
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

template <class T>
void add_column_sums(Columns<const T> m, int64_t rows, const T* scales, int64_t scale_stride, Block columns,
                     T* sums) {
  T* __restrict to = sums;
  for (int64_t b = 0; b < rows; ++b) {
    const T* __restrict row = m.data + b * m.stride;
    const T scale = scales == nullptr ? T(1) : scales[b * scale_stride];
    for (int64_t d = columns.begin; d < columns.end; ++d) to[d] += scale * row[d];
  }
}

template <class T>
void add_columns(Columns<const T> in, Block rows, Columns<T> out) {
  for (int64_t b = rows.begin; b < rows.end; ++b) {
    const T* __restrict from = in.data + b * in.stride;
    T* __restrict to = out.data + b * out.stride;
    for (int64_t d = 0; d < in.width; ++d) to[d] += from[d];
  }
}

template void add_column_sums(Columns<const float>, int64_t, const float*, int64_t, Block, float*);
template void add_column_sums(Columns<const double>, int64_t, const double*, int64_t, Block, double*);
template void add_columns(Columns<const float>, Block, Columns<float>);
template void add_columns(Columns<const double>, Block, Columns<double>);

}  // namespace ps::PS_CPU_NAMESPACE
