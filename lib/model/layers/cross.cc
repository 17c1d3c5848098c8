#include "config/spec.h"
#include "math/cross_kernels.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct CrossOptions : WeightedLayerOptions {
  int64_t depth = 1;
  BiasOptions bias;

  static const ObjectSpec<CrossOptions>& spec() {
    static const ObjectSpec<CrossOptions> spec = [] {
      ObjectSpec<CrossOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field("depth", &CrossOptions::depth, "how often the input is crossed with itself").at_least(1);
      s.field("bias", &CrossOptions::bias, "start and tuning of the biases, or false for none");
      return s;
    }();
    return spec;
  }
};

// x_{l+1} = x_0 (x_l . w_l) + b_l + x_l for l in [0, depth), with x_0 the input [B, D] and x_depth the
// output. Wang et al., "Deep & cross network for ad click predictions", ADKDD 2017.
template <class T>
class Cross final : public Layer<T> {
 public:
  Cross(const CrossOptions& options, LayerSetup& setup) : depth_(options.depth) {
    require_dense_inputs(setup, "cross");
    require_one_input(setup, "cross");
    cols_ = setup.inputs().front().cols;
    weight_ = setup.add_matrix({"weight", depth_, cols_, /*fan_in=*/cols_, true, options.weight});
    if (options.bias.enabled)
      bias_ = setup.add_matrix({"bias", depth_, cols_, /*fan_in=*/0, true, options.bias.parameter});
    setup.set_output(cols_);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    states_.resize(run.device(), examples * depth_ * cols_);
    products_.resize(run.device(), examples * depth_);
    cross_forward<T>(run.device(), parameters(run), run.input(0), {states_.data(), products_.data()},
                     run.output());
  }

  // cross_backward stores the gradients of all states x_{l+1} and of all products x_l . w_l, and those of
  // the input, in arrays of its own; the gradients of the parameters are sums over the examples of these.
  void backward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    if (examples == 0) return;
    gradients_.resize(run.device(), states_.size());
    product_gradients_.resize(run.device(), products_.size());
    input_gradients_.resize(run.device(), examples * cols_);
    cross_backward<T>(
        run.device(), parameters(run), run.input(0), {states_.data(), products_.data()},
        run.output_gradient(),
        {gradients_.data(), product_gradients_.data(), {input_gradients_.data(), examples, cols_}});
    add_parameter_gradients(run, examples);
    if (const Matrix<T> below = run.input_gradient(0)) {
      add_columns<T>(run.device(), {input_gradients_.data(), cols_, cols_}, examples, columns(below));
    }
  }

 private:
  CrossWeights<T> parameters(LayerRun<T>& run) const {
    return {run.value(weight_), bias_ >= 0 ? run.value(bias_) : Matrix<T>()};
  }

  // With dp_l [B] the gradients of the products: w_l += sum over b of dp_l[b] x_l[b], and b_l += sum over b
  // of the gradient of x_{l+1}[b].
  void add_parameter_gradients(LayerRun<T>& run, int64_t examples) {
    for (int64_t l = 0; l < depth_; ++l) {
      const Columns<const T> states{states_.data() + l * cols_, depth_ * cols_, cols_};
      const Columns<const T> gradients{gradients_.data() + l * cols_, depth_ * cols_, cols_};
      add_column_sums<T>(run.device(), states, examples, product_gradients_.data() + l, depth_,
                         run.gradient(weight_).row(l));
      if (bias_ < 0) continue;
      add_column_sums<T>(run.device(), gradients, examples, nullptr, 0, run.gradient(bias_).row(l));
    }
  }

  const int64_t depth_;
  int64_t cols_;
  int weight_, bias_ = -1;
  DeviceBuffer<T> states_, gradients_;            // [B, depth, D]: x_l; the gradient of x_{l+1}
  DeviceBuffer<T> products_, product_gradients_;  // [B, depth]: x_l . w_l
  DeviceBuffer<T> input_gradients_;               // [B, D]
};

}  // namespace

extern const LayerEntry kCrossLayer = layer_entry<CrossOptions, Cross>(
    "cross", "cross network of deep & cross: products of its input with itself, depth times");

}  // namespace ps
