// Backward: gradients of the rows that a batch touches.  If many examples have a key, its gradient is summed in
// the order of the examples.  Each kernel has two forms.  For the widths of with_width, the sum of a row stays in
// registers (Lanes) while its examples are added, and is stored once.  For other widths the sum is loaded and
// stored for each example.  `kValued` is false when all values are 1, which saves the multiplication.
#include "base/reals.h"
#include "math/kernels/lanes.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

template <class T>
[[gnu::always_inline]] inline T value_at(const UseView& use, int64_t position) {
  return use.values == nullptr ? T(1) : T(use.values[position]);
}

// sum [D] += value x row [D]
template <class T>
[[gnu::always_inline]] inline void add_scaled_row(T* __restrict sum, const T* __restrict row, T value,
                                                  int64_t width) {
  for (int64_t d = 0; d < width; ++d) sum[d] += value * row[d];
}

// Calls body(sum, t) for every position t of the transposed lists in a block of touched keys, where `sum` is
// the gradient of the key's row.
template <class T, int64_t kWidth, class Body>
[[gnu::always_inline]] inline void for_narrow_sums(const UseView& use, Block touched, T* row_gradients,
                                                   const Body& body) {
  for (int64_t m = touched.begin; m < touched.end; ++m) {
    T* to = row_gradients + int64_t{use.touched[m]} * kWidth;
    Lanes<T, kWidth> sum;
    sum.load(to);
    const int64_t end = use.starts[m + 1];
    for (int64_t t = use.starts[m]; t < end; ++t) body(sum, t);
    sum.store(to);
  }
}

template <class T, int64_t kWidth, bool kValued>
void add_narrow_gradients(const UseView& use, Block touched, Columns<const T> out_gradient,
                          T* row_gradients) {
  for_narrow_sums<T, kWidth>(use, touched, row_gradients, [&](Lanes<T, kWidth>& sum, int64_t t) {
    Lanes<T, kWidth> part;
    part.load(out_gradient.data + use.examples[t] * out_gradient.stride);
    if constexpr (kValued) part.scale(T(use.values[use.positions[t]]));
    sum.add(part);
  });
}

// Goes over the examples instead of the keys: each id adds the example's gradient, times its value, to the
// row of its key.  A row thus gets its addends in the order of the examples, as in add_narrow_gradients,
// and the sums have the same bits.  Two threads could meet at one row, so that the caller has to run all
// examples on one thread.
template <class T, int64_t kWidth, bool kValued>
void scatter_narrow_gradients(const UseView& use, Block examples, Columns<const T> out_gradient,
                              T* row_gradients) {
  for (int64_t b = examples.begin; b < examples.end; ++b) {
    Lanes<T, kWidth> gradient;
    gradient.load(out_gradient.data + b * out_gradient.stride);
    const int64_t end = use.offsets[b + 1];
    for (int64_t k = use.offsets[b]; k < end; ++k) {
      T* to = row_gradients + int64_t{use.index[k]} * kWidth;
      Lanes<T, kWidth> part = gradient, sum;
      if constexpr (kValued) part.scale(T(use.values[k]));
      sum.load(to);
      sum.add(part);
      sum.store(to);
    }
  }
}

// The gradient of the second-order factorisation machine: adds scale (sum[b] - value row) for each example b
// that has the key, with scale = out_gradient[b] value.
template <class T, int64_t kWidth, bool kValued>
void add_narrow_pairwise(const UseView& use, Block touched, const T* const* rows, const T* out_gradient,
                         Columns<const T> sums, T* row_gradients) {
  for (int64_t m = touched.begin; m < touched.end; ++m) {
    const int64_t n = use.touched[m];
    if (m + kRowsAhead < use.num_touched) __builtin_prefetch(rows[use.touched[m + kRowsAhead]]);
    Lanes<T, kWidth> sum, row;
    sum.load(row_gradients + n * kWidth);
    row.load(rows[n]);
    const int64_t end = use.starts[m + 1];
    for (int64_t t = use.starts[m]; t < end; ++t) {
      const int64_t b = use.examples[t];
      Lanes<T, kWidth> part, own = row;
      part.load(sums.data + b * sums.stride);
      T factor = out_gradient[b];
      if constexpr (kValued) {
        const T value = T(use.values[use.positions[t]]);
        own.scale(value);
        factor *= value;
      }
      part.subtract(own);
      part.scale(factor);
      sum.add(part);
    }
    sum.store(row_gradients + n * kWidth);
  }
}

