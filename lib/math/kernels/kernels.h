// The loops of math/ that are compiled once for each level of instruction sets, as a table of functions.
// Used by the files of math/ that divide work among threads: each call computes one block.
//
// T is float or double.  Only plain structs pass here, since what is inline in a header would be compiled for
// several levels under one name.
#ifndef PS_MATH_KERNELS_KERNELS_H_
#define PS_MATH_KERNELS_KERNELS_H_

#include <cstdint>

#include "math/convolution_shape.h"
#include "math/matrix.h"

namespace ps {

enum class CpuLevel;  // defined in base/cpu.h, whose inline functions may not be compiled for several levels

// Items [begin, end) of a loop.
struct Block {
  int64_t begin, end;
};

// A KeyUse and the values of its ids, null when all are 1; math/sparse_kernels.h explains them.
struct UseView {
  const uint32_t *offsets, *index;                          // [B + 1], [K]
  const uint32_t *touched, *starts, *positions, *examples;  // [M], [M + 1], [K], [K]
  const float* values;                                      // [K]
  int64_t num_ids, num_touched;                             // K, M
};

template <class T>
struct MathKernels {
  // math/sparse_kernels.h, for a block of examples.
  void (*add_bags)(const UseView& use, Block examples, const T* const* rows, Columns<T> out);
  void (*add_bags_and_squares)(const UseView& use, Block examples, const T* const* rows, Columns<T> out,
                               Columns<T> squares);
  void (*copy_rows)(const UseView& use, Block examples, const T* const* rows, int64_t row_width,
                    Columns<T> out);

  // The same, for a block of examples of a use that is not transposed.
  void (*scatter_bag_gradients)(const UseView& use, Block examples, Columns<const T> out_gradient,
                                T* row_gradients);

  // The same, for a block of touched keys.
  void (*add_bag_gradients)(const UseView& use, Block touched, Columns<const T> out_gradient,
                            T* row_gradients);
  void (*add_copied_gradients)(const UseView& use, Block touched, Columns<const T> out_gradient,
                               int64_t row_width, T* row_gradients);
  void (*add_pairwise_gradients)(const UseView& use, Block touched, const T* const* rows,
                                 const T* out_gradient, Columns<const T> sums, T* row_gradients);

  // math/dense_kernels.h, for a block of columns, and for a block of rows.
  void (*add_column_sums)(Columns<const T> m, int64_t rows, const T* scales, int64_t scale_stride,
                          Block columns, T* sums);
  void (*add_columns)(Columns<const T> in, Block rows, Columns<T> out);

  // math/finite.h.
  bool (*all_finite)(const T* values, int64_t n);

  // math/gemm.h, for rows of `out`.
  void (*add_product)(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out);
  void (*add_product_transposed_left)(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out);
  void (*add_product_transposed_right)(Matrix<const T> a, Matrix<const T> b, Block rows, Matrix<T> out);

  // math/convolution.h, for one image.  `columns` [scratch_size] is overwritten.
  void (*convolve)(const ConvolutionShape& shape, const T* image, const T* weight, T* columns, T* out);
  void (*convolution_image_gradient)(const ConvolutionShape& shape, const T* out_gradient, const T* weight,
                                     T* columns, T* image_gradient);
  void (*convolution_weight_gradient)(const ConvolutionShape& shape, const T* image, const T* out_gradient,
                                      T* columns, T* weight_gradient);
};

// Returns the kernels of a level, which this processor must have.
template <class T>
const MathKernels<T>& math_kernels(CpuLevel cpu);

}  // namespace ps

#endif  // PS_MATH_KERNELS_KERNELS_H_
