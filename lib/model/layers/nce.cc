// Noise-contrastive estimation: Gutmann & Hyvärinen, AISTATS 2010; for language models Mnih & Teh, ICML 2012.
//
// An example's label t and k negatives n drawn from a known noise distribution q cost
//   -log σ(s(t) - log(k q(t)))  -  sum over n of log σ(-(s(n) - log(k q(n))))
// where s(c) = weight[c] . input + bias[c] is the logarithm of the model's unnormalised probability of c.  A
// negative may be the label.  PaddlePaddle's nce_layer has σ(s) where this, and the papers, have e^s; e^s is
// what makes the model a softmax in the end, and its probabilities comparable.
//
// With a second input, a slot of ids such as those of items, t is the slot's first id in place of the label, and
// the examples of positive label that have an id are the ones that cost anything: with the vector of a user as the
// first input, the rows are the vectors of items, and negatives are sampled from all items.
//
// Tests are exact: -log softmax(s)(t) over all classes, so that e^cost is the perplexity.
#include <cmath>
#include <optional>
#include <vector>

#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/sampled_kernels.h"
#include "math/softmax_over_rows.h"
#include "math/sparse_kernels.h"
#include "model/labels.h"
#include "model/layers/layer_entry.h"
#include "model/layers/noise.h"
#include "model/layers/sampled_rows.h"

namespace ps {

namespace {

struct NceOptions : SampledLayerOptions {
  int64_t num_neg_samples = 10;
  Json noise = "uniform";

  static const ObjectSpec<NceOptions>& spec() {
    static const ObjectSpec<NceOptions> spec = [] {
      ObjectSpec<NceOptions> s;
      s.include(SampledLayerOptions::spec());
      s.field("num_neg_samples", &NceOptions::num_neg_samples, "negative classes drawn for each example")
          .at_least(1)
          .at_most(1 << 16);
      s.field("noise", &NceOptions::noise,
              "what negatives are drawn from: uniform, log_uniform (Zipf's law, classes by falling "
              "frequency) or {\"file\": path}, the weights of the classes, one a line")
          .type = noise_schema;
      s.check([](const NceOptions& nce, std::string_view path) {
        check_noise(nce.noise, json_path(path, "noise"));
      });
      return s;
    }();
    return spec;
  }

  static Json noise_schema() {
    Json file = {
        {"type", "object"}, {"properties", {{"file", {{"type", "string"}}}}}, {"required", {"file"}}};
    return {{"oneOf", Json::array({{{"enum", {"uniform", "log_uniform"}}}, file})}};
  }
};

// With all biases -log C, the unnormalised probabilities of all classes sum to about 1 from the start, and
// classes that no batch has drawn stay unlikely.
NceOptions with_bias_default(NceOptions options) {
  InitOptions& init = options.bias.parameter.init;
  if (init.type == "default") {
    init.type = "constant";
    init.mean = -std::log(static_cast<double>(options.num_classes));
  }
  return options;
}

// Returns the number of the slot whose ids are the classes; nothing if labels are.  Throws kUsage.
std::optional<size_t> find_slot(const LayerSetup& setup, int64_t classes) {
  const std::span<const InputInfo> inputs = setup.inputs();
  if (inputs.size() != 2 || inputs[1].kind != InputKind::kSparseSlot) {
    require_one_input(setup, "nce");
    require_dense_inputs(setup, "nce");
    return std::nullopt;
  }
  if (inputs[0].kind == InputKind::kSparseSlot) require_dense_inputs(setup, "nce");
  const InputInfo& slot = inputs[1];
  if (slot.cols > 0 && slot.cols <= classes) return slot.slot;
  fail(Code::kUsage, "num_classes: found ", classes, ", but the ids of slot ", quote(slot.name),
       ", which are the classes, ",
       slot.cols == 0 ? std::string("have no dim: set that of the slot") : cat("are below ", slot.cols));
}

template <class T>
class Nce final : public Layer<T> {
 public:
  Nce(const NceOptions& options, LayerSetup& setup)
      : classes_(options.num_classes),
        slot_(find_slot(setup, options.num_classes)),
        negatives_(options.num_neg_samples),
        noise_(make_noise(options.noise, options.num_classes)),
        rows_(declare_sampled_rows(setup, "nce", with_bias_default(options), options.num_classes)) {}

  bool is_cost() const override { return true; }
  bool runs_on_devices() const override { return true; }
  void check_label(float label) const override {
    if (!slot_) check_class(label, classes_);
  }

