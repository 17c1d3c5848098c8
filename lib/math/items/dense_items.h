// The items of the kernels of math/dense_kernels.h: each struct computes one of them, number i.  The processor and
// devices with memory of their own both compile these rules (math/device_kernels.h), and so give the same bits.
#ifndef PS_MATH_ITEMS_DENSE_ITEMS_H_
#define PS_MATH_ITEMS_DENSE_ITEMS_H_

#include <cstdint>

#include "math/items/add_in_order.h"
#include "math/matrix.h"

namespace ps {

template <class T>
struct FillItems {
  T value;
  T* out;

  constexpr void operator()(int64_t i) const { out[i] = value; }
};

template <class T>
struct AddScaledItems {
  T scale;
  const T* in;
  T* out;

  constexpr void operator()(int64_t i) const { out[i] += scale * in[i]; }
};

template <class T>
struct MultiplyItems {
  const T *a, *b;
  T* out;

  constexpr void operator()(int64_t i) const { out[i] = a[i] * b[i]; }
};

template <class T>
struct AddMultipliedItems {
  const T *a, *b;
  T* out;

  constexpr void operator()(int64_t i) const { out[i] += a[i] * b[i]; }
};

// Item i is a value of `out`.
template <class T>
struct SetRowItems {
  const T* row;
  Matrix<T> out;

  constexpr void operator()(int64_t i) const { out.data[i] = row[i % out.cols]; }
};

// Item i is a value of the `width` columns, row by row.
template <class T>
struct CopyColumnItems {
  Columns<const T> in;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    out.data[i / in.width * out.stride + i % in.width] = in.data[i / in.width * in.stride + i % in.width];
  }
};

template <class T>
struct AddColumnItems {
  Columns<const T> in;
  Columns<T> out;

  constexpr void operator()(int64_t i) const {
    out.data[i / in.width * out.stride + i % in.width] += in.data[i / in.width * in.stride + i % in.width];
  }
};

// Item d is a column, whose sum runs over the rows in order.
template <class T>
struct ColumnSumItems {
  Columns<const T> m;
  int64_t rows;
  const T* scales;  // null: all are 1
  int64_t scale_stride;
  T* sums;

  constexpr void operator()(int64_t d) const {
    sums[d] = add_in_order<32>(sums[d], 0, rows, [this, d](int64_t b) {
      const T scale = scales == nullptr ? T(1) : scales[b * scale_stride];
      return scale * m.data[b * m.stride + d];
    });
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_DENSE_ITEMS_H_
