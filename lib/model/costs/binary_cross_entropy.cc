#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

struct BinaryOptions : CostOptions {
  double pos_weight = 1, label_smoothing = 0;

  static const ObjectSpec<BinaryOptions>& spec() {
    static const ObjectSpec<BinaryOptions> spec = [] {
      ObjectSpec<BinaryOptions> s;
      s.include(CostOptions::spec());
      s.field("pos_weight", &BinaryOptions::pos_weight,
              "multiplies the cost of examples with label 1: more than 1 where they are rare and matter")
          .above(0);
      s.field("label_smoothing", &BinaryOptions::label_smoothing,
              "labels are so far from 0 and 1 as half of it, so that no probability is driven to either; "
              "also in the costs of tests")
          .at_least(0)
          .at_most(1);
      return s;
    }();
    return spec;
  }
};

// A cost of two classes that takes one logit, before a sigmoid too, and predicts the probability of label 1.
template <class T>
class LogitCost : public Cost<T> {
 public:
  void check_label(float label) const override { check_binary(label); }

  void predict(Matrix<const T> output, Device& device, std::span<float> predictions) const override {
    if (sigmoid_) return copy_predictions(device, output, predictions.data());
    logistic_predictions(device, output, predictions.data());
  }

  bool predicts_probability() const override { return true; }

  bool uses_logits() const override { return true; }

  bool log_losses(Matrix<const T> scores, const Batch& batch, Device& device,
                  std::span<T> losses) const override {
    evaluate_losses<T>(device, LogisticLoss(), scores, {batch.labels.data(), nullptr}, losses.data(),
                       nullptr);
    return true;
  }

 protected:
  LogitCost(std::string_view cost, const CostInput& input) : sigmoid_(input.activation == "sigmoid") {
    expect_one_value(cost, input);
    if (sigmoid_ || input.activation == "linear") return;
    fail(Code::kUsage, cost, " takes an input with activation 'linear' or 'sigmoid', found ",
         quote(input.activation));
  }

 private:
  const bool sigmoid_;  // the input's activation; else linear
};

// With p = logistic(score): -pos_weight log p for label 1, -log(1 - p) for 0 and -1.
template <class T>
class BinaryCrossEntropy final : public LogitCost<T> {
 public:
  BinaryCrossEntropy(const BinaryOptions& options, const CostInput& input)
      : LogitCost<T>("binary_cross_entropy", input),
        pos_weight_(static_cast<float>(options.pos_weight)),
        smoothing_(options.label_smoothing) {}

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_binary(batch.labels);
    CostTargets targets = cost_targets(batch);
    targets.positive = pos_weight_;
    if (smoothing_ == 0) {
      evaluate_losses(device, LogisticLoss(), scores, targets, costs.data(), gradient.data);
    } else {
      evaluate_losses(device, SmoothedLogisticLoss{smoothing_}, scores, targets, costs.data(), gradient.data);
    }
  }

 private:
  const float pos_weight_;
  const double smoothing_;
};

struct FocalOptions : CostOptions {
  double gamma = 2, alpha = 0.25;

  static const ObjectSpec<FocalOptions>& spec() {
    static const ObjectSpec<FocalOptions> spec = [] {
      ObjectSpec<FocalOptions> s;
      s.include(CostOptions::spec());
      s.field("gamma", &FocalOptions::gamma,
              "how much less examples count that are right already: their cost is multiplied by (1 - "
              "probability of the label)^gamma")
          .at_least(0);
      s.field("alpha", &FocalOptions::alpha, "multiplies the cost of label 1, and 1 - alpha that of others")
          .above(0)
          .at_most(1);
      return s;
    }();
    return spec;
  }
};

template <class T>
class Focal final : public LogitCost<T> {
 public:
  Focal(const FocalOptions& options, const CostInput& input)
      : LogitCost<T>("focal", input), loss_{options.gamma, options.alpha} {}

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_binary(batch.labels);
    evaluate_losses(device, loss_, scores, cost_targets(batch), costs.data(), gradient.data);
  }

 private:
  const FocalLoss loss_;
};

}  // namespace

extern const CostEntry kBinaryCrossEntropyCost = cost_entry<BinaryOptions, BinaryCrossEntropy>(
    "binary_cross_entropy",
    "logistic loss of one logit; labels 1 and 0, or 1 and -1; predicts the probability of 1");

extern const CostEntry kFocalCost =
    cost_entry<FocalOptions, Focal>("focal",
                                    "binary_cross_entropy in which examples that are right already count "
                                    "less: for classes of which one is rare");

}  // namespace ps
