#include <cmath>
#include <vector>

#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

struct CrossEntropyOptions : CostOptions {
  double label_smoothing = 0;
  std::vector<double> class_weights;

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
      s.field("class_weights", &CrossEntropyOptions::class_weights,
              "a number for each class, which multiplies the cost of its examples, beside their own weights: "
              "more "
              "than 1 for classes that are rare and matter; empty: all are 1");
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
        smoothing_(static_cast<T>(options.label_smoothing)),
        class_weights_(options.class_weights.begin(), options.class_weights.end()) {
    if (input.cols < 2) {
      fail(Code::kUsage, "cross_entropy takes a value for each of two or more classes, found ", input.cols,
           " (binary_cross_entropy takes one)");
    }
    if (input.cols > kMaxClasses) fail(Code::kUsage, "cross_entropy takes at most ", kMaxClasses, " classes");
    if (smoothing_ > 0 && !softmax_) {
      fail(Code::kUsage, "label_smoothing takes an input with activation 'softmax', found ",
           quote(input.activation));
    }
    check_class_weights();
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_classes(batch.labels, scores.cols);
    CostTargets targets = cost_targets(batch);
    // The memory of the costs serves as scratch until they are computed.
    if (!softmax_) check_probabilities(device, scores, targets, costs.data());
    if (!class_weights_.empty()) targets.class_weights = class_weights_.data();
    softmax_ ? softmax_cross_entropy(device, scores, targets, smoothing_, costs.data(), gradient)
             : cross_entropy(device, scores, targets, costs.data(), gradient);
  }

  void check_label(float label) const override { check_class(label, classes_); }

  bool log_losses(Matrix<const T> scores, const Batch& batch, Device& device,
                  std::span<T> losses) const override {
    if (!softmax_) return false;
    softmax_cross_entropy<T>(device, scores, {batch.labels.data(), nullptr}, 0, losses.data(), {});
    return true;
  }

  bool uses_logits() const override { return softmax_; }

 private:
  void check_class_weights() const {
    if (class_weights_.empty()) return;
    if (static_cast<int64_t>(class_weights_.size()) != classes_)
      fail(Code::kUsage, "class_weights has ", class_weights_.size(), " numbers, expected ", classes_);
    for (float weight : class_weights_) {
      if (!(weight >= 0 && std::isfinite(weight)))
        fail(Code::kUsage, "class_weights: ", weight, ", expected numbers of at least 0");
    }
  }

  // Throws at the first batch for a job whose author forgot the softmax.
  static void check_probabilities(Device& device, Matrix<const T> scores, const CostTargets& targets,
                                  T* scratch) {
    const auto found = find_improbable(device, scores, targets, scratch);
    if (!found) return;
    fail(Code::kUsage, "cross_entropy: ", found->value, " for example ", found->example,
         " is not a probability (give the input layer the activation 'softmax')");
  }

  const bool softmax_;
  const int64_t classes_;
  const T smoothing_;
  const std::vector<float> class_weights_;  // by class, or empty
};

}  // namespace

extern const CostEntry kCrossEntropyCost = cost_entry<CrossEntropyOptions, CrossEntropy>(
    "cross_entropy", "-log of the probability of the label's class; exact together with a softmax input");

}  // namespace ps
