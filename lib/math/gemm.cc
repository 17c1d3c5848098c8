#include "math/gemm.h"

#include <Eigen/Core>

#include "math/blocks.h"

namespace ps {

namespace {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Eigen::Map<const Dense<T>> map_rows(Matrix<const T> m, int64_t begin, int64_t end) {
  return {m.row(begin), end - begin, m.cols};
}

template <class T>
Eigen::Map<const Dense<T>> map(Matrix<const T> m) {
  return map_rows(m, 0, m.rows);
}

// Eigen splits long sums to fit the caches of the processor it finds.  Fixed sizes make every processor sum
// in the same order.  32 KiB, 512 KiB, 4 MiB are what today's servers have a core.
void fix_cache_sizes() {
  static const bool fixed = (Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20), true);
  static_cast<void>(fixed);
}

// Calls product(begin, end) for blocks of rows of `out`; `depth` is the length of its sums.
template <class T, class Product>
void for_row_blocks(ThreadPool& pool, Matrix<T> out, int64_t depth, Product&& product) {
  if (out.size() == 0 || depth == 0) return;
  fix_cache_sizes();
  // Eigen works on panels of rows: blocks below 16 rows would pack the other factor for too little use of it.
  constexpr int64_t kMinRows = 16;
  pool.for_each(out.rows, std::max(kMinRows, block_items(out.cols * depth)), [&](int64_t begin, int64_t end) {
    Eigen::Map<Dense<T>> block(out.row(begin), end - begin, out.cols);
    product(begin, end, block);
  });
}

}  // namespace

template <class T>
void add_product(ThreadPool& pool, Matrix<const T> a, Matrix<const T> b, Matrix<T> out) {
  for_row_blocks(pool, out, a.cols, [&](int64_t begin, int64_t end, auto& block) {
    block.noalias() += map_rows(a, begin, end) * map(b);
  });
}

template <class T>
void add_product_transposed_left(ThreadPool& pool, Matrix<const T> a, Matrix<const T> b, Matrix<T> out) {
  for_row_blocks(pool, out, a.rows, [&](int64_t begin, int64_t end, auto& block) {
    block.noalias() += map(a).middleCols(begin, end - begin).transpose() * map(b);
  });
}

template <class T>
void add_product_transposed_right(ThreadPool& pool, Matrix<const T> a, Matrix<const T> b, Matrix<T> out) {
  for_row_blocks(pool, out, a.cols, [&](int64_t begin, int64_t end, auto& block) {
    block.noalias() += map_rows(a, begin, end) * map(b).transpose();
  });
}

template void add_product(ThreadPool&, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void add_product(ThreadPool&, Matrix<const double>, Matrix<const double>, Matrix<double>);
template void add_product_transposed_left(ThreadPool&, Matrix<const float>, Matrix<const float>,
                                          Matrix<float>);
template void add_product_transposed_left(ThreadPool&, Matrix<const double>, Matrix<const double>,
                                          Matrix<double>);
template void add_product_transposed_right(ThreadPool&, Matrix<const float>, Matrix<const float>,
                                           Matrix<float>);
template void add_product_transposed_right(ThreadPool&, Matrix<const double>, Matrix<const double>,
                                           Matrix<double>);

}  // namespace ps
