#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

// -log p of the label's class, with p = softmax(scores) when the input's activation is softmax, else p =
// scores.
template <class T>
class CrossEntropy final : public Cost<T> {
 public:
  CrossEntropy(const CostOptions&, const CostInput& input)
      : softmax_(input.activation == "softmax"), classes_(input.cols) {
    if (input.cols < 2) {
      fail(Code::kUsage, "cross_entropy takes a value for each of two or more classes, found ", input.cols,
           " (binary_cross_entropy takes one)");
    }
    if (input.cols > kMaxClasses) fail(Code::kUsage, "cross_entropy takes at most ", kMaxClasses, " classes");
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_classes(batch.labels, scores.cols);
    if (!softmax_) check_probabilities(device, scores, batch);
    const CostTargets targets = cost_targets(batch);
    softmax_ ? softmax_cross_entropy(device, scores, targets, costs.data(), gradient)
             : cross_entropy(device, scores, targets, costs.data(), gradient);
  }

  void check_label(float label) const override { check_class(label, classes_); }

  bool takes_logits() const override { return softmax_; }

  // The processor looks for what is no probability.
  bool runs_on_devices() const override { return softmax_; }

 private:
  // Reports, at the first batch, a job whose author forgot the softmax.
  static void check_probabilities(Device& device, Matrix<const T> scores, const Batch& batch) {
    const int64_t b = find_improbable(device, scores, cost_targets(batch));
    if (b < 0) return;
    fail(Code::kUsage,
         "cross_entropy: ", scores.row(b)[static_cast<int64_t>(batch.labels[static_cast<size_t>(b)])],
         " for example ", b, " is not a probability (give the input layer the activation 'softmax')");
  }

  const bool softmax_;
  const int64_t classes_;
};

}  // namespace

extern const CostEntry kCrossEntropyCost = cost_entry<CostOptions, CrossEntropy>(
    "cross_entropy", "-log of the probability of the label's class; exact together with a softmax input");

}  // namespace ps
