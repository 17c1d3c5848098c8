// Products of dense matrices, added to the values in the output.  Used by layers.  T is float or double.
//
// The result is divided into blocks of rows whose size depends on the shapes alone; one thread computes a
// block. Levels of instruction sets (base/cpu.h) round differently.  `out` must not alias the factors.
// Matrices may be empty.
#ifndef PS_MATH_GEMM_H_
#define PS_MATH_GEMM_H_

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// out [M, N] += a [M, K] b [K, N]
template <class T>
void add_product(Device& device, Matrix<const T> a, Matrix<const T> b, Matrix<T> out);

// out [M, N] += aᵀ b, of a [K, M] and b [K, N]
template <class T>
void add_product_transposed_left(Device& device, Matrix<const T> a, Matrix<const T> b, Matrix<T> out);

// out [M, N] += a bᵀ, of a [M, K] and b [N, K]
template <class T>
void add_product_transposed_right(Device& device, Matrix<const T> a, Matrix<const T> b, Matrix<T> out);

}  // namespace ps

#endif  // PS_MATH_GEMM_H_
