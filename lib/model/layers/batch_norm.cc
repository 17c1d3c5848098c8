#include "config/spec.h"
#include "math/device_buffer.h"
#include "math/normalization.h"
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
  // The scale begins with 1 and the shift with 0, so that the layer only normalizes at first.  The running
  // mean begins with 0 and the running variance with 1.
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

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const Matrix<const T> input = run.input(0);
    mean_.resize(run.device(), channels_);
    scale_.resize(run.device(), channels_);
    if (!run.training()) return batch_norm(run.device(), arrays(run), input, run.output());
    normalized_.resize(run.device(), input.size());
    batch_norm_training(run.device(), arrays(run), input, run.output());
  }

  void backward(LayerRun<T>& run) override {
    slope_sums_.resize(run.device(), channels_);
    product_sums_.resize(run.device(), channels_);
    batch_norm_backward<T>(run.device(), arrays(run), run.output_gradient(),
                           {slope_sums_.data(), product_sums_.data(), run.gradient(weight_).data,
                            bias_ >= 0 ? run.gradient(bias_).data : nullptr},
                           run.input_gradient(0));
  }

 private:
  BatchNormArrays<T> arrays(LayerRun<T>& run) {
    return {.channels = channels_,
            .plane = plane_,
            .epsilon = epsilon_,
            .momentum = momentum_,
            .weight = run.value(weight_).data,
            .bias = bias_ >= 0 ? run.value(bias_).data : nullptr,
            .running_mean = run.value(running_mean_).data,
            .running_variance = run.value(running_variance_).data,
            .mean = mean_.data(),
            .scale = scale_.data(),
            .normalized = normalized_.data()};
  }

  const T epsilon_, momentum_;
  int64_t channels_, plane_;  // C, P
  int weight_, bias_ = -1, running_mean_, running_variance_;
  DeviceBuffer<T> mean_, scale_;               // [C], of the last forward
  DeviceBuffer<T> normalized_;                 // [B, C, P], of the last forward in training
  DeviceBuffer<T> slope_sums_, product_sums_;  // [C]
};

}  // namespace

extern const LayerEntry kBatchNormLayer =
    layer_entry<BatchNormOptions, BatchNorm>("batch_norm",
                                             "scales and shifts each column, or each channel of an image, to "
                                             "mean 0 and variance 1 over the batch, then by learned factors");

}  // namespace ps
