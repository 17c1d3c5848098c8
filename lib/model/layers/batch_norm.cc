#include <algorithm>
#include <cmath>

#include "config/spec.h"
#include "math/blocks.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct BatchNormOptions : LayerOptions {
  double epsilon = 1e-5;
  double momentum = 0.9;
  ParameterOptions weight;
  BiasOptions bias;

  static const ObjectSpec<BatchNormOptions>& spec() {
    static const ObjectSpec<BatchNormOptions> spec = [] {
      ObjectSpec<BatchNormOptions> s;
      s.include(LayerOptions::spec());
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

// output = weight x (input - mean) / sqrt(variance + epsilon) + bias, column by column.  In training, mean
// and variance (of the population) are the batch's, and move the running ones, which serve otherwise. Ioffe
// and Szegedy, ICML 2015.
template <class T>
class BatchNorm final : public Layer<T> {
 public:
  BatchNorm(const BatchNormOptions& options, LayerSetup& setup)
      : epsilon_(static_cast<T>(options.epsilon)), momentum_(static_cast<T>(options.momentum)) {
    require_dense_inputs(setup, "batch_norm");
    require_one_input(setup, "batch_norm");
    int64_t cols = setup.inputs().front().cols;
    ParameterOptions weight = options.weight;
    if (weight.init.type == "default") weight.init.type = "constant", weight.init.mean = 1;
    weight_ = setup.add_matrix({"weight", 1, cols, /*fan_in=*/0, true, weight});
    if (options.bias.enabled)
      bias_ = setup.add_matrix({"bias", 1, cols, /*fan_in=*/0, true, options.bias.parameter});
    running_mean_ = setup.add_statistic("mean", 1, cols, 0);
    running_variance_ = setup.add_statistic("variance", 1, cols, 1);
    setup.set_output(cols);
  }

  void forward(LayerRun<T>& run) override {
    Matrix<const T> input = run.input(0);
    if (input.rows == 0) return;
    mean_.assign(static_cast<size_t>(input.cols), T(0));
    scale_.assign(mean_.size(), T(0));
    if (run.training()) normalized_.resize(static_cast<size_t>(input.size()));
    for_column_blocks(run, [&](int64_t begin, int64_t end) {
      run.training() ? measure(run, input, begin, end) : recall(run, begin, end);
      normalize(run, input, begin, end);
    });
  }

  // With n = normalized: dx = weight / sqrt(variance + epsilon) x (dy - mean(dy) - n mean(dy n))
  void backward(LayerRun<T>& run) override {
    if (run.output().rows == 0) return;
    slope_sums_.assign(mean_.size(), T(0));
    product_sums_.assign(mean_.size(), T(0));
    for_column_blocks(run, [&](int64_t begin, int64_t end) { backward_columns(run, begin, end); });
  }

 private:
  // Columns are independent; a block sums each in the order of the examples.
  template <class Body>
  static void for_column_blocks(LayerRun<T>& run, Body&& body) {
    run.pool().for_each(run.output().cols, block_items(8 * run.output().rows), body);
  }

  // mean_ and scale_ (1 / deviation) of the batch; moves the running ones.
  void measure(LayerRun<T>& run, Matrix<const T> input, int64_t begin, int64_t end) {
    const T count = static_cast<T>(input.rows);
    T* mean = mean_.data();
    T* variance = scale_.data();
    for (int64_t b = 0; b < input.rows; ++b) {
      for (int64_t d = begin; d < end; ++d) mean[d] += input.row(b)[d];
    }
    for (int64_t d = begin; d < end; ++d) mean[d] /= count;
    for (int64_t b = 0; b < input.rows; ++b) {
      for (int64_t d = begin; d < end; ++d)
        variance[d] += (input.row(b)[d] - mean[d]) * (input.row(b)[d] - mean[d]);
    }
    for (int64_t d = begin; d < end; ++d) {
      variance[d] /= count;
      T& running_mean = run.value(running_mean_).data[d];
      T& running_variance = run.value(running_variance_).data[d];
      running_mean = momentum_ * running_mean + (1 - momentum_) * mean[d];
      running_variance = momentum_ * running_variance + (1 - momentum_) * variance[d];
      scale_[static_cast<size_t>(d)] = 1 / std::sqrt(variance[d] + epsilon_);
    }
  }

  void recall(LayerRun<T>& run, int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
      mean_[static_cast<size_t>(d)] = run.value(running_mean_).data[d];
      scale_[static_cast<size_t>(d)] = 1 / std::sqrt(run.value(running_variance_).data[d] + epsilon_);
    }
  }

  void normalize(LayerRun<T>& run, Matrix<const T> input, int64_t begin, int64_t end) {
    const T* weight = run.value(weight_).data;
    const T* bias = bias_ >= 0 ? run.value(bias_).data : nullptr;
    const bool training = run.training();
    for (int64_t b = 0; b < input.rows; ++b) {
      T* output = run.output().row(b);
      for (int64_t d = begin; d < end; ++d) {
        const size_t column = static_cast<size_t>(d);
        const T normalized = (input.row(b)[d] - mean_[column]) * scale_[column];
        output[d] = weight[d] * normalized + (bias ? bias[d] : T(0));
        if (training) normalized_[static_cast<size_t>(b * input.cols + d)] = normalized;
      }
    }
  }

  void backward_columns(LayerRun<T>& run, int64_t begin, int64_t end) {
    Matrix<const T> gradient = run.output_gradient();
    const Matrix<const T> normalized{normalized_.data(), gradient.rows, gradient.cols};
    T* sums = slope_sums_.data();
    T* products = product_sums_.data();
    for (int64_t b = 0; b < gradient.rows; ++b) {
      for (int64_t d = begin; d < end; ++d) {
        sums[d] += gradient.row(b)[d];
        products[d] += gradient.row(b)[d] * normalized.row(b)[d];
      }
    }
    for (int64_t d = begin; d < end; ++d) {
      run.gradient(weight_).data[d] += products[d];
      if (bias_ >= 0) run.gradient(bias_).data[d] += sums[d];
    }
    Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    const T* weight = run.value(weight_).data;
    const T count = static_cast<T>(gradient.rows);
    for (int64_t b = 0; b < gradient.rows; ++b) {
      for (int64_t d = begin; d < end; ++d) {
        const T centred = gradient.row(b)[d] - (sums[d] + normalized.row(b)[d] * products[d]) / count;
        below.row(b)[d] += weight[d] * scale_[static_cast<size_t>(d)] * centred;
      }
    }
  }

  const T epsilon_, momentum_;
  int weight_, bias_ = -1, running_mean_, running_variance_;
  std::vector<T> mean_, scale_;               // [D], of the last forward
  std::vector<T> normalized_;                 // [B, D], of the last forward in training
  std::vector<T> slope_sums_, product_sums_;  // [D]
};

}  // namespace

extern const LayerEntry kBatchNormLayer = layer_entry<BatchNormOptions, BatchNorm>(
    "batch_norm",
    "scales and shifts each column to mean 0 and variance 1 over the batch, then by learned factors");

}  // namespace ps
