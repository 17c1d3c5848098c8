#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

struct MultiLabelOptions : CostOptions {
  std::string labels = "labels";
  double pos_weight = 1;

  static const ObjectSpec<MultiLabelOptions>& spec() {
    static const ObjectSpec<MultiLabelOptions> spec = [] {
      ObjectSpec<MultiLabelOptions> s;
      s.include(CostOptions::spec());
      s.field("labels", &MultiLabelOptions::labels,
              "sparse slot whose ids are the classes of an example, which no layer reads then; 'labels' is "
              "the one of "
              "data.multi_label");
      s.field("pos_weight", &MultiLabelOptions::pos_weight,
              "multiplies the cost of the classes that an example has: more than 1 where it has few of many")
          .above(0);
      return s;
    }();
    return spec;
  }
};

size_t find_label_slot(const MultiLabelOptions& options, const CostInput& input) {
  const int found = input.schema.find(options.labels);
  if (found < 0) {
    fail(Code::kUsage, "labels: the data have no slot ", quote(options.labels),
         " (data.multi_label makes one of the labels of each example)");
  }
  const SlotSchema& slot = input.schema.slots[static_cast<size_t>(found)];
  if (slot.dense) fail(Code::kUsage, "labels: slot ", quote(slot.name), " is dense, expected ids");
  if (slot.dim > input.cols) {
    fail(Code::kUsage, "labels: ids of slot ", quote(slot.name), " are below ", slot.dim,
         ", and the input has ", input.cols, " values, one for each class");
  }
  return static_cast<size_t>(found);
}

// The sum over the classes of a logistic loss, with label 1 for the classes that the example has: Zhang and
// Zhou, "Multilabel neural networks with applications to functional genomics and text categorization", TKDE
// 2006, with the loss of Nam et al., "Large-scale multi-label text classification: revisiting neural networks",
// ECML 2014.
template <class T>
class MultiLabelCrossEntropy final : public Cost<T> {
 public:
  MultiLabelCrossEntropy(const MultiLabelOptions& options, const CostInput& input)
      : classes_(input.cols),
        slot_(find_label_slot(options, input)),
        positive_(static_cast<T>(options.pos_weight)),
        sigmoid_(input.activation == "sigmoid") {
    expect_no_label("multi_label_cross_entropy", options);
    if (classes_ > kMaxClasses)
      fail(Code::kUsage, "multi_label_cross_entropy takes at most ", kMaxClasses, " classes");
    if (sigmoid_ || input.activation == "linear") return;
    fail(Code::kUsage,
         "multi_label_cross_entropy takes an input with activation 'linear' or 'sigmoid', found ",
         quote(input.activation));
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    const SlotData& labels = batch.slots[slot_];
    check_label_sets(labels.offsets, labels.keys, classes_);
    const float* weights = batch.weights.empty() ? nullptr : batch.weights.data();
    label_set_costs(device, scores, {labels.offsets.data(), labels.keys.data()}, std::ssize(labels.keys),
                    weights, positive_, costs.data(), gradient);
  }

  bool log_losses(Matrix<const T> scores, const Batch& batch, Device& device,
                  std::span<T> losses) const override {
    const SlotData& labels = batch.slots[slot_];
    label_set_costs<T>(device, scores, {labels.offsets.data(), labels.keys.data()}, std::ssize(labels.keys),
                       nullptr, 1, losses.data(), {});
    return true;
  }

  std::optional<size_t> label_slot() const override { return slot_; }

  void check_label(float label) const override { check_class(label, classes_); }

  void predict(Matrix<const T> output, Device& device, std::span<float> predictions) const override {
    if (sigmoid_) return copy_predictions(device, output, predictions.data());
    logistic_predictions(device, output, predictions.data());
  }

  bool uses_logits() const override { return true; }

 private:
  const int64_t classes_;
  const size_t slot_;
  const T positive_;
  const bool sigmoid_;  // the input's activation; else linear
};

}  // namespace

extern const CostEntry kMultiLabelCrossEntropyCost = cost_entry<MultiLabelOptions, MultiLabelCrossEntropy>(
    "multi_label_cross_entropy",
    "examples have any number of classes: the sum of a logistic loss for each class, of whether the example "
    "has it; "
    "predicts the probability of each class");

}  // namespace ps
