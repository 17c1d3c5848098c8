// Two-dimensional convolution and its gradients, added to the values in the output.  Used by the conv2d layer.  T
// is float or double.
//
// Images are shared out over the threads; the gradient of the weights is summed over fixed groups of images
// in order, then over the groups: no sum depends on threads.  Levels of instruction sets (base/cpu.h) round
// differently, as do devices with memory of their own.  Outputs must not alias inputs.
#ifndef PS_MATH_CONVOLUTION_H_
#define PS_MATH_CONVOLUTION_H_

#include <vector>

#include "math/convolution_shape.h"
#include "math/device.h"
#include "math/device_buffer.h"
#include "math/matrix.h"

namespace ps {

// Returns the number of positions of a window of `kernel` values along `size` values with `padding` values on
// both sides, if it moves by `stride`; 0 if the window is larger than all of them.
int64_t window_positions(int64_t size, int64_t kernel, int64_t stride, int64_t padding);

// Computes the fields that follow from the others.  The kernel must fit the padded image, and groups must
// divide channels and filters.
ConvolutionShape make_convolution_shape(ConvolutionShape sizes);

// Memory in which convolutions compute; the caller keeps it for the next call.
template <class T>
struct ConvolutionScratch {
  std::vector<T> partial_sums;  // sums of the weights' gradient, used on the processor alone

  // The memory of a part on a device with memory of its own: at most so many values, but those of one pixel at
  // least.
  int64_t most_values = 1 << 25;
  DeviceBuffer<T> columns, products;
};

// out [B, F OH OW] += the convolution of images [B, C H W] with the filters `weight` [F, C/G k k]
template <class T>
void convolve(Device& device, const ConvolutionShape& shape, Matrix<const T> images, const T* weight,
              ConvolutionScratch<T>& scratch, Matrix<T> out);

// image_gradients [B, C H W] += the gradient by the images, given out_gradients [B, F OH OW]
template <class T>
void add_convolution_image_gradients(Device& device, const ConvolutionShape& shape,
                                     Matrix<const T> out_gradients, const T* weight,
                                     ConvolutionScratch<T>& scratch, Matrix<T> image_gradients);

// weight_gradient [F, C/G k k] += the gradient by the weights
template <class T>
void add_convolution_weight_gradient(Device& device, const ConvolutionShape& shape, Matrix<const T> images,
                                     Matrix<const T> out_gradients, ConvolutionScratch<T>& scratch,
                                     T* weight_gradient);

}  // namespace ps

#endif  // PS_MATH_CONVOLUTION_H_
