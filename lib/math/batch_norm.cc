#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/normalization.h"
#include "math/plane_sum.h"

namespace ps {

namespace {

// Calls body(first and last channel, P) for blocks of channels, in parallel.  Channels are independent; a block
// sums each in the order of the examples.  P is a constant for columns, so that the compiler sees the loop over
// them as the inner one.
template <class T, class Body>
void for_channel_blocks(Device& device, const BatchNormArrays<T>& norm, int64_t rows, const Body& body) {
  device.for_each(norm.channels, block_items(8 * rows * norm.plane), [&](int64_t begin, int64_t end) {
    norm.plane == 1 ? body(begin, end, std::integral_constant<int64_t, 1>()) : body(begin, end, norm.plane);
  });
}

// The channels [begin, end) of `rows` examples, whose channels have planes of `plane` values.
template <class Plane>
struct ChannelBlock {
  int64_t rows, channels, begin, end;
  Plane plane;

  // Calls body(index in the input, c) for every value.
  template <class Body>
  void for_values(const Body& body) const {
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t p = 0; p < plane; ++p) body((b * channels + c) * plane + p, c);
      }
    }
  }

  // sums[c] += sum over examples and plane of value(index in the input, c)
  template <class T, class Value>
  void add_sums(T* sums, const Value& value) const {
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t at = (b * channels + c) * plane;
        if constexpr (std::is_same_v<Plane, int64_t>) {
          sums[c] += plane_sum<T>(plane, [&](int64_t p) { return value(at + p, c); });
        } else {
          sums[c] += value(at, c);
        }
      }
    }
  }
};

// Computes mean and scale from the batch, and moves the running mean and variance towards it.
// Works in two passes over the batch, the mean first and then the squares of the distances from it, since the
// difference of a sum of squares and a squared sum would cancel. norm.scale holds the variance in between.
template <class T, class Plane>
void measure(const BatchNormArrays<T>& norm, const T* x, const ChannelBlock<Plane>& block) {
  const T count = static_cast<T>(block.rows * block.plane);
  T *mean = norm.mean, *variance = norm.scale;
  std::fill(mean + block.begin, mean + block.end, T(0));
  std::fill(variance + block.begin, variance + block.end, T(0));
  block.add_sums(mean, [=](int64_t i, int64_t) { return x[i]; });
  for (int64_t c = block.begin; c < block.end; ++c) mean[c] /= count;
  block.add_sums(variance, [=](int64_t i, int64_t c) { return (x[i] - mean[c]) * (x[i] - mean[c]); });
  for (int64_t c = block.begin; c < block.end; ++c) {
    variance[c] /= count;
    T &running_mean = norm.running_mean[c], &running_variance = norm.running_variance[c];
    running_mean = norm.momentum * running_mean + (1 - norm.momentum) * mean[c];
    running_variance = norm.momentum * running_variance + (1 - norm.momentum) * variance[c];
    norm.scale[c] = 1 / std::sqrt(variance[c] + norm.epsilon);
  }
}

// Computes mean and scale from the running mean and variance.
template <class T>
void recall(const BatchNormArrays<T>& norm, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    norm.mean[c] = norm.running_mean[c];
    norm.scale[c] = 1 / std::sqrt(norm.running_variance[c] + norm.epsilon);
  }
}

// output = weight (x - mean) scale + bias, with the scale 1 / sqrt(variance + epsilon).  Writes the
// normalized values (x - mean) scale to `normalized_out` as well, which backward reads, unless that is
// null.
template <class T, class Plane>
void normalize(const BatchNormArrays<T>& norm, const T* x, const ChannelBlock<Plane>& block,
               T* normalized_out, T* output) {
  const T *mean = norm.mean, *scale = norm.scale, *weight = norm.weight, *bias = norm.bias;
  block.for_values([=](int64_t i, int64_t c) {
    const T normalized = (x[i] - mean[c]) * scale[c];
    output[i] = weight[c] * normalized + (bias ? bias[c] : T(0));
    if (normalized_out) normalized_out[i] = normalized;
  });
}

// Computes the gradients of weight and bias.  The gradient of the input needs the same sums over the batch.
// slope_sums [C] <- sum of dy, product_sums [C] <- sum of dy n, with n the normalized values: bias_gradient
// += the former, and weight_gradient += the latter.
template <class T, class Plane>
void sum_slopes(const BatchNormArrays<T>& norm, const T* slopes, const BatchNormGradients<T>& gradients,
                const ChannelBlock<Plane>& block) {
  const T* normalized = norm.normalized;
  T *sums = gradients.slope_sums, *products = gradients.product_sums;
  std::fill(sums + block.begin, sums + block.end, T(0));
  std::fill(products + block.begin, products + block.end, T(0));
  block.add_sums(sums, [=](int64_t i, int64_t) { return slopes[i]; });
  block.add_sums(products, [=](int64_t i, int64_t) { return slopes[i] * normalized[i]; });
  for (int64_t c = block.begin; c < block.end; ++c) {
    gradients.weight_gradient[c] += products[c];
    if (gradients.bias_gradient) gradients.bias_gradient[c] += sums[c];
  }
}

