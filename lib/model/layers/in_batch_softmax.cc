#include "base/hash.h"
#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/gemm.h"
#include "math/interaction_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct InBatchSoftmaxOptions : LayerOptions {
  std::string similarity = "dot";
  double scale = 1;

  static const ObjectSpec<InBatchSoftmaxOptions>& spec() {
    static const ObjectSpec<InBatchSoftmaxOptions> spec = [] {
      ObjectSpec<InBatchSoftmaxOptions> s;
      s.include(LayerOptions::spec());
      s.field("similarity", &InBatchSoftmaxOptions::similarity,
              "of a query and an item: as the layer of this name")
          .one_of({"dot", "cosine"});
      s.field("scale", &InBatchSoftmaxOptions::scale, "multiplies similarities: 10 to 30 for cosine")
          .above(0);
      return s;
    }();
    return spec;
  }
};

// output [B, 1]: for examples of positive label, -log of the softmax, over the items of the batch, of
// scale similarity(query, item) at the example's own item; else 0.  Hidasi et al., "Session-based recommendations with
// recurrent neural networks", ICLR 2016.
template <class T>
class InBatchSoftmax final : public Layer<T> {
 public:
  InBatchSoftmax(const InBatchSoftmaxOptions& options, LayerSetup& setup)
      : cosine_(options.similarity == "cosine"), scale_(static_cast<T>(options.scale)) {
    const std::span<const InputInfo> inputs = setup.inputs();
    numbered_ = inputs.size() == 3;
    if (inputs.size() != 2 && !numbered_)
      fail(Code::kUsage,
           "input: in_batch_softmax takes queries, items and, if need be, the slot with the ids of "
           "items, found ",
           inputs.size(), " inputs");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if ((inputs[i].kind == InputKind::kSparseSlot) == (i == 2)) continue;
      fail(Code::kUsage, "input: in_batch_softmax takes ",
           i == 2 ? "a sparse slot" : "layers and dense slots", " as number ", i + 1, ", found ",
           quote(inputs[i].name));
    }
    width_ = inputs[0].cols;
    if (inputs[1].cols != width_) {
      fail(Code::kUsage, "input: in_batch_softmax takes queries and items of one width, found ", width_,
           " and ", inputs[1].cols);
    }
    setup.set_output(1);
  }

  bool is_cost() const override { return true; }
  bool runs_on_devices() const override { return true; }

  // scores [B, B] = queries itemsᵀ, in probabilities_: score (b, j) is that of query b and item j, and
  // in_batch_softmax turns each row into probabilities in place.
  void forward(LayerRun<T>& run) override {
    Device& device = run.device();
    examples_ = run.output().rows;
    zeros(device, examples_ * examples_, probabilities_);
    scale_queries(run);
    add_product_transposed_right<T>(device, matrix(queries_), items(run), scores());
    if (numbered_) number_items(run.slot(2));
    in_batch_softmax<T>(device, scores(), run.batch().labels.data(), numbered_ ? numbers_.data() : nullptr,
                        run.output().data);
  }

  // With dS [B, B] the gradients of the scores and s the scale, scores = (s queries) itemsᵀ: the gradient
  // of the queries is s dS items, and that of the items dSᵀ (s queries), in which queries_ has the scale
  // already.
  void backward(LayerRun<T>& run) override {
    Device& device = run.device();
    in_batch_gradients<T>(device, scores(), run.batch().labels.data(), run.output_gradient().data);
    zeros(device, size(), gradients_);
    add_product<T>(device, scores(), items(run), matrix(gradients_));
    zeros(device, size(), scaled_);
    add_scaled_values(device, scale_, gradients_.data(), size(), scaled_.data());
    add_gradient(run, 0, scaled_);
    zeros(device, size(), gradients_);
    add_product_transposed_left<T>(device, scores(), matrix(queries_), matrix(gradients_));
    add_gradient(run, 1, gradients_);
  }

 private:
  static void zeros(Device& device, int64_t size, DeviceBuffer<T>& values) {
    values.resize(device, size);
    fill_values(device, T(0), size, values.data());
  }

  int64_t size() const { return examples_ * width_; }
  Matrix<T> matrix(DeviceBuffer<T>& values) const { return {values.data(), examples_, width_}; }
  Matrix<T> scores() { return {probabilities_.data(), examples_, examples_}; }
  Matrix<const T> items(LayerRun<T>& run) { return cosine_ ? matrix(units_[1]) : run.input(1); }

  // queries_ <- scale x the queries; if the similarity is the cosine, scale x the queries of length 1.
  void scale_queries(LayerRun<T>& run) {
    for (int i = 0; cosine_ && i < 2; ++i) {
      units_[i].resize(run.device(), size());
      scale_to_unit<T>(run.device(), run.input(i), units_[i].data());
    }
    const T* queries = cosine_ ? units_[0].data() : run.input(0).data;
    zeros(run.device(), size(), queries_);
    add_scaled_values(run.device(), scale_, queries, size(), queries_.data());
  }

  // Adds the gradient of an input, given the gradient of its rows in the product of similarities.
  void add_gradient(LayerRun<T>& run, int input, const DeviceBuffer<T>& gradient) {
    const Matrix<T> below = run.input_gradient(input);
    if (!below) return;
    if (cosine_) {
      add_unit_gradients<T>(run.device(), run.input(input), units_[input].data(), gradient.data(), below);
    } else {
      add_scaled_values(run.device(), T(1), gradient.data(), size(), below.data);
    }
  }

  // Numbers the items of the batch.  Items with the same ids get the same number.
  void number_items(const SlotData& slot) {
    numbers_.clear();
    for (size_t b = 0; b + 1 < slot.offsets.size(); ++b) {
      const Key* keys = slot.keys.data() + slot.offsets[b];
      const size_t bytes = (slot.offsets[b + 1] - slot.offsets[b]) * sizeof(Key);
      numbers_.push_back(bytes > 0 ? hash_bytes({reinterpret_cast<const char*>(keys), bytes}) : 0);
    }
  }

  const bool cosine_;
  bool numbered_;
  const T scale_;
  int64_t width_;                       // D
  int64_t examples_ = 0;                // B
  std::vector<uint64_t> numbers_;       // [B]
  DeviceBuffer<T> probabilities_;       // [B, B]: scores, probabilities, then gradients of the scores
  DeviceBuffer<T> units_[2], queries_;  // [B, D]
  DeviceBuffer<T> gradients_, scaled_;  // [B, D]
};

}  // namespace

extern const LayerEntry kInBatchSoftmaxLayer = layer_entry<InBatchSoftmaxOptions, InBatchSoftmax>(
    "in_batch_softmax",
    "cost of two towers, queries and items: each example of positive label shall choose its own item among "
    "those of the batch; a third input, a slot, tells which items are the same");

}  // namespace ps
