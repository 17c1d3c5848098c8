// Kernels that pool images: each window of a plane becomes one value, its largest or its mean.  Used by the
// pools of models.  T is float or double.
#ifndef PS_MATH_POOLING_H_
#define PS_MATH_POOLING_H_

#include <cstdint>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// Images [channels, height, width] become images [channels, out_height, out_width]: windows of kernel x
// kernel values, `stride` apart, that may reach over the edges by `padding`; no values are there, and each
// window has some of the image.
struct PoolShape {
  int64_t channels, height, width;
  int64_t kernel, stride, padding;
  int64_t out_height, out_width;
};

// Fills in out_height and out_width.  With `ceil_mode` a last window that reaches past the lower or right
// edge is taken too, where values are left and it begins before they end.
PoolShape make_pool_shape(PoolShape sizes, bool ceil_mode);

// output [B, C OH OW] <- the largest value of each window of images [B, C H W]; places, of output's size:
// where in its plane each is, the first of equal ones.
template <class T>
void max_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output,
              int64_t* places);

// image_gradients [B, C H W] += the gradient of the images: all of a window's goes to its largest value.
template <class T>
void add_max_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                            const int64_t* places, Matrix<T> image_gradients);

// output [B, C OH OW] <- the mean of the values of the image that a window holds.
template <class T>
void average_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output);

// image_gradients [B, C H W] += the gradient of the images.
template <class T>
void add_average_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                                Matrix<T> image_gradients);

}  // namespace ps

#endif  // PS_MATH_POOLING_H_