// dx = weight scale (dy - mean(dy) - n mean(dy n)): mean and variance depend on all values of the channel,
// and the two means are what comes back through them.  The sums are those of sum_slopes, over `count`
// values.
template <class T, class Plane>
void add_input_gradient(const BatchNormArrays<T>& norm, const T* slopes,
                        const BatchNormGradients<T>& gradients, const ChannelBlock<Plane>& block, T* below) {
  const T *normalized = norm.normalized, *weight = norm.weight, *scale = norm.scale;
  const T *sums = gradients.slope_sums, *products = gradients.product_sums;
  const T count = static_cast<T>(block.rows * block.plane);
  block.for_values([=](int64_t i, int64_t c) {
    const T centred = slopes[i] - (sums[c] + normalized[i] * products[c]) / count;
    below[i] += weight[c] * scale[c] * centred;
  });
}

}  // namespace

template <class T>
void batch_norm_training(Device& device, const BatchNormArrays<T>& norm, Matrix<const T> input,
                         Matrix<T> output) {
  if (input.rows == 0) return;
  if (run_there(device, norm.channels, MeasureChannelItems<T>{norm, input.data, input.rows})) {
    return for_items(device, input.size(), 1, NormalizeItems<T>{norm, input.data, output.data});
  }
  for_channel_blocks(device, norm, input.rows, [&](int64_t begin, int64_t end, auto plane) {
    const ChannelBlock<decltype(plane)> block{input.rows, norm.channels, begin, end, plane};
    measure(norm, input.data, block);
    normalize(norm, input.data, block, norm.normalized, output.data);
  });
}

// The device gets the arrays without `normalized`, which may have the size of another batch and which no
// backward will read.
template <class T>
void batch_norm(Device& device, const BatchNormArrays<T>& norm, Matrix<const T> input, Matrix<T> output) {
  if (input.rows == 0) return;
  if (run_there(device, norm.channels, RecallChannelItems<T>{norm})) {
    BatchNormArrays<T> unkept = norm;
    unkept.normalized = nullptr;
    return for_items(device, input.size(), 1, NormalizeItems<T>{unkept, input.data, output.data});
  }
  for_channel_blocks(device, norm, input.rows, [&](int64_t begin, int64_t end, auto plane) {
    const ChannelBlock<decltype(plane)> block{input.rows, norm.channels, begin, end, plane};
    recall(norm, begin, end);
    normalize(norm, input.data, block, static_cast<T*>(nullptr), output.data);
  });
}

// Both ways take two passes over the batch: the second needs the sums of the first over the whole channel.
// The sums are computed even if the gradient of the input is not wanted, since they are the gradients of
// weight and bias.
template <class T>
void batch_norm_backward(Device& device, const BatchNormArrays<T>& norm, Matrix<const T> output_gradient,
                         const BatchNormGradients<T>& gradients, Matrix<T> input_gradient) {
  const int64_t rows = output_gradient.rows;
  if (rows == 0) return;
  if (run_there(device, norm.channels, NormSlopeItems<T>{norm, output_gradient.data, gradients, rows})) {
    if (!input_gradient) return;
    return for_items(
        device, input_gradient.size(), 1,
        NormInputGradientItems<T>{norm, output_gradient.data, gradients, rows, input_gradient.data});
  }
  for_channel_blocks(device, norm, rows, [&](int64_t begin, int64_t end, auto plane) {
    const ChannelBlock<decltype(plane)> block{rows, norm.channels, begin, end, plane};
    sum_slopes(norm, output_gradient.data, gradients, block);
    if (input_gradient) add_input_gradient(norm, output_gradient.data, gradients, block, input_gradient.data);
  });
}

#define PS_INSTANTIATE(T)                                                                            \
  template void batch_norm_training(Device&, const BatchNormArrays<T>&, Matrix<const T>, Matrix<T>); \
  template void batch_norm(Device&, const BatchNormArrays<T>&, Matrix<const T>, Matrix<T>);          \
  template void batch_norm_backward(Device&, const BatchNormArrays<T>&, Matrix<const T>,             \
                                    const BatchNormGradients<T>&, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
