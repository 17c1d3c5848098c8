#include <algorithm>
#include <cmath>

#include "config/spec.h"
#include "math/blocks.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct BatchNormOptions : LayerOptions, ImageKeys {
  double epsilon = 1e-5;
  double momentum = 0.9;
  ParameterOptions weight;
  BiasOptions bias;

  static const ObjectSpec<BatchNormOptions>& spec() {
    static const ObjectSpec<BatchNormOptions> spec = [] {
      ObjectSpec<BatchNormOptions> s;
      s.include(LayerOptions::spec());
      s.include(ImageKeys::spec());
      s.field("epsilon", &BatchNormOptions::epsilon, "added to the variance").above(0);
      s.field("momentum", &BatchNormOptions::momentum,
              "share of the old running mean and variance that a batch leaves")
          .at_least(0)
          .at_most(1);
      s.field("weight", &BatchNormOptions::weight, "start (default: 1) and tuning of the scale");
      s.field("bias", &BatchNormOptions::bias, "start and tuning of the shift, or false for none");
      return s;
    }();
    return spec;
  }
};

// output = weight x (input - mean) / sqrt(variance + epsilon) + bias, channel by channel: a channel is a
// column, or that of an image, whose P = height x width values lie together.  In training, mean and variance
// (of the population) are the batch's, and move the running ones, which serve otherwise.  Ioffe and Szegedy,
// ICML 2015.
template <class T>
class BatchNorm final : public Layer<T> {
 public:
  BatchNorm(const BatchNormOptions& options, LayerSetup& setup)
      : epsilon_(static_cast<T>(options.epsilon)), momentum_(static_cast<T>(options.momentum)) {
    require_dense_inputs(setup, "batch_norm");
    require_one_input(setup, "batch_norm");
    const InputInfo& input = setup.inputs().front();
    const std::optional<ImageShape> image = find_image(options, input);
    channels_ = image ? image->channels : input.cols;
    plane_ = image ? image->plane() : 1;
    ParameterOptions weight = options.weight;
    if (weight.init.type == "default") weight.init.type = "constant", weight.init.mean = 1;
    weight_ = setup.add_matrix({"weight", 1, channels_, /*fan_in=*/0, true, weight});
    if (options.bias.enabled)
      bias_ = setup.add_matrix({"bias", 1, channels_, /*fan_in=*/0, true, options.bias.parameter});
    running_mean_ = setup.add_statistic("mean", 1, channels_, 0);
    running_variance_ = setup.add_statistic("variance", 1, channels_, 1);
    image ? setup.set_image_output(*image) : setup.set_output(channels_);
  }

  void forward(LayerRun<T>& run) override {
    Matrix<const T> input = run.input(0);
    if (input.rows == 0) return;
    mean_.assign(static_cast<size_t>(channels_), T(0));
    scale_.assign(mean_.size(), T(0));
    if (run.training()) normalized_.resize(static_cast<size_t>(input.size()));
    for_channel_blocks(run, [&](int64_t begin, int64_t end, auto plane) {
      run.training() ? measure(run, input, begin, end, plane) : recall(run, begin, end);
      normalize(run, input, begin, end, plane);
    });
  }

  // With n = normalized: dx = weight / sqrt(variance + epsilon) x (dy - mean(dy) - n mean(dy n))
  void backward(LayerRun<T>& run) override {
    if (run.output().rows == 0) return;
    slope_sums_.assign(mean_.size(), T(0));
    product_sums_.assign(mean_.size(), T(0));
    for_channel_blocks(run, [&](int64_t begin, int64_t end, auto plane) {
      sum_slopes(run, begin, end, plane);
      if (run.input_gradient(0)) add_input_gradient(run, begin, end, plane);
    });
  }

 private:
  // Calls body(first and last channel, P).  Channels are independent; a block sums each in the order of the
  // examples.  P is a constant for columns, so that the compiler sees the loop over them as the inner one.
  template <class Body>
  void for_channel_blocks(LayerRun<T>& run, Body&& body) const {
    const int64_t channels = block_items(8 * run.output().rows * plane_);
    run.device().for_each(channels_, channels, [&](int64_t begin, int64_t end) {
      plane_ == 1 ? body(begin, end, std::integral_constant<int64_t, 1>()) : body(begin, end, plane_);
    });
  }

