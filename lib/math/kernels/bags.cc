// Forward: sums or copies the rows of the ids of examples.  The rows of a batch lie anywhere in a large table,
// so that these loops wait for memory: each requests a row some ids before it is added.  For the widths of
// with_width, the sum stays in registers.
#include "base/reals.h"
#include "math/kernels/lanes.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

// Prefetches the row of the id kRowsAhead after id k, which may belong to a later example.
template <class T>
[[gnu::always_inline]] inline void prefetch_ahead(const UseView& use, const T* const* rows, int64_t k) {
  if (k + kRowsAhead < use.num_ids) __builtin_prefetch(rows[use.index[k + kRowsAhead]]);
}

// out[b] += sum over k of value row, with the sum of an example in registers.  `kSquares`: squares[b] +=
// the squares of the same products, in the same pass, since fetching a row costs more than both sums.  Sums
// run in the order of the ids.
template <class T, int64_t kWidth, bool kValued, bool kSquares>
void add_narrow_bags(const UseView& use, Block examples, const T* const* rows, Columns<T> out,
                     Columns<T> squares) {
  for (int64_t b = examples.begin; b < examples.end; ++b) {
    T* to = out.data + b * out.stride;
    T* to_squares = kSquares ? squares.data + b * squares.stride : nullptr;
    Lanes<T, kWidth> sum, square_sum, row;
    sum.load(to);
    if constexpr (kSquares) square_sum.load(to_squares);
    const int64_t end = use.offsets[b + 1];
    for (int64_t k = use.offsets[b]; k < end; ++k) {
      prefetch_ahead(use, rows, k);
      row.load(rows[use.index[k]]);
      if constexpr (kValued) row.scale(T(use.values[k]));
      sum.add(row);
      if constexpr (kSquares) {
        row.multiply(row);
        square_sum.add(row);
      }
    }
    sum.store(to);
    if constexpr (kSquares) square_sum.store(to_squares);
  }
}

// If the width is not known at compile time, rows are added four at once, in their order, so that the sum is
// loaded and stored once for four rows.
template <class T>
void add_four(T* __restrict sum, const T* const rows[4], int64_t width) {
  const T* __restrict r0 = rows[0];
  const T* __restrict r1 = rows[1];
  const T* __restrict r2 = rows[2];
  const T* __restrict r3 = rows[3];
  for (int64_t d = 0; d < width; ++d) sum[d] = sum[d] + r0[d] + r1[d] + r2[d] + r3[d];
}

template <class T>
void add_four_scaled(T* __restrict sum, const T* const rows[4], const float values[4], int64_t width) {
  const T* __restrict r0 = rows[0];
  const T* __restrict r1 = rows[1];
  const T* __restrict r2 = rows[2];
  const T* __restrict r3 = rows[3];
  const T v0 = T(values[0]), v1 = T(values[1]), v2 = T(values[2]), v3 = T(values[3]);
  for (int64_t d = 0; d < width; ++d) sum[d] = sum[d] + v0 * r0[d] + v1 * r1[d] + v2 * r2[d] + v3 * r3[d];
}

template <class T>
void add_scaled(T* __restrict sum, const T* __restrict row, T value, int64_t width) {
  for (int64_t d = 0; d < width; ++d) sum[d] += value * row[d];
}

// Adds the rows of example b four at once; the last ones, up to three, one by one.  While four are added,
// the beginnings of the next four are prefetched.
template <class T>
void add_wide_bag(const UseView& use, int64_t b, const T* const* rows, T* sum, int64_t width) {
  const int64_t end = use.offsets[b + 1];
  int64_t k = use.offsets[b];
  for (; k + 4 <= end; k += 4) {
    const uint32_t* id = use.index + k;
    const T* four[4] = {rows[id[0]], rows[id[1]], rows[id[2]], rows[id[3]]};
    for (int64_t ahead = k + 4; ahead < k + 8 && ahead < end; ++ahead)
      prefetch_row(rows[use.index[ahead]], width);
    use.values == nullptr ? add_four(sum, four, width) : add_four_scaled(sum, four, use.values + k, width);
  }
  for (; k < end; ++k)
    add_scaled(sum, rows[use.index[k]], use.values == nullptr ? T(1) : T(use.values[k]), width);
}

template <class T>
void add_wide_squares(const UseView& use, int64_t b, const T* const* rows, T* __restrict sum, int64_t width) {
  for (int64_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k) {
    const T* __restrict row = rows[use.index[k]];
    const T value = use.values == nullptr ? T(1) : T(use.values[k]);
    for (int64_t d = 0; d < width; ++d) sum[d] += (value * row[d]) * (value * row[d]);
  }
}

}  // namespace

template <class T>
void add_bags(const UseView& use, Block examples, const T* const* rows, Columns<T> out) {
  with_width(out.width, [&](auto width) {
    if constexpr (width.value > 0) {
      use.values == nullptr ? add_narrow_bags<T, width.value, false, false>(use, examples, rows, out, {})
                            : add_narrow_bags<T, width.value, true, false>(use, examples, rows, out, {});
    } else {
      for (int64_t b = examples.begin; b < examples.end; ++b)
        add_wide_bag(use, b, rows, out.data + b * out.stride, out.width);
    }
  });
}

template <class T>
void add_bags_and_squares(const UseView& use, Block examples, const T* const* rows, Columns<T> out,
                          Columns<T> squares) {
  with_width(out.width, [&](auto width) {
    if constexpr (width.value > 0) {
      use.values == nullptr ? add_narrow_bags<T, width.value, false, true>(use, examples, rows, out, squares)
                            : add_narrow_bags<T, width.value, true, true>(use, examples, rows, out, squares);
    } else {
      for (int64_t b = examples.begin; b < examples.end; ++b) {
        add_wide_bag(use, b, rows, out.data + b * out.stride, out.width);
        add_wide_squares(use, b, rows, squares.data + b * squares.stride, out.width);
      }
    }
  });
}

// `column` moves on by row_width for each id; the columns behind the last id of the example are set to
// zero.
template <class T>
void copy_rows(const UseView& use, Block examples, const T* const* rows, int64_t row_width, Columns<T> out) {
  for (int64_t b = examples.begin; b < examples.end; ++b) {
    T* column = out.data + b * out.stride;
    T* const end_of_row = column + out.width;
    for (int64_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k, column += row_width) {
      prefetch_ahead(use, rows, k);
      const T* __restrict row = rows[use.index[k]];
      T* __restrict to = column;
      const T value = use.values == nullptr ? T(1) : T(use.values[k]);
      for (int64_t d = 0; d < row_width; ++d) to[d] = value * row[d];
    }
    for (; column < end_of_row; ++column) *column = T(0);
  }
}

#define PS_INSTANTIATE(T)                                                                             \
  template void add_bags(const UseView&, Block, const T* const*, Columns<T>);                         \
  template void add_bags_and_squares(const UseView&, Block, const T* const*, Columns<T>, Columns<T>); \
  template void copy_rows(const UseView&, Block, const T* const*, int64_t, Columns<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
