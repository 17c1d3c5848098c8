#include <string>

#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/gemm.h"
#include "math/sequences.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct SequencePoolOptions : WeightedLayerOptions {
  std::string pooling = "mean";

  static const ObjectSpec<SequencePoolOptions>& spec() {
    static const ObjectSpec<SequencePoolOptions> spec = [] {
      ObjectSpec<SequencePoolOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field(
           "pooling", &SequencePoolOptions::pooling,
           "the sum or mean of the rows; the largest value of each column; or a mean whose weights, a "
           "softmax "
           "over the rows, are learned: of the products of a learned query with the rows, or with those of a "
           "second input")
          .one_of({"sum", "mean", "max", "attention"});
      s.check([](const SequencePoolOptions& options, std::string_view path) {
        const Json standard = ParameterOptions::spec().to_json({});
        const bool set =
            ParameterOptions::spec().to_json(options.weight) != standard || !options.share_with.empty();
        if (options.pooling == "attention" || !set) return;
        fail(Code::kUsage, json_path(path, options.share_with.empty() ? "weight" : "share_with"),
             ": only pooling 'attention' has weights");
      });
      return s;
    }();
    return spec;
  }
};

// output [B, D] = sum over an example's rows x_k [D] of a_k x_k, with a_k = 1, 1 / their number, or the softmax of
// q . y_k, where y_k is x_k, or the row of a second input; or the largest value of each column.  Examples without
// rows give zeros.  With y = tanh(W x + b), an fc layer, this is the attention of Bahdanau et al., ICLR 2015, and
// Yang et al., "Hierarchical attention networks", NAACL 2016, equations 5 to 7.
template <class T>
class SequencePool final : public Layer<T> {
 public:
  SequencePool(const SequencePoolOptions& options, LayerSetup& setup) : pooling_(options.pooling) {
    setup.join_rows();
    for (const InputInfo& input : setup.inputs()) {
      if (input.sequence == setup.inputs().front().sequence) continue;
      fail(Code::kUsage, "input: ", quote(input.name), " has the ids of another slot than ",
           quote(setup.inputs().front().name));
    }
    if (pooling_ != "attention") require_one_input(setup, "sequence_pool");
    if (setup.inputs().size() > 2)
      fail(Code::kUsage, "input: sequence_pool takes one or two inputs, found ", setup.inputs().size());
    scored_ = static_cast<int>(setup.inputs().size()) - 1;
    if (pooling_ == "attention") {
      const int64_t inputs = setup.inputs().back().cols;
      query_ = setup.add_matrix({"weight", inputs, 1, inputs, true, options.weight});
    }
    setup.set_output(setup.inputs().front().cols);
  }

  bool runs_on_devices() const override { return true; }

  // weights_ [K] <- the a_k: equal ones, or the softmax, within each example, of the products of the query
  // with the rows of input number scored_.  The output is the sum of the rows of input 0 by these weights.
  void forward(LayerRun<T>& run) override {
    const std::span<const uint32_t> offsets = run.sequence(0);
    if (pooling_ == "max") {
      argmax_.resize(run.device(), run.output().size());
      return copy_largest<T>(run.device(), offsets, run.input(0), run.output(), argmax_.data());
    }
    weights_.resize(run.device(), run.input(0).rows);
    if (query_ < 0) {
      set_equal_weights(run.device(), offsets, pooling_ == "mean", weights_.data());
    } else {
      fill_values(run.device(), T(0), run.input(0).rows, weights_.data());
      add_product<T>(run.device(), run.input(scored_), run.value(query_), column(weights_));
      softmax_of_sequences(run.device(), offsets, weights_.data());
    }
    sum_weighted_rows<T>(run.device(), offsets, weights_.data(), run.input(0), run.output());
  }

  // The weights have gradients only if they come from the query: these go back through the softmax to the
  // scores, in place, and from there to the query and to the scored input, which may be input 0 itself and
  // then gets both parts.
  void backward(LayerRun<T>& run) override {
    const std::span<const uint32_t> offsets = run.sequence(0);
    const Matrix<T> below = run.input_gradient(0);
    if (pooling_ == "max") {
      if (below)
        add_largest_gradients<T>(run.device(), offsets, run.output_gradient(), argmax_.data(), below);
      return;
    }
    weight_gradients_.resize(run.device(), weights_.size());
    add_weighted_gradients<T>(run.device(), offsets, weights_.data(), run.input(0), run.output_gradient(),
                              query_ < 0 ? nullptr : weight_gradients_.data(), below);
    if (query_ < 0) return;
    softmax_of_sequences_backward<T>(run.device(), offsets, weights_.data(), weight_gradients_.data());
    add_product_transposed_left<T>(run.device(), run.input(scored_), column(weight_gradients_),
                                   run.gradient(query_));
    if (const Matrix<T> scored = run.input_gradient(scored_))
      add_product_transposed_right<T>(run.device(), column(weight_gradients_), run.value(query_), scored);
  }

 private:
  static Matrix<T> column(DeviceBuffer<T>& values) { return {values.data(), values.size(), 1}; }

  const std::string pooling_;
  int scored_;                                  // the input that scores are computed of
  int query_ = -1;                              // [D, 1]
  DeviceBuffer<uint32_t> argmax_;               // [B, D]
  DeviceBuffer<T> weights_, weight_gradients_;  // [K]
};

}  // namespace

extern const LayerEntry kSequencePoolLayer = layer_entry<SequencePoolOptions, SequencePool>(
    "sequence_pool",
    "one row an example of the rows of a sequence: their sum, mean, largest values or attended mean");

}  // namespace ps
