#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

struct CrossEntropyOptions : CostOptions {
  double label_smoothing = 0;

  static const ObjectSpec<CrossEntropyOptions>& spec() {
    static const ObjectSpec<CrossEntropyOptions> spec = [] {
      ObjectSpec<CrossEntropyOptions> s;
      s.include(CostOptions::spec());
      s.field(
           "label_smoothing", &CrossEntropyOptions::label_smoothing,
           "of a softmax input: part of the target that all classes share alike, so that no probability is "
           "driven to 0; also in the costs of tests")
          .at_least(0)
          .at_most(1);
      return s;
    }();
    return spec;
  }
};

// -log p of the label's class, with p = softmax(scores) when the input's activation is softmax, else p =
// scores.
template <class T>
class CrossEntropy final : public Cost<T> {
 public:
  CrossEntropy(const CrossEntropyOptions& options, const CostInput& input)
      : softmax_(input.activation == "softmax"),
        classes_(input.cols),
        smoothing_(static_cast<T>(options.label_smoothing)) {
    if (input.cols < 2) {
      fail(Code::kUsage, "cross_entropy takes a value for each of two or more classes, found ", input.cols,
           " (binary_cross_entropy takes one)");
    }
    if (input.cols > kMaxClasses) fail(Code::kUsage, "cross_entropy takes at most ", kMaxClasses, " classes");
    if (smoothing_ > 0 && !softmax_) {
      fail(Code::kUsage, "label_smoothing takes an input with activation 'softmax', found ",
           quote(input.activation));
    }
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_classes(batch.labels, scores.cols);
    if (!softmax_) check_probabilities(device, scores, batch);
    const CostTargets targets = cost_targets(batch);
    softmax_ ? softmax_cross_entropy(device, scores, targets, smoothing_, costs.data(), gradient)
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
  const T smoothing_;
};

}  // namespace

extern const CostEntry kCrossEntropyCost = cost_entry<CrossEntropyOptions, CrossEntropy>(
    "cross_entropy", "-log of the probability of the label's class; exact together with a softmax input");

}  // namespace ps
