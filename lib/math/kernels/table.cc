// The table of one level.
#include "base/reals.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

template <class T>
const MathKernels<T>& kernel_table() {
  static constexpr MathKernels<T> kTable = {.add_bags = add_bags<T>,
                                            .add_bags_and_squares = add_bags_and_squares<T>,
                                            .copy_rows = copy_rows<T>,
                                            .scatter_bag_gradients = scatter_bag_gradients<T>,
                                            .add_bag_gradients = add_bag_gradients<T>,
                                            .add_copied_gradients = add_copied_gradients<T>,
                                            .add_pairwise_gradients = add_pairwise_gradients<T>,
                                            .add_column_sums = add_column_sums<T>,
                                            .add_columns = add_columns<T>,
                                            .all_finite = all_finite<T>,
                                            .add_product = add_product<T>,
                                            .add_product_transposed_left = add_product_transposed_left<T>,
                                            .add_product_transposed_right = add_product_transposed_right<T>,
                                            .convolve = convolve<T>,
                                            .convolution_image_gradient = convolution_image_gradient<T>,
                                            .convolution_weight_gradient = convolution_weight_gradient<T>};
  return kTable;
}

#define PS_INSTANTIATE(T) template const MathKernels<T>& kernel_table();
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
