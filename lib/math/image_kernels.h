// Kernels over the planes of images: each example of a matrix has C channels of P = height x width values.
// Used by layers of images.  T is float or double.
#ifndef PS_MATH_IMAGE_KERNELS_H_
#define PS_MATH_IMAGE_KERNELS_H_

#include <cstdint>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// Sets every plane of out [B, C P] to its channel's value in `values` [C], or to zero if `values` is null.
template <class T>
void set_planes(Device& device, const T* values, int64_t channels, Matrix<T> out);

// sums [C] += the sum over examples of the plane sums of images [B, C P].
template <class T>
void add_plane_sums(Device& device, Matrix<const T> images, int64_t channels, T* sums);

// means [B, C] <- the mean of each plane of images [B, C P].
template <class T>
void average_planes(Device& device, Matrix<const T> images, Matrix<T> means);

// image_gradients [B, C P] += the gradient by the images, given the gradient by the means [B, C].
template <class T>
void add_average_gradients(Device& device, Matrix<const T> mean_gradients, Matrix<T> image_gradients);

}  // namespace ps

#endif  // PS_MATH_IMAGE_KERNELS_H_