  // sums[c] += sum over examples and plane of value(index in the input, c)
  template <class Plane, class Value>
  void add_sums(int64_t rows, int64_t begin, int64_t end, Plane plane, T* sums, const Value& value) const {
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t at = (b * channels_ + c) * plane;
        if constexpr (std::is_same_v<Plane, int64_t>) {
          sums[c] += plane_sum<T>(plane, [&](int64_t p) { return value(at + p, c); });
        } else {
          sums[c] += value(at, c);
        }
      }
    }
  }

  // Calls body(index in the input, c) for every value.
  template <class Plane, class Body>
  void for_values(int64_t rows, int64_t begin, int64_t end, Plane plane, const Body& body) const {
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t p = 0; p < plane; ++p) body((b * channels_ + c) * plane + p, c);
      }
    }
  }

  // mean_ and scale_ (1 / deviation) of the batch; moves the running ones.
  template <class Plane>
  void measure(LayerRun<T>& run, Matrix<const T> input, int64_t begin, int64_t end, Plane plane) {
    const T count = static_cast<T>(input.rows * plane);
    const T* x = input.data;
    T *mean = mean_.data(), *variance = scale_.data();
    add_sums(input.rows, begin, end, plane, mean, [=](int64_t i, int64_t) { return x[i]; });
    for (int64_t c = begin; c < end; ++c) mean[c] /= count;
    add_sums(input.rows, begin, end, plane, variance,
             [=](int64_t i, int64_t c) { return (x[i] - mean[c]) * (x[i] - mean[c]); });
    for (int64_t c = begin; c < end; ++c) {
      variance[c] /= count;
      T& running_mean = run.value(running_mean_).data[c];
      T& running_variance = run.value(running_variance_).data[c];
      running_mean = momentum_ * running_mean + (1 - momentum_) * mean[c];
      running_variance = momentum_ * running_variance + (1 - momentum_) * variance[c];
      scale_[static_cast<size_t>(c)] = 1 / std::sqrt(variance[c] + epsilon_);
    }
  }

  void recall(LayerRun<T>& run, int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      mean_[static_cast<size_t>(c)] = run.value(running_mean_).data[c];
      scale_[static_cast<size_t>(c)] = 1 / std::sqrt(run.value(running_variance_).data[c] + epsilon_);
    }
  }

  template <class Plane>
  void normalize(LayerRun<T>& run, Matrix<const T> input, int64_t begin, int64_t end, Plane plane) {
    const T *x = input.data, *mean = mean_.data(), *scale = scale_.data(), *weight = run.value(weight_).data;
    const T* bias = bias_ >= 0 ? run.value(bias_).data : nullptr;
    T *output = run.output().data, *kept = run.training() ? normalized_.data() : nullptr;
    for_values(input.rows, begin, end, plane, [=](int64_t i, int64_t c) {
      const T normalized = (x[i] - mean[c]) * scale[c];
      output[i] = weight[c] * normalized + (bias ? bias[c] : T(0));
      if (kept) kept[i] = normalized;
    });
  }

  // The gradients of weight and bias, which are sums over the batch that the input's needs too.
  template <class Plane>
  void sum_slopes(LayerRun<T>& run, int64_t begin, int64_t end, Plane plane) {
    const Matrix<const T> gradient = run.output_gradient();
    const T *slopes = gradient.data, *normalized = normalized_.data();
    T *sums = slope_sums_.data(), *products = product_sums_.data();
    add_sums(gradient.rows, begin, end, plane, sums, [=](int64_t i, int64_t) { return slopes[i]; });
    add_sums(gradient.rows, begin, end, plane, products,
             [=](int64_t i, int64_t) { return slopes[i] * normalized[i]; });
    for (int64_t c = begin; c < end; ++c) {
      run.gradient(weight_).data[c] += products[c];
      if (bias_ >= 0) run.gradient(bias_).data[c] += sums[c];
    }
  }

  template <class Plane>
  void add_input_gradient(LayerRun<T>& run, int64_t begin, int64_t end, Plane plane) const {
    const Matrix<T> below = run.input_gradient(0);
    const T *slopes = run.output_gradient().data, *normalized = normalized_.data();
    const T *sums = slope_sums_.data(), *products = product_sums_.data();
    const T *weight = run.value(weight_).data, *scale = scale_.data();
    const T count = static_cast<T>(below.rows * plane);
    for_values(below.rows, begin, end, plane, [=](int64_t i, int64_t c) {
      const T centred = slopes[i] - (sums[c] + normalized[i] * products[c]) / count;
      below.data[i] += weight[c] * scale[c] * centred;
    });
  }

  const T epsilon_, momentum_;
  int64_t channels_, plane_;  // C, P
  int weight_, bias_ = -1, running_mean_, running_variance_;
  std::vector<T> mean_, scale_;               // [C], of the last forward
  std::vector<T> normalized_;                 // [B, C, P], of the last forward in training
  std::vector<T> slope_sums_, product_sums_;  // [C]
};

}  // namespace

extern const LayerEntry kBatchNormLayer =
    layer_entry<BatchNormOptions, BatchNorm>("batch_norm",
                                             "scales and shifts each column, or each channel of an image, to "
                                             "mean 0 and variance 1 over the batch, then by "
                                             "learned factors");

}  // namespace ps
