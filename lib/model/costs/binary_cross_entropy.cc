#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

struct BinaryOptions : CostOptions {
  double pos_weight = 1;

  static const ObjectSpec<BinaryOptions>& spec() {
    static const ObjectSpec<BinaryOptions> spec = [] {
      ObjectSpec<BinaryOptions> s;
      s.include(CostOptions::spec());
      s.field("pos_weight", &BinaryOptions::pos_weight,
              "multiplies the cost of examples with label 1: more than 1 where they are rare and matter")
          .above(0);
      return s;
    }();
    return spec;
  }
};

// With p = logistic(score): -pos_weight log p for label 1, -log(1 - p) for 0 and -1.
template <class T>
class BinaryCrossEntropy final : public Cost<T> {
 public:
  BinaryCrossEntropy(const BinaryOptions& options, const CostInput& input)
      : sigmoid_(input.activation == "sigmoid"), pos_weight_(static_cast<float>(options.pos_weight)) {
    expect_one_value("binary_cross_entropy", input);
    if (sigmoid_ || input.activation == "linear") return;
    fail(Code::kUsage, "binary_cross_entropy takes an input with activation 'linear' or 'sigmoid', found ",
         quote(input.activation));
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_binary(batch.labels);
    CostTargets targets = cost_targets(batch);
    targets.positive = pos_weight_;
    evaluate_losses(device, LogisticLoss(), scores, targets, costs.data(), gradient.data);
  }

  bool runs_on_devices() const override { return true; }

  void check_label(float label) const override { check_binary(label); }

  void predict(Matrix<const T> output, Device& device, std::span<float> predictions) const override {
    if (sigmoid_) return copy_predictions(device, output, predictions.data());
    logistic_predictions(device, output, predictions.data());
  }

  bool takes_logits() const override { return true; }

 private:
  const bool sigmoid_;  // the input's activation; else linear
  const float pos_weight_;
};

}  // namespace

extern const CostEntry kBinaryCrossEntropyCost = cost_entry<BinaryOptions, BinaryCrossEntropy>(
    "binary_cross_entropy",
    "logistic loss of one logit; labels 1 and 0, or 1 and -1; predicts the probability of 1");

}  // namespace ps
