// Products of dense matrices, by Eigen: the build gives Eigen's namespace another name at each level
// (-DEigen=Eigen_LEVEL), or the linker would take one level's functions for all.
#include <Eigen/Core>

#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rows of m.
template <class T>
Eigen::Map<const Dense<T>> map(Matrix<const T> m, Block rows) {
  return {m.data + rows.begin * m.cols, rows.end - rows.begin, m.cols};
}

template <class T>
Eigen::Map<const Dense<T>> map(Matrix<const T> m) {
  return {m.data, m.rows, m.cols};
}

// Rows of m that are added to.
template <class T>
Eigen::Map<Dense<T>> block(Matrix<T> m, Block rows) {
  // Eigen splits long sums to fit the caches of the processor it finds.  Fixed sizes make every processor sum
  // in the same order.  32 KiB, 512 KiB, 4 MiB are what today's servers have a core.
  static const bool fixed = (Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20), true);
  static_cast<void>(fixed);
  return {m.data + rows.begin * m.cols, rows.end - rows.begin, m.cols};
}

}  // namespace

template <class T>
void add_product(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out) {
  block(out, rows).noalias() += map(a, rows) * map(b);
}

template <class T>
void add_product_transposed_left(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out) {
  block(out, rows).noalias() += map(a).middleCols(rows.begin, rows.end - rows.begin).transpose() * map(b);
}

template <class T>
void add_product_transposed_right(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out) {
  block(out, rows).noalias() += map(a, rows) * map(b).transpose();
}

template void add_product(Matrix<const float>, Matrix<const float>, Block, Matrix<float>);
template void add_product(Matrix<const double>, Matrix<const double>, Block, Matrix<double>);
template void add_product_transposed_left(Matrix<const float>, Matrix<const float>, Block, Matrix<float>);
template void add_product_transposed_left(Matrix<const double>, Matrix<const double>, Block, Matrix<double>);
template void add_product_transposed_right(Matrix<const float>, Matrix<const float>, Block, Matrix<float>);
template void add_product_transposed_right(Matrix<const double>, Matrix<const double>, Block, Matrix<double>);

}  // namespace ps::PS_CPU_NAMESPACE
