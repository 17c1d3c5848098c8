// The items of the kernels of math/normalization.h.  Devices with memory of their own run them all
// (math/device_kernels.h); the processor has loops over blocks of channels and over planes, which add in the same order.
#ifndef PS_MATH_ITEMS_NORMALIZATION_ITEMS_H_
#define PS_MATH_ITEMS_NORMALIZATION_ITEMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "math/items/add_in_order.h"
#include "math/matrix.h"
#include "math/plane_sum.h"

namespace ps {

// The arrays of batch normalization: output = weight (input - mean) scale + bias with scale = 1 /
// sqrt(variance + epsilon), channel by channel.
template <class T>
struct BatchNormArrays {
  int64_t channels, plane;             // C, P
  T epsilon, momentum;                 // momentum: share of the running mean and variance that a batch leaves
  const T *weight, *bias;              // [C]; a null bias adds nothing
  T *running_mean, *running_variance;  // [C]
  T *mean, *scale;                     // [C], of the last forward
  T* normalized;                       // [B, C P], of the last forward in training
};

// The sums that a batch norm's gradients need: over the batch of dy, and of dy times the normalized input.
template <class T>
struct BatchNormGradients {
  T *slope_sums, *product_sums;        // [C], overwritten
  T *weight_gradient, *bias_gradient;  // [C], added to; bias null: none
};

// The sum over examples and plane of value(index in the input), for channel c.
template <class T, class Value>
constexpr T channel_sum(int64_t rows, int64_t channels, int64_t plane, int64_t c, const Value& value) {
  if (plane == 1) return add_in_order(T(0), 0, rows, [&](int64_t b) { return value(b * channels + c); });
  T sum = 0;
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t at = (b * channels + c) * plane;
    sum += plane_sum<T>(plane, [&](int64_t p) { return value(at + p); });
  }
  return sum;
}

// An item is a channel: it gets mean and scale of the batch, and its running ones are moved towards them.
template <class T>
struct MeasureChannelItems {
  BatchNormArrays<T> norm;
  const T* x;
  int64_t rows;

  constexpr void operator()(int64_t c) const {
    const T count = static_cast<T>(rows * norm.plane);
    const T* in = x;
    const T mean =
        channel_sum<T>(rows, norm.channels, norm.plane, c, [in](int64_t i) { return in[i]; }) / count;
    const T variance = channel_sum<T>(rows, norm.channels, norm.plane, c,
                                      [in, mean](int64_t i) { return (in[i] - mean) * (in[i] - mean); }) /
                       count;
    T &running_mean = norm.running_mean[c], &running_variance = norm.running_variance[c];
    running_mean = norm.momentum * running_mean + (1 - norm.momentum) * mean;
    running_variance = norm.momentum * running_variance + (1 - norm.momentum) * variance;
    norm.mean[c] = mean;
    norm.scale[c] = 1 / std::sqrt(variance + norm.epsilon);
  }
};

// An item is a channel: it gets mean and scale from its running mean and variance.
template <class T>
struct RecallChannelItems {
  BatchNormArrays<T> norm;

  constexpr void operator()(int64_t c) const {
    norm.mean[c] = norm.running_mean[c];
    norm.scale[c] = 1 / std::sqrt(norm.running_variance[c] + norm.epsilon);
  }
};

// An item is a value of the output.  The normalized values are kept unless norm.normalized is null.
template <class T>
struct NormalizeItems {
  BatchNormArrays<T> norm;
  const T* x;
  T* output;

  constexpr void operator()(int64_t i) const {
    const int64_t c = i / norm.plane % norm.channels;
    const T normalized = (x[i] - norm.mean[c]) * norm.scale[c];
    output[i] = norm.weight[c] * normalized + (norm.bias ? norm.bias[c] : T(0));
    if (norm.normalized) norm.normalized[i] = normalized;
  }
};

// An item is a channel: it gets the gradients of weight and bias, and the sums.
template <class T>
struct NormSlopeItems {
  BatchNormArrays<T> norm;
  const T* slopes;
  BatchNormGradients<T> gradients;
  int64_t rows;

  constexpr void operator()(int64_t c) const {
    const T *dy = slopes, *n = norm.normalized;
    const T sum = channel_sum<T>(rows, norm.channels, norm.plane, c, [dy](int64_t i) { return dy[i]; });
    const T product =
        channel_sum<T>(rows, norm.channels, norm.plane, c, [dy, n](int64_t i) { return dy[i] * n[i]; });
    gradients.slope_sums[c] = sum;
    gradients.product_sums[c] = product;
    gradients.weight_gradient[c] += product;
    if (gradients.bias_gradient) gradients.bias_gradient[c] += sum;
  }
};

// An item is a value of the input's gradient, given the sums.
template <class T>
struct NormInputGradientItems {
  BatchNormArrays<T> norm;
  const T* slopes;
  BatchNormGradients<T> gradients;
  int64_t rows;
  T* below;

  constexpr void operator()(int64_t i) const {
    const int64_t c = i / norm.plane % norm.channels;
    const T count = static_cast<T>(rows * norm.plane);
    const T centred =
        slopes[i] - (gradients.slope_sums[c] + norm.normalized[i] * gradients.product_sums[c]) / count;
    below[i] += norm.weight[c] * norm.scale[c] * centred;
  }
};

// output_c = x_c / s_c^beta, with s_c = k + alpha x sum of x_j^2 over the channels j up to `reach` from c, at
// each pixel.
template <class T>
struct LocalResponse {
  int64_t channels, plane, reach;
  T alpha, beta, k;

  constexpr int64_t channel(int64_t i) const { return i / plane % channels; }  // of value i of the images

  // The channels around c.
  constexpr int64_t begin(int64_t c) const { return c < reach ? 0 : c - reach; }
  constexpr int64_t end(int64_t c) const { return std::min(channels, c + reach + 1); }
};

// An item is a value of the output, and its sum s.
template <class T>
struct ResponseItems {
  LocalResponse<T> norm;
  const T* images;
  T *sums, *output;

  constexpr void operator()(int64_t i) const {
    const int64_t c = norm.channel(i);
    T sum = norm.k;
    for (int64_t j = norm.begin(c); j < norm.end(c); ++j) {
      const T x = images[i + (j - c) * norm.plane];
      sum += norm.alpha * x * x;
    }
    sums[i] = sum;
    output[i] = images[i] * std::pow(sum, -norm.beta);
  }
};

// An item is a value: it gets the part of its gradient that depends on itself alone, and the ratio that its
// neighbours need.
template <class T>
struct ResponseRatioItems {
  LocalResponse<T> norm;
  const T *images, *output_gradient, *sums;
  T *ratios, *image_gradients;

  constexpr void operator()(int64_t i) const {
    const T direct = output_gradient[i] * std::pow(sums[i], -norm.beta);
    image_gradients[i] += direct;
    ratios[i] = direct * images[i] / sums[i];
  }
};

// An item is a value: it gets the part of its gradient that comes from the sums of its neighbours.
template <class T>
struct ResponseGradientItems {
  LocalResponse<T> norm;
  const T *images, *ratios;
  T* image_gradients;

  constexpr void operator()(int64_t i) const {
    const int64_t c = norm.channel(i);
    T gradient = image_gradients[i];
    for (int64_t j = norm.begin(c); j < norm.end(c); ++j)
      gradient -= 2 * norm.alpha * norm.beta * images[i] * ratios[i + (j - c) * norm.plane];
    image_gradients[i] = gradient;
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_NORMALIZATION_ITEMS_H_
