// Two-dimensional convolution and its gradients, added to what is there.  Used by the conv2d layer.  T is
// float or double.
//
// Images are shared out over the threads; the gradient of the weights is summed over fixed groups of images
// in order, then over the groups: no sum depends on threads.  Levels of instruction sets (base/cpu.h) round
// differently.  Outputs must not alias inputs.
#ifndef PS_MATH_CONVOLUTION_H_
#define PS_MATH_CONVOLUTION_H_

#include <vector>

#include "math/convolution_shape.h"
#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// Places that a window of `kernel` values finds along `size` values with `padding` around them, `stride`
// apart; 0 when it is larger than all of them.
int64_t window_places(int64_t size, int64_t kernel, int64_t stride, int64_t padding);

// Fills in what follows from the other sizes.  The kernel must fit the padded image, and groups must divide
// channels and filters.
ConvolutionShape make_convolution_shape(ConvolutionShape sizes);

// out [B, F OH OW] += images [B, C H W] under the filters `weight` [F, C/G k k]
template <class T>
void convolve(Device& device, const ConvolutionShape& shape, Matrix<const T> images, const T* weight,
              Matrix<T> out);

// image_gradients [B, C H W] += the gradient of the images, of out_gradients [B, F OH OW]
template <class T>
void add_convolution_image_gradients(Device& device, const ConvolutionShape& shape,
                                     Matrix<const T> out_gradients, const T* weight,
                                     Matrix<T> image_gradients);

// weight_gradient [F, C/G k k] += the gradient of the weights.  `partial_sums` keeps its memory for the next
// call.
template <class T>
void add_convolution_weight_gradient(Device& device, const ConvolutionShape& shape, Matrix<const T> images,
                                     Matrix<const T> out_gradients, std::vector<T>& partial_sums,
                                     T* weight_gradient);

}  // namespace ps

#endif  // PS_MATH_CONVOLUTION_H_
