// All kernels of one level, declared for its table.  Each source of this folder holds some of them.
#ifndef PS_MATH_KERNELS_LEVEL_H_
#define PS_MATH_KERNELS_LEVEL_H_

#include "math/kernels/kernels.h"

namespace ps::PS_CPU_NAMESPACE {

template <class T>
void add_bags(const UseView& use, Block examples, const T* const* rows, Columns<T> out);
template <class T>
void add_bags_and_squares(const UseView& use, Block examples, const T* const* rows, Columns<T> out,
                          Columns<T> squares);
template <class T>
void copy_rows(const UseView& use, Block examples, const T* const* rows, int64_t row_width, Columns<T> out);
template <class T>
void scatter_bag_gradients(const UseView& use, Block examples, Columns<const T> out_gradient,
                           T* row_gradients);
template <class T>
void add_bag_gradients(const UseView& use, Block touched, Columns<const T> out_gradient, T* row_gradients);
template <class T>
void add_copied_gradients(const UseView& use, Block touched, Columns<const T> out_gradient, int64_t row_width,
                          T* row_gradients);
template <class T>
void add_pairwise_gradients(const UseView& use, Block touched, const T* const* rows, const T* out_gradient,
                            Columns<const T> sums, T* row_gradients);
template <class T>
void add_column_sums(Columns<const T> m, int64_t rows, const T* scales, int64_t scale_stride, Block columns,
                     T* sums);
template <class T>
void add_columns(Columns<const T> in, Block rows, Columns<T> out);
template <class T>
bool all_finite(const T* values, int64_t n);
template <class T>
void add_product(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out);
template <class T>
void add_product_transposed_left(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out);
template <class T>
void add_product_transposed_right(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out);
template <class T>
void convolve(const ConvolutionShape& shape, const T* image, const T* weight, T* columns, T* out);
template <class T>
void convolution_image_gradient(const ConvolutionShape& shape, const T* out_gradient, const T* weight,
                                T* columns, T* image_gradient);
template <class T>
void convolution_weight_gradient(const ConvolutionShape& shape, const T* image, const T* out_gradient,
                                 T* columns, T* weight_gradient);

}  // namespace ps::PS_CPU_NAMESPACE

#endif  // PS_MATH_KERNELS_LEVEL_H_
