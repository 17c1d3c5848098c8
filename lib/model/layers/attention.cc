#include "math/attention.h"
#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/gemm.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct AttentionOptions : WeightedLayerOptions {
  int64_t size = 0, heads = 1;
  bool causal = false;
  BiasOptions bias;

  static const ObjectSpec<AttentionOptions>& spec() {
    static const ObjectSpec<AttentionOptions> spec = [] {
      ObjectSpec<AttentionOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field("size", &AttentionOptions::size,
              "values of a row of the output, and of the queries of all heads")
          .must()
          .at_least(1)
          .at_most(1 << 20);
      s.field("heads", &AttentionOptions::heads, "heads, which share out the values: a divisor of size")
          .at_least(1);
      s.field("causal", &AttentionOptions::causal, "each row sees itself and the rows before it alone");
      s.field("bias", &AttentionOptions::bias, "start and tuning of the biases, or false for none");
      s.check([](const AttentionOptions& options, std::string_view path) {
        if (options.size % options.heads == 0) return;
        fail(Code::kUsage, json_path(path, "heads"), ": ", options.heads, " does not divide the size, ",
             options.size);
      });
      return s;
    }();
    return spec;
  }
};

// output [K, E] = heads W_out + b_out, where the heads [K, E] are attended (math/attention.h) by queries, keys and
// values [K, E] each, side by side in input [K, D] W + b.  As torch.nn.MultiheadAttention of one sequence to itself.
template <class T>
class Attention final : public Layer<T> {
 public:
  Attention(const AttentionOptions& options, LayerSetup& setup)
      : size_(options.size), shape_{options.heads, options.size / options.heads, options.causal} {
    require_one_input(setup, "attention");
    setup.join_rows();
    setup.keep_rows();
    const int64_t inputs = setup.inputs().front().cols;
    weight_ = setup.add_matrix({"weight", inputs, 3 * size_, inputs, true, options.weight});
    out_weight_ = setup.add_matrix({"weight_out", size_, size_, size_, true, options.weight});
    if (options.bias.enabled) {
      bias_ = setup.add_matrix({"bias", 1, 3 * size_, /*fan_in=*/0, true, options.bias.parameter});
      out_bias_ = setup.add_matrix({"bias_out", 1, size_, /*fan_in=*/0, true, options.bias.parameter});
    }
    setup.count_pair_work(2 * size_);  // multiply-adds of scores, and of sums of values
    setup.set_output(size_);
  }

  bool runs_on_devices() const override { return true; }

  // Projects the rows to queries, keys and values by one product [K, 3 E], splits these into heads,
  // attends, joins the heads and projects them again.  squares_ has the positions of the weights of each
  // example, which backward uses too.
  void forward(LayerRun<T>& run) override {
    Device& device = run.device();
    rows_ = run.input(0).rows;
    count_squares(run.sequence(0), squares_);
    const Matrix<T> projected = resized(device, projected_, 3 * size_);
    start_with(run, bias_, projected);
    add_product<T>(device, run.input(0), run.value(weight_), projected);
    split_heads<T>(device, projected, shape_.width, resized(device, heads_, 4 * size_).data);
    weights_.resize(device, shape_.heads * squares_.back());
    attend<T>(device, shape_, run.sequence(0), squares_, arrays(heads_, weights_));
    const Matrix<T> joined = resized(device, joined_, size_);
    join_heads<T>(device, arrays(heads_, weights_).outputs, shape_.width, joined);
    start_with(run, out_bias_, run.output());
    add_product<T>(device, joined, run.value(out_weight_), run.output());
  }

  // Takes the steps of forward in reverse: the output weights, the heads, attend_backward, and the weights
  // of the projection.  The memory of projected_ then has the gradients of queries, keys and values, which
  // lie side by side in head_gradients_ as in heads_.
  void backward(LayerRun<T>& run) override {
    Device& device = run.device();
    const Matrix<const T> gradient = run.output_gradient();
    add_bias_gradient(run, out_bias_, gradient);
    add_product_transposed_left<T>(device, {joined_.data(), rows_, size_}, gradient,
                                   run.gradient(out_weight_));
    const Matrix<T> joined = resized(device, joined_gradients_, size_);
    fill_values(device, T(0), joined.size(), joined.data);
    add_product_transposed_right<T>(device, gradient, run.value(out_weight_), joined);
    resized(device, head_gradients_, 4 * size_);
    weight_gradients_.resize(device, weights_.size());
    const AttentionArrays<T> gradients = arrays(head_gradients_, weight_gradients_);
    split_heads<T>(device, joined, shape_.width, gradients.outputs);
    attend_backward<T>(device, shape_, run.sequence(0), squares_, arrays(heads_, weights_), gradients);
    const Matrix<T> projected = resized(device, projected_, 3 * size_);  // the values were copied to heads
    join_heads<T>(device, head_gradients_.data(), shape_.width, projected);
    add_bias_gradient(run, bias_, projected);
    add_product_transposed_left<T>(device, run.input(0), projected, run.gradient(weight_));
    if (const Matrix<T> below = run.input_gradient(0))
      add_product_transposed_right<T>(device, projected, run.value(weight_), below);
  }

 private:
  Matrix<T> resized(Device& device, DeviceBuffer<T>& array, int64_t cols) const {
    array.resize(device, rows_ * cols);
    return {array.data(), rows_, cols};
  }

  // Queries, keys, values and outputs, one after the other.
  AttentionArrays<T> arrays(DeviceBuffer<T>& heads, DeviceBuffer<T>& weights) const {
    const int64_t each = rows_ * size_;
    T* first = heads.data();
    return {first, first + each, first + 2 * each, first + 3 * each, weights.data()};
  }

  void start_with(LayerRun<T>& run, int bias, Matrix<T> sums) const {
    if (bias >= 0) return set_rows<T>(run.device(), run.value(bias).data, sums);
    fill_values(run.device(), T(0), sums.size(), sums.data);
  }

  void add_bias_gradient(LayerRun<T>& run, int bias, Matrix<const T> gradient) const {
    if (bias < 0) return;
    add_column_sums<T>(run.device(), columns(gradient), rows_, nullptr, 0, run.gradient(bias).data);
  }

  const int64_t size_;  // E
  const AttentionShape shape_;
  int weight_, out_weight_, bias_ = -1, out_bias_ = -1;

  int64_t rows_ = 0;                            // K
  std::vector<int64_t> squares_;                // [B + 1]
  DeviceBuffer<T> projected_;                   // [K, 3 E]
  DeviceBuffer<T> heads_, head_gradients_;      // [4, H, K, d]
  DeviceBuffer<T> weights_, weight_gradients_;  // [H, S]
  DeviceBuffer<T> joined_, joined_gradients_;   // [K, E]
};

}  // namespace

extern const LayerEntry kAttentionLayer = layer_entry<AttentionOptions, Attention>(
    "attention", "scaled dot-product attention of the rows of a sequence to each other, in several heads");

}  // namespace ps