template <class T>
void add_wide_gradients(const UseView& use, Block touched, Columns<const T> out_gradient, T* row_gradients) {
  const int64_t width = out_gradient.width;
  for (int64_t m = touched.begin; m < touched.end; ++m) {
    T* sum = row_gradients + use.touched[m] * width;
    for (int64_t t = use.starts[m]; t < use.starts[m + 1]; ++t) {
      add_scaled_row(sum, out_gradient.data + use.examples[t] * out_gradient.stride,
                     value_at<T>(use, use.positions[t]), width);
    }
  }
}

// Does the same as add_narrow_pairwise for any width, with the sum of a row in memory.
template <class T>
void add_wide_pairwise(const UseView& use, Block touched, const T* const* rows, const T* out_gradient,
                       Columns<const T> sums, T* row_gradients) {
  for (int64_t m = touched.begin; m < touched.end; ++m) {
    T* __restrict to = row_gradients + use.touched[m] * sums.width;
    const T* __restrict row = rows[use.touched[m]];
    for (int64_t t = use.starts[m]; t < use.starts[m + 1]; ++t) {
      const T* __restrict sum = sums.data + use.examples[t] * sums.stride;
      const T value = value_at<T>(use, use.positions[t]);
      const T scale = out_gradient[use.examples[t]] * value;
      for (int64_t d = 0; d < sums.width; ++d) to[d] += scale * (sum[d] - value * row[d]);
    }
  }
}

}  // namespace

// `examples` are all of the batch, see scatter_narrow_gradients.
template <class T>
void scatter_bag_gradients(const UseView& use, Block examples, Columns<const T> out_gradient,
                           T* row_gradients) {
  with_width(out_gradient.width, [&](auto width) {
    if constexpr (width.value > 0) {
      use.values == nullptr
          ? scatter_narrow_gradients<T, width.value, false>(use, examples, out_gradient, row_gradients)
          : scatter_narrow_gradients<T, width.value, true>(use, examples, out_gradient, row_gradients);
    } else {
      for (int64_t b = examples.begin; b < examples.end; ++b) {
        for (int64_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k) {
          add_scaled_row(row_gradients + use.index[k] * out_gradient.width,
                         out_gradient.data + b * out_gradient.stride, value_at<T>(use, k),
                         out_gradient.width);
        }
      }
    }
  });
}

template <class T>
void add_bag_gradients(const UseView& use, Block touched, Columns<const T> out_gradient, T* row_gradients) {
  with_width(out_gradient.width, [&](auto width) {
    if constexpr (width.value > 0) {
      use.values == nullptr
          ? add_narrow_gradients<T, width.value, false>(use, touched, out_gradient, row_gradients)
          : add_narrow_gradients<T, width.value, true>(use, touched, out_gradient, row_gradients);
    } else {
      add_wide_gradients(use, touched, out_gradient, row_gradients);
    }
  });
}

// The id at position k is number k - offsets[b] of its example b, and its gradient is that of the columns
// which copy_rows has given to this number.
template <class T>
void add_copied_gradients(const UseView& use, Block touched, Columns<const T> out_gradient, int64_t row_width,
                          T* row_gradients) {
  for (int64_t m = touched.begin; m < touched.end; ++m) {
    T* sum = row_gradients + use.touched[m] * row_width;
    for (int64_t t = use.starts[m]; t < use.starts[m + 1]; ++t) {
      const int64_t k = use.positions[t], b = use.examples[t];
      const T* from = out_gradient.data + b * out_gradient.stride + (k - use.offsets[b]) * row_width;
      add_scaled_row(sum, from, value_at<T>(use, k), row_width);
    }
  }
}

template <class T>
void add_pairwise_gradients(const UseView& use, Block touched, const T* const* rows, const T* out_gradient,
                            Columns<const T> sums, T* row_gradients) {
  with_width(sums.width, [&](auto width) {
    if constexpr (width.value > 0) {
      use.values == nullptr
          ? add_narrow_pairwise<T, width.value, false>(use, touched, rows, out_gradient, sums, row_gradients)
          : add_narrow_pairwise<T, width.value, true>(use, touched, rows, out_gradient, sums, row_gradients);
    } else {
      add_wide_pairwise(use, touched, rows, out_gradient, sums, row_gradients);
    }
  });
}

#define PS_INSTANTIATE(T)                                                                                  \
  template void scatter_bag_gradients(const UseView&, Block, Columns<const T>, T*);                        \
  template void add_bag_gradients(const UseView&, Block, Columns<const T>, T*);                            \
  template void add_copied_gradients(const UseView&, Block, Columns<const T>, int64_t, T*);                \
  template void add_pairwise_gradients(const UseView&, Block, const T* const*, const T*, Columns<const T>, \
                                       T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
