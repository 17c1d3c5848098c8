#include <string>
#include <type_traits>
#include <vector>

#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/gemm.h"
#include "math/sparse_kernels.h"
#include "model/layers/layer_entry.h"
#include "model/split_product.h"

namespace ps {

namespace {

struct FcOptions : WeightedLayerOptions {
  int64_t size = 0;
  bool sparse_update = false;
  std::string parallel = "data";
  BiasOptions bias;

  static const ObjectSpec<FcOptions>& spec() {
    static const ObjectSpec<FcOptions> spec = [] {
      ObjectSpec<FcOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field("size", &FcOptions::size,
              "values per example of the output; auto: the number of classes that labels have")
          .must()
          .at_least(1)
          .or_auto();
      s.field("sparse_update", &FcOptions::sparse_update,
              "weights of sparse slots live in a table: only rows of ids that occur are stored and updated");
      s.field("parallel", &FcOptions::parallel,
              "model: the columns of the weights are divided over the trainers of strategy all_reduce, which "
              "exchange the layer's inputs and outputs, and no gradients of these weights")
          .one_of({"data", "model"});
      s.field("bias", &FcOptions::bias, "start and tuning of the bias, or false for none");
      return s;
    }();
    return spec;
  }
};

// output [B, size] = sum over inputs of x W, + bias.  x is dense [B, cols], or the sparse matrix of a slot,
// whose ids choose rows of W and whose values multiply them.  With parallel "model" the products are those
// of SplitProduct.
template <class T>
class Fc final : public Layer<T> {
 public:
  Fc(const FcOptions& options, LayerSetup& setup) : divided_(options.parallel == "model") {
    bool any_sparse = false;
    for (size_t i = 0; i < setup.inputs().size(); ++i) {
      any_sparse |= setup.inputs()[i].kind == InputKind::kSparseSlot;
      add_input(options, static_cast<int>(i), setup);
    }
    if (options.sparse_update && !any_sparse) {
      fail(Code::kUsage, "sparse_update: no input is a sparse slot, whose rows could be updated sparsely");
    }
    if (options.weight.row_policy && !any_sparse) {
      fail(Code::kUsage, "weight.rows: no input is a sparse slot, whose rows could come and go");
    }
    if (divided_ && any_sparse) {
      fail(Code::kUsage,
           "parallel: \"model\" divides matrices over trainers, but an input is a sparse slot, of whose "
           "weights a batch uses some rows alone");
    }
    if (options.bias.enabled) {
      bias_ = setup.add_matrix({"bias", 1, options.size, /*fan_in=*/0, true, options.bias.parameter});
    }
    setup.keep_rows();
    setup.set_output(options.size);
  }

  // Divided products are exchanged between the memories of hosts.
  bool runs_on_devices() const override { return !divided_; }

  void forward(LayerRun<T>& run) override {
    if (bias_ >= 0) {
      set_rows<T>(run.device(), run.value(bias_).data, run.output());
    } else {
      fill_values(run.device(), T(0), run.output().size(), run.output().data);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      int number = static_cast<int>(i);
      if (input.use >= 0) {
        add_bags<T>(run.device(), run.use(input.use), id_values(run.slot(number)), run.rows(input.weight),
                    columns(run.output()));
      } else {
        forward_matrix(run, number);
      }
    }
  }

  void backward(LayerRun<T>& run) override {
    Matrix<const T> gradient = run.output_gradient();
    if (bias_ >= 0) {
      add_column_sums<T>(run.device(), columns(gradient), gradient.rows, nullptr, 0,
                         run.gradient(bias_).data);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) backward_input(run, static_cast<int>(i), gradient);
  }

  bool is_divided() const override { return divided_; }

 private:
  struct Input {
    int weight;
    int use = -1;           // number of the use of a sparse slot
    bool of_layer = false;  // false: its gradient is not needed
    SplitProduct product = {};
  };

  // A single input has the parameter "weight", several have "weight0", "weight1", ….  A sparse slot has
  // rows by id; if the output is narrow, its use is not transposed, see scatters_gradients.  Any other
  // input has a matrix, whose columns may be divided.
  void add_input(const FcOptions& options, int number, LayerSetup& setup) {
    const InputInfo& info = setup.inputs()[static_cast<size_t>(number)];
    std::string suffix = setup.inputs().size() == 1 ? "weight" : cat("weight", number);
    // Without a dim the fan-in is not known, and "default" is the plain normal distribution.
    LayerSetup::Request request{suffix, info.cols, options.size, info.cols, info.cols > 0, options.weight};
    if (info.kind == InputKind::kSparseSlot) {
      int weight = setup.add_rows(request, options.sparse_update);
      inputs_.push_back({weight, setup.use_input(weight, number, !scatters_gradients(options.size))});
    } else {
      request.options.row_policy.reset();  // the row policy belongs to the weights of sparse slots
      request.of_input = number;
      request.split = divided_;
      inputs_.push_back({.weight = setup.add_matrix(request), .of_layer = info.kind == InputKind::kLayer});
    }
  }

  void forward_matrix(LayerRun<T>& run, int number) {
    Input& input = inputs_[static_cast<size_t>(number)];
    const Matrix<const T> weight = run.value(input.weight);
    if constexpr (std::is_same_v<T, float>) {
      if (divided_ && run.trainers() != nullptr)
        return input.product.forward(*run.trainers(), {run.device(), run.product_device()}, run.input(number),
                                     weight, run.output());
    }
    add_product<T>(run.device(), run.input(number), weight, run.output());
  }

  // gradient [B, size] is that of the output.  The weights get xᵀ gradient, or the sums by key of a sparse
  // slot; the layer below gets gradient Wᵀ, if it wants a gradient.  With divided weights, all trainers
  // exchange the gradient of a layer below even if one of them drops it.
  void backward_input(LayerRun<T>& run, int number, Matrix<const T> gradient) {
    Input& input = inputs_[static_cast<size_t>(number)];
    if (input.use >= 0) {
      add_bag_gradients<T>(run.device(), run.use(input.use), id_values(run.slot(number)), columns(gradient),
                           run.row_gradients(input.weight));
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      if (divided_ && run.trainers() != nullptr) {
        return input.product.backward(*run.trainers(), {run.device(), run.product_device()}, gradient,
                                      run.gradient(input.weight), input.of_layer, run.input_gradient(number));
      }
    }
    add_product_transposed_left<T>(run.device(), run.input(number), gradient, run.gradient(input.weight));
    if (Matrix<T> below = run.input_gradient(number)) {
      add_product_transposed_right<T>(run.device(), gradient, run.value(input.weight), below);
    }
  }

  const bool divided_;
  std::vector<Input> inputs_;
  int bias_ = -1;
};

}  // namespace

extern const LayerEntry kFcLayer =
    layer_entry<FcOptions, Fc>("fc",
                               "fully connected: the sum over inputs (layers, dense slots, sparse slots) of "
                               "input times weights, plus a bias");

}  // namespace ps
