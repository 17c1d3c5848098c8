// Evaluators that are means or sums over the examples.
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/example_sums.h"

namespace ps {

namespace {

// A measure that is computed from the sum of weight x term over the examples and the sum of the weights.
template <class Term>
class MeanEvaluator : public SumEvaluator<MeanRule<Term>> {
 public:
  MeanEvaluator(std::string name, const Term& term)
      : SumEvaluator<MeanRule<Term>>(std::move(name), MeanRule<Term>{term}, 2) {}

  std::vector<std::pair<std::string, double>> values() const override {
    const double weight = this->sum(1);
    return {{this->name(), weight > 0 ? value(this->sum(0), weight) : std::nan("")}};
  }

  void load(ByteReader& in) override {
    const CompensatedSum total = load_sum(in);
    this->sums().replace({total, load_weight(in)});
  }

 private:
  // Returns the measure; the mean unless overridden.
  virtual double value(double total, double weight) const { return total / weight; }
};

class ClassificationError final : public MeanEvaluator<DecisionTerm> {
 public:
  ClassificationError(const ThresholdOptions& options, int64_t)
      : MeanEvaluator("classification_error", {options.threshold, true}) {}
};

class Accuracy final : public MeanEvaluator<DecisionTerm> {
 public:
  Accuracy(const ThresholdOptions& options, int64_t)
      : MeanEvaluator("accuracy", {options.threshold, false}) {}
};

// The mean of -log of the probability given to the label's class.  It is computed from the logits if the model
// has them, else from the probabilities.
class LogLoss final : public MeanEvaluator<LogLossTerm> {
 public:
  LogLoss(const NoEvaluatorOptions&, int64_t) : MeanEvaluator("log_loss", {}) {}

  bool wants_log_losses() const override { return true; }
  void add_log_losses(std::span<const float> losses, const Batch& batch) override {
    const Matrix<const float> none{nullptr, std::ssize(losses), 0};
    sums().add(MeanRule<GivenTerm>{{losses.data()}}, examples_here(none, batch), none.rows);
  }
  void add_there(Device& device, const ExamplesThere& there, const Batch& batch) override {
    if (there.log_losses == nullptr) return MeanEvaluator::add_there(device, there, batch);
    sums().add_there(device, MeanRule<GivenTerm>{{there.log_losses}}, there.examples, there.size);
  }

  // Losses are then sums over the classes.
  bool use_label_sets(size_t) override { return true; }
};

class Rmse final : public MeanEvaluator<SquaredErrorTerm> {
 public:
  Rmse(const NoEvaluatorOptions&, int64_t cols) : MeanEvaluator("rmse", {}) {
    if (cols != 1) fail(Code::kUsage, "rmse takes one prediction per example, found ", cols);
  }

 private:
  double value(double total, double weight) const override { return std::sqrt(total / weight); }
};

class MeanAbsoluteError final : public MeanEvaluator<AbsoluteErrorTerm> {
 public:
  MeanAbsoluteError(const NoEvaluatorOptions&, int64_t cols) : MeanEvaluator("mae", {}) {
    if (cols != 1) fail(Code::kUsage, "mae takes one prediction per example, found ", cols);
  }
};

class BrierScore final : public MeanEvaluator<BrierTerm> {
 public:
  BrierScore(const NoEvaluatorOptions&, int64_t) : MeanEvaluator("brier_score", {}) {}
};

class SumOfPredictions final : public MeanEvaluator<PredictionSumTerm> {
 public:
  SumOfPredictions(const NoEvaluatorOptions&, int64_t) : MeanEvaluator("sum", {}) {}

  bool use_label_sets(size_t) override { return true; }

 private:
  double value(double total, double) const override { return total; }
};

}  // namespace

extern const EvaluatorEntry kClassificationErrorEvaluator =
    evaluator_entry<ThresholdOptions, ClassificationError>(
        "classification_error", "share of examples whose class is not the one predicted");

extern const EvaluatorEntry kAccuracyEvaluator = evaluator_entry<ThresholdOptions, Accuracy>(
    "accuracy", "share of examples whose class is the one predicted");

extern const EvaluatorEntry kLogLossEvaluator = evaluator_entry<NoEvaluatorOptions, LogLoss>(
    "log_loss",
    "mean of -log of the probability given to the example's class: from the logits where the cost takes a "
    "sigmoid or softmax with its input, so that probabilities that round to 0 or 1 count in full");

extern const EvaluatorEntry kRmseEvaluator = evaluator_entry<NoEvaluatorOptions, Rmse>(
    "rmse", "root of the mean squared difference of prediction and label");

extern const EvaluatorEntry kMeanAbsoluteErrorEvaluator =
    evaluator_entry<NoEvaluatorOptions, MeanAbsoluteError>(
        "mae", "mean of the absolute difference of prediction and label");

extern const EvaluatorEntry kBrierScoreEvaluator = evaluator_entry<NoEvaluatorOptions, BrierScore>(
    "brier_score",
    "mean squared difference of the probability of class 1 and the label; of more than two classes, the sum "
    "over them");

extern const EvaluatorEntry kSumEvaluator =
    evaluator_entry<NoEvaluatorOptions, SumOfPredictions>("sum", "weighted sum of all predictions");

}  // namespace ps
