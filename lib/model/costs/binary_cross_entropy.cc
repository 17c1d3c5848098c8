#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

// With p = logistic(score): -log p for label 1, -log(1 - p) for 0 and -1.
template <class T>
class BinaryCrossEntropy final : public Cost<T> {
 public:
  BinaryCrossEntropy(const CostOptions&, const CostInput& input) : sigmoid_(input.activation == "sigmoid") {
    expect_one_value("binary_cross_entropy", input);
    if (sigmoid_ || input.activation == "linear") return;
    fail(Code::kUsage, "binary_cross_entropy takes an input with activation 'linear' or 'sigmoid', found ",
         quote(input.activation));
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_binary(batch.labels);
    evaluate_losses(device, LogisticLoss(), scores, cost_targets(batch), costs.data(), gradient.data);
  }

  void check_label(float label) const override { check_binary(label); }

  void predict(Matrix<const T> output, Device& device, std::span<float> predictions) const override {
    if (sigmoid_) return copy_predictions(device, output, predictions.data());
    logistic_predictions(device, output, predictions.data());
  }

  bool takes_logits() const override { return true; }

 private:
  const bool sigmoid_;  // the input's activation; else linear
};

}  // namespace

extern const CostEntry kBinaryCrossEntropyCost = cost_entry<CostOptions, BinaryCrossEntropy>(
    "binary_cross_entropy",
    "logistic loss of one logit; labels 1 and 0, or 1 and -1; predicts the probability of 1");

}  // namespace ps
