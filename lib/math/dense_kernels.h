// Kernels over dense matrices and arrays that layers share.  T is float or double.  Sums over examples run in
// their order.
#ifndef PS_MATH_DENSE_KERNELS_H_
#define PS_MATH_DENSE_KERNELS_H_

#include <cstdint>
#include <type_traits>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// out [size] <- value, and out <- in.
template <class T>
void fill_values(Device& device, std::type_identity_t<T> value, int64_t size, T* out);
template <class T>
void copy_values(Device& device, const T* in, int64_t size, T* out);

// out [size] += scale in, out <- a b, and out += a b, element by element.
template <class T>
void add_scaled_values(Device& device, T scale, const T* in, int64_t size, T* out);
template <class T>
void multiply_values(Device& device, const T* a, const T* b, int64_t size, T* out);
template <class T>
void add_multiplied_values(Device& device, const T* a, const T* b, int64_t size, T* out);

// Every row of out [B, D] <- row [D]
template <class T>
void set_rows(Device& device, const T* row, Matrix<T> out);

// sums [D] += sum over b of scales[b * scale_stride] * m[b]; scales null means all are 1.  m has `rows` rows.
template <class T>
void add_column_sums(Device& device, Columns<const T> m, int64_t rows, const T* scales, int64_t scale_stride,
                     T* sums);

// out [rows, D] <- in, and out += in; widths are equal.
template <class T>
void copy_columns(Device& device, Columns<const T> in, int64_t rows, Columns<T> out);
template <class T>
void add_columns(Device& device, Columns<const T> in, int64_t rows, Columns<T> out);

}  // namespace ps

#endif  // PS_MATH_DENSE_KERNELS_H_
