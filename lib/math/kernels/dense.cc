// Sums over dense matrices.
#include "base/reals.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

// sums[d] += sum over b of scale[b] m[b][d], for the columns of a block: rows run in order, so that each
// sum has one order, and the loop over columns is the inner one, which is vectorised.
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

#define PS_INSTANTIATE(T)                                                                 \
  template void add_column_sums(Columns<const T>, int64_t, const T*, int64_t, Block, T*); \
  template void add_columns(Columns<const T>, Block, Columns<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