  // In training the label and the negatives of each example; in tests all classes, once, as example 0's.
  void sample_keys(const Batch& batch, bool training, Random random, SampledKeys& out) const override {
    if (!slot_) check_classes(batch.labels, classes_);
    out.offsets.assign(1, 0);
    out.keys.clear();
    for (size_t b = 0; b < batch.labels.size(); ++b) {
      if (training) {
        if (const std::optional<Key> target = target_of(batch, b)) draw_example(*target, random, out.keys);
      } else if (b == 0) {
        for (int64_t c = 0; c < classes_; ++c) out.keys.push_back(static_cast<Key>(c));
      }
      out.offsets.push_back(static_cast<uint32_t>(out.keys.size()));
    }
  }

  // slopes_ has the scores of the drawn classes first; nce_costs puts the derivative of the cost by each
  // score in its place.
  void forward(LayerRun<T>& run) override {
    if (!run.training()) return forward_exact(run);
    const SampledKeys& drawn = run.samples(rows_.weight_use);
    score_samples(run, rows_, slopes_);
    log_noise_of(run.device().host(), drawn.keys, noise_, negatives_, log_noise_);
    nce_costs(run.device(), drawn.offsets, log_noise_, slopes_.data(), run.output().data);
  }

  void backward(LayerRun<T>& run) override { add_sample_gradients<T>(run, rows_, slopes_.data()); }

 private:
  // Returns the class of example b; nothing if the example has no part in the cost.
  std::optional<Key> target_of(const Batch& batch, size_t b) const {
    if (!slot_) return static_cast<Key>(batch.labels[b]);
    const SlotData& ids = batch.slots[*slot_];
    if (!(batch.labels[b] > 0) || ids.offsets[b] == ids.offsets[b + 1]) return std::nullopt;
    const Key id = ids.keys[ids.offsets[b]];
    if (id < static_cast<Key>(classes_)) return id;
    fail(Code::kData, "id ", id, " of example ", b, " is not a class of ", classes_);
  }

  // The label comes first: nce_costs tells it from the negatives by its place.
  void draw_example(Key label, Random& random, std::vector<Key>& keys) const {
    keys.push_back(label);
    for (int64_t i = 0; i < negatives_; ++i) keys.push_back(static_cast<Key>(noise_.draw(random)));
  }

  // In tests the keys of the use are all classes, by class (sample_keys), so that the class c has the row
  // rows[index[c]].  Examples that have no part in the cost are computed for class 0, and their costs are
  // set to 0 then.
  void forward_exact(LayerRun<T>& run) {
    if (run.batch().size() == 0) return;
    const ClassRows<T> weight = by_class(run, rows_.weight_use, rows_.weight);
    const ClassRows<T> bias =
        rows_.bias < 0 ? ClassRows<T>{nullptr, nullptr} : by_class(run, rows_.bias_use, rows_.bias);
    find_targets(run.batch());
    softmax_.costs(run.device(), run.input(0), classes_, weight, bias, targets_.data(), run.output().data);
    for (size_t b = 0; b < targets_.size(); ++b) {
      if (!target_of(run.batch(), b))
        fill_values(run.device(), T(0), 1, run.output().row(static_cast<int64_t>(b)));
    }
  }

  // targets_ [B] <- the classes as labels; 0 for examples that have no part in the cost.
  void find_targets(const Batch& batch) {
    targets_.clear();
    for (size_t b = 0; b < batch.labels.size(); ++b)
      targets_.push_back(static_cast<float>(target_of(batch, b).value_or(0)));
  }

  static ClassRows<T> by_class(LayerRun<T>& run, int use, int parameter) {
    return {run.rows(parameter), view_use(run.device(), run.use(use), nullptr).index};
  }

  const int64_t classes_;
  const std::optional<size_t> slot_;  // the slot of the classes
  const int64_t negatives_;
  const NoiseDistribution noise_;
  const SampledRows rows_;

  // Owner thread; results of the last forward.
  DeviceBuffer<T> slopes_;         // [K]
  std::vector<double> log_noise_;  // [K]
  std::vector<float> targets_;     // [B], of tests
  SoftmaxOverRows<T> softmax_;
};

}  // namespace

extern const LayerEntry kNceLayer =
    layer_entry<NceOptions, Nce>("nce",
                                 "cost of a softmax over many classes, trained by telling the label from a "
                                 "few classes drawn from noise; with a "
                                 "second input, a slot such as the item of two towers, its first id is the "
                                 "class of examples of positive label");

}  // namespace ps
