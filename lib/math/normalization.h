// Kernels of layers that normalize: over the batch, and over neighbouring channels of an image.  T is float
// or double.
//
// Shapes: B examples of C channels of P values each.  Every sum has one writer and runs in the order of the
// examples.  A batch of no examples changes nothing.
#ifndef PS_MATH_NORMALIZATION_H_
#define PS_MATH_NORMALIZATION_H_

#include <cstdint>

#include "math/device.h"
#include "math/items/normalization_items.h"
#include "math/matrix.h"

namespace ps {

// output [B, C P] <- the batch, normalized by its own mean and variance (of the population).  The running mean
// and variance are moved towards these.
template <class T>
void batch_norm_training(Device& device, const BatchNormArrays<T>& norm, Matrix<const T> input,
                         Matrix<T> output);

// output [B, C P] <- the batch, normalized by the running mean and variance.
template <class T>
void batch_norm(Device& device, const BatchNormArrays<T>& norm, Matrix<const T> input, Matrix<T> output);

// Adds the gradients of weight, bias and input [B, C P] (null: not wanted), given that of the output.
//   with n = normalized: dx = weight scale (dy - mean(dy) - n mean(dy n))
template <class T>
void batch_norm_backward(Device& device, const BatchNormArrays<T>& norm, Matrix<const T> output_gradient,
                         const BatchNormGradients<T>& gradients, Matrix<T> input_gradient);

// Local response normalization: output [B, C P] and sums [B, C P], the s of LocalResponse.
template <class T>
void local_response_norm(Device& device, const LocalResponse<T>& norm, Matrix<const T> images, T* sums,
                         Matrix<T> output);

// image_gradients [B, C P] += the gradient of the images, given that of the output and the sums of the
// forward. ratios [B, C P] is overwritten.
//   dx_c = dy_c / s_c^beta - 2 alpha beta x_c x sum over j around c of dy_j x_j / s_j^(beta + 1)
template <class T>
void add_local_response_gradients(Device& device, const LocalResponse<T>& norm, Matrix<const T> images,
                                  Matrix<const T> output_gradient, const T* sums, T* ratios,
                                  Matrix<T> image_gradients);

}  // namespace ps

#endif  // PS_MATH_NORMALIZATION_H_
