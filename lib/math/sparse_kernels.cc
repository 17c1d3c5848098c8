#include "math/sparse_kernels.h"

#include <algorithm>

#include "math/blocks.h"

namespace ps {

namespace {

// sum [D] += value x row [D]
template <class T>
void add_scaled(T* __restrict sum, const T* __restrict row, T value, int64_t width) {
  for (int64_t d = 0; d < width; ++d) sum[d] += value * row[d];
}

// The same for four rows at once, in their order: the sum is loaded and stored once.
template <class T>
void add_four_scaled(T* __restrict sum, const T* const rows[4], const T value[4], int64_t width) {
  const T* __restrict r0 = rows[0];
  const T* __restrict r1 = rows[1];
  const T* __restrict r2 = rows[2];
  const T* __restrict r3 = rows[3];
  const T v0 = value[0], v1 = value[1], v2 = value[2], v3 = value[3];
  for (int64_t d = 0; d < width; ++d) sum[d] = sum[d] + v0 * r0[d] + v1 * r1[d] + v2 * r2[d] + v3 * r3[d];
}

template <class T>
void add_four(T* __restrict sum, const T* const rows[4], int64_t width) {
  const T* __restrict r0 = rows[0];
  const T* __restrict r1 = rows[1];
  const T* __restrict r2 = rows[2];
  const T* __restrict r3 = rows[3];
  for (int64_t d = 0; d < width; ++d) sum[d] = sum[d] + r0[d] + r1[d] + r2[d] + r3[d];
}

// Rows of a table lie anywhere in memory: the processor cannot guess the next one, but follows a row once
// begun.
template <class T>
void prefetch_row(const T* row, int64_t width) {
  constexpr int64_t kLine = 64 / sizeof(T), kMaxLines = 4;
  for (int64_t d = 0; d < width && d < kMaxLines * kLine; d += kLine) __builtin_prefetch(row + d);
}

// sum [D] += sum over k in [begin, end) of value(k) x row(k)
template <class T, class RowOf>
void add_rows(T* sum, int64_t width, uint32_t begin, uint32_t end, RowOf&& row_of, const float* values) {
  uint32_t k = begin;
  for (; k + 4 <= end; k += 4) {
    const T* rows[4] = {row_of(k), row_of(k + 1), row_of(k + 2), row_of(k + 3)};
    for (uint32_t ahead = k + 4; ahead < k + 8 && ahead < end; ++ahead) prefetch_row(row_of(ahead), width);
    if (values == nullptr) {
      add_four(sum, rows, width);
    } else {
      const T four[4] = {T(values[k]), T(values[k + 1]), T(values[k + 2]), T(values[k + 3])};
      add_four_scaled(sum, rows, four, width);
    }
  }
  for (; k < end; ++k) add_scaled(sum, row_of(k), values == nullptr ? T(1) : T(values[k]), width);
}

int64_t num_examples(const KeyUse& use) {
  return static_cast<int64_t>(use.offsets.size()) - 1;
}

// Calls body(b) for every example, in parallel blocks.
template <class Body>
void for_examples(ThreadPool& pool, const KeyUse& use, int64_t width, Body&& body) {
  int64_t examples = num_examples(use);
  if (examples <= 0) return;
  int64_t ids_per_example = static_cast<int64_t>(use.index.size()) / examples + 1;
  pool.for_each(examples, block_items(ids_per_example * width), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) body(b);
  });
}

// Calls body(n, begin, end) for every touched key n, whose places in the transposed lists are [begin, end).
template <class Body>
void for_touched(ThreadPool& pool, const KeyUse& use, int64_t width, Body&& body) {
  int64_t touched = static_cast<int64_t>(use.touched.size());
  if (touched == 0) return;
  int64_t uses_per_key = static_cast<int64_t>(use.index.size()) / touched + 1;
  pool.for_each(touched, block_items(uses_per_key * width), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      size_t i = static_cast<size_t>(m);
      body(static_cast<int64_t>(use.touched[i]), use.starts[i], use.starts[i + 1]);
    }
  });
}

}  // namespace

template <class T>
void add_bags(ThreadPool& pool, const KeyUse& use, const float* values, const T* const* rows,
              Columns<T> out) {
  const uint32_t* index = use.index.data();
  for_examples(pool, use, out.width, [&](int64_t b) {
    size_t i = static_cast<size_t>(b);
    add_rows(
        out.row(b), out.width, use.offsets[i], use.offsets[i + 1], [&](uint32_t k) { return rows[index[k]]; },
        values);
  });
}

