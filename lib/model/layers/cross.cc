#include <algorithm>

#include "config/spec.h"
#include "math/blocks.h"
#include "math/dense_kernels.h"
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

  void forward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    states_.resize(static_cast<size_t>(examples * depth_ * cols_));
    products_.resize(static_cast<size_t>(examples * depth_));
    for_examples(run.device(), examples, [&](int64_t b) {
      const T* x0 = run.input(0).row(b);
      T* x = run.output().row(b);  // x_l, then x_{l+1}
      std::copy_n(x0, cols_, x);
      for (int64_t l = 0; l < depth_; ++l) {
        std::copy_n(x, cols_, state(states_, b, l));
        const T product = dot(x, run.value(weight_).row(l));
        products_[static_cast<size_t>(b * depth_ + l)] = product;
        for (int64_t d = 0; d < cols_; ++d) x[d] += x0[d] * product;
        if (bias_ >= 0) add_scaled(x, T(1), run.value(bias_).row(l));
      }
    });
  }

  void backward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    if (examples == 0) return;
    gradients_.resize(states_.size());
    product_gradients_.resize(products_.size());
    input_gradients_.assign(static_cast<size_t>(examples * cols_), T(0));
    for_examples(run.device(), examples, [&](int64_t b) { backward_example(run, b); });
    for (int64_t l = 0; l < depth_; ++l) {
      Columns<const T> states{states_.data() + l * cols_, depth_ * cols_, cols_};
      Columns<const T> gradients{gradients_.data() + l * cols_, depth_ * cols_, cols_};
      add_column_sums<T>(run.device(), states, examples, product_gradients_.data() + l, depth_,
                         run.gradient(weight_).row(l));
      if (bias_ < 0) continue;
      add_column_sums<T>(run.device(), gradients, examples, nullptr, 0, run.gradient(bias_).row(l));
    }
    if (Matrix<T> below = run.input_gradient(0)) {
      add_columns<T>(run.device(), {input_gradients_.data(), cols_, cols_}, examples, columns(below));
    }
  }

 private:
  // Keeps, for each l, the gradients of x_{l+1} and of the product x_l . w_l: those of w_l and b_l are sums
  // of them.
  void backward_example(LayerRun<T>& run, int64_t b) {
    const T* x0 = run.input(0).row(b);
    T* input_gradient = &input_gradients_[static_cast<size_t>(b * cols_)];
    const T* above = run.output_gradient().row(b);
    for (int64_t l = depth_; l-- > 0;) {
      T* gradient = state(gradients_, b, l);  // of x_{l+1}
      std::copy_n(above, cols_, gradient);
      if (l + 1 < depth_) {
        const size_t next = static_cast<size_t>(b * depth_ + l + 1);
        add_scaled(gradient, product_gradients_[next], run.value(weight_).row(l + 1));
      }
      const size_t here = static_cast<size_t>(b * depth_ + l);
      product_gradients_[here] = dot(gradient, x0);
      add_scaled(input_gradient, products_[here], gradient);
      above = gradient;
    }
    add_scaled(input_gradient, T(1), above);
    add_scaled(input_gradient, product_gradients_[static_cast<size_t>(b * depth_)],
               run.value(weight_).row(0));
  }

  T* state(std::vector<T>& states, int64_t b, int64_t l) {
    return &states[static_cast<size_t>((b * depth_ + l) * cols_)];
  }

  T dot(const T* a, const T* b) const {
    T sum = 0;
    for (int64_t d = 0; d < cols_; ++d) sum += a[d] * b[d];
    return sum;
  }

  void add_scaled(T* sum, T scale, const T* values) const {
    for (int64_t d = 0; d < cols_; ++d) sum[d] += scale * values[d];
  }

  template <class Body>
  void for_examples(Device& device, int64_t examples, Body&& body) const {
    device.for_each(examples, block_items(4 * depth_ * cols_), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) body(b);
    });
  }

  const int64_t depth_;
  int64_t cols_;
  int weight_, bias_ = -1;
  std::vector<T> states_, gradients_;            // [B, depth, D]: x_l; the gradient of x_{l+1}
  std::vector<T> products_, product_gradients_;  // [B, depth]: x_l . w_l
  std::vector<T> input_gradients_;               // [B, D]
};

}  // namespace

extern const LayerEntry kCrossLayer = layer_entry<CrossOptions, Cross>(
    "cross", "cross network of deep & cross: products of its input with itself, depth times");

}  // namespace ps
