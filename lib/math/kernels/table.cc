// The table of one level.
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

template <class T>
static constexpr MathKernels<T> table() {
  return {.add_bags = add_bags<T>,
          .add_bags_and_squares = add_bags_and_squares<T>,
          .copy_rows = copy_rows<T>,
          .scatter_bag_gradients = scatter_bag_gradients<T>,
          .add_bag_gradients = add_bag_gradients<T>,
          .add_copied_gradients = add_copied_gradients<T>,
          .add_pairwise_gradients = add_pairwise_gradients<T>,
          .add_column_sums = add_column_sums<T>,
          .add_columns = add_columns<T>,
          .add_product = add_product<T>,
          .add_product_transposed_left = add_product_transposed_left<T>,
          .add_product_transposed_right = add_product_transposed_right<T>,
          .convolve = convolve<T>,
          .convolution_image_gradient = convolution_image_gradient<T>,
          .convolution_weight_gradient = convolution_weight_gradient<T>};
}

extern const MathKernels<float> kFloatKernels = table<float>();
extern const MathKernels<double> kDoubleKernels = table<double>();

}  // namespace ps::PS_CPU_NAMESPACE