template <class T>
void add_bag_gradients(ThreadPool& pool, const KeyUse& use, const float* values,
                       Columns<const T> out_gradient, T* row_gradients) {
  const int64_t width = out_gradient.width;
  for_touched(pool, use, width, [&](int64_t n, uint32_t begin, uint32_t end) {
    T* row_gradient = row_gradients + n * width;
    for (uint32_t t = begin; t < end; ++t) {
      T value = values == nullptr ? T(1) : T(values[use.positions[t]]);
      add_scaled(row_gradient, out_gradient.row(use.examples[t]), value, width);
    }
  });
}

template <class T>
void copy_rows(ThreadPool& pool, const KeyUse& use, const float* values, const T* const* rows,
               int64_t row_width, Columns<T> out) {
  for_examples(pool, use, row_width, [&](int64_t b) {
    size_t i = static_cast<size_t>(b);
    T* place = out.row(b);
    for (uint32_t k = use.offsets[i]; k < use.offsets[i + 1]; ++k, place += row_width) {
      const T* row = rows[use.index[k]];
      const T value = values == nullptr ? T(1) : T(values[k]);
      for (int64_t d = 0; d < row_width; ++d) place[d] = value * row[d];
    }
    std::fill(place, out.row(b) + out.width, T(0));
  });
}

template <class T>
void add_copied_gradients(ThreadPool& pool, const KeyUse& use, const float* values,
                          Columns<const T> out_gradient, int64_t row_width, T* row_gradients) {
  for_touched(pool, use, row_width, [&](int64_t n, uint32_t begin, uint32_t end) {
    for (uint32_t t = begin; t < end; ++t) {
      const uint32_t k = use.positions[t], b = use.examples[t];
      const T* place = out_gradient.row(b) + int64_t{k - use.offsets[b]} * row_width;
      add_scaled(row_gradients + n * row_width, place, values == nullptr ? T(1) : T(values[k]), row_width);
    }
  });
}

template <class T>
void add_square_bags(ThreadPool& pool, const KeyUse& use, const float* values, const T* const* rows,
                     Columns<T> out) {
  for_examples(pool, use, out.width, [&](int64_t b) {
    size_t i = static_cast<size_t>(b);
    T* __restrict sum = out.row(b);
    for (uint32_t k = use.offsets[i]; k < use.offsets[i + 1]; ++k) {
      const T* __restrict row = rows[use.index[k]];
      const T value = values == nullptr ? T(1) : T(values[k]);
      for (int64_t d = 0; d < out.width; ++d) sum[d] += (value * row[d]) * (value * row[d]);
    }
  });
}

template <class T>
void add_pairwise_gradients(ThreadPool& pool, const KeyUse& use, const float* values, const T* const* rows,
                            const T* out_gradient, Columns<const T> sums, T* row_gradients) {
  const int64_t width = sums.width;
  for_touched(pool, use, width, [&](int64_t n, uint32_t begin, uint32_t end) {
    T* __restrict row_gradient = row_gradients + n * width;
    const T* __restrict row = rows[n];
    for (uint32_t t = begin; t < end; ++t) {
      const T* __restrict sum = sums.row(use.examples[t]);
      const T value = values == nullptr ? T(1) : T(values[use.positions[t]]);
      const T scale = out_gradient[use.examples[t]] * value;
      for (int64_t d = 0; d < width; ++d) row_gradient[d] += scale * (sum[d] - value * row[d]);
    }
  });
}

template void add_bags(ThreadPool&, const KeyUse&, const float*, const float* const*, Columns<float>);
template void add_bag_gradients(ThreadPool&, const KeyUse&, const float*, Columns<const float>, float*);
template void copy_rows(ThreadPool&, const KeyUse&, const float*, const float* const*, int64_t,
                        Columns<float>);
template void add_copied_gradients(ThreadPool&, const KeyUse&, const float*, Columns<const float>, int64_t,
                                   float*);
template void add_square_bags(ThreadPool&, const KeyUse&, const float*, const float* const*, Columns<float>);
template void add_pairwise_gradients(ThreadPool&, const KeyUse&, const float*, const float* const*,
                                     const float*, Columns<const float>, float*);
template void add_bags(ThreadPool&, const KeyUse&, const float*, const double* const*, Columns<double>);
template void add_bag_gradients(ThreadPool&, const KeyUse&, const float*, Columns<const double>, double*);
template void copy_rows(ThreadPool&, const KeyUse&, const float*, const double* const*, int64_t,
                        Columns<double>);
template void add_copied_gradients(ThreadPool&, const KeyUse&, const float*, Columns<const double>, int64_t,
                                   double*);
template void add_square_bags(ThreadPool&, const KeyUse&, const float*, const double* const*,
                              Columns<double>);
template void add_pairwise_gradients(ThreadPool&, const KeyUse&, const float*, const double* const*,
                                     const double*, Columns<const double>, double*);

}  // namespace ps
