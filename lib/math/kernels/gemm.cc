// Products of dense matrices, by Eigen.
#include "base/reals.h"
#include "math/kernels/eigen.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

// Returns rows of m as a matrix of Eigen.
template <class T>
Eigen::Map<const Dense<T>> map(Matrix<const T> m, Block rows) {
  return {m.data + rows.begin * m.cols, rows.end - rows.begin, m.cols};
}

template <class T>
Eigen::Map<const Dense<T>> map(Matrix<const T> m) {
  return {m.data, m.rows, m.cols};
}

// The same for rows that are written.
template <class T>
Eigen::Map<Dense<T>> block(Matrix<T> m, Block rows) {
  fix_order_of_sums();
  return {m.data + rows.begin * m.cols, rows.end - rows.begin, m.cols};
}

}  // namespace

template <class T>
void add_product(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out) {
  block(out, rows).noalias() += map(a, rows) * map(b);
}

// Rows of out = aᵀ b are columns of a.
template <class T>
void add_product_transposed_left(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out) {
  block(out, rows).noalias() += map(a).middleCols(rows.begin, rows.end - rows.begin).transpose() * map(b);
}

template <class T>
void add_product_transposed_right(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out) {
  block(out, rows).noalias() += map(a, rows) * map(b).transpose();
}

#define PS_INSTANTIATE(T)                                                                        \
  template void add_product(Matrix<const T>, Matrix<const T>, Block, Matrix<T>);                 \
  template void add_product_transposed_left(Matrix<const T>, Matrix<const T>, Block, Matrix<T>); \
  template void add_product_transposed_right(Matrix<const T>, Matrix<const T>, Block, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
