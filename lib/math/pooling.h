// Kernels that pool images: each window of a plane becomes one value, its largest or its mean.  Used by the
// pools of models.  T is float or double.
#ifndef PS_MATH_POOLING_H_
#define PS_MATH_POOLING_H_

#include <cstdint>

#include "math/device.h"
#include "math/items/image_items.h"
#include "math/matrix.h"

namespace ps {

// Computes out_height and out_width.  With `ceil_mode` there is one more window past the lower or right edge
// if values are left, and it begins inside the image.
PoolShape make_pool_shape(PoolShape sizes, bool ceil_mode);

// output [B, C OH OW] <- the largest value of each window of images [B, C H W]; argmax, of output's size: its
// position in the plane, the first one if several are equal.
template <class T>
void max_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output,
              int64_t* argmax);

// image_gradients [B, C H W] += the gradient by the images: a window's gradient goes to its largest value.
template <class T>
void add_max_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                            const int64_t* argmax, Matrix<T> image_gradients);

// output [B, C OH OW] <- the mean of the image's values that a window covers.
template <class T>
void average_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output);

// image_gradients [B, C H W] += the gradient by the images.
template <class T>
void add_average_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                                Matrix<T> image_gradients);

}  // namespace ps

#endif  // PS_MATH_POOLING_H_
