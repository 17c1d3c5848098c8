// Evaluators that are means or sums over the examples.
#include <algorithm>
#include <cmath>

#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/weighted_mean.h"
#include "model/labels.h"

namespace ps {

namespace {

// The share of examples whose class is not the largest prediction; with a single prediction, the share on the
// wrong side of the threshold.  A NaN prediction is wrong.
class ClassificationError final : public WeightedMean {
 public:
  ClassificationError(const ThresholdOptions& options, int64_t)
      : WeightedMean("classification_error"), threshold_(options.threshold) {}

 private:
  double term(std::span<const float> prediction, float label) const override {
    if (prediction.size() > 1) {
      int64_t predicted = predicted_class(prediction);
      return predicted < 0 || predicted != class_of(label, static_cast<int64_t>(prediction.size()));
    }
    return std::isnan(prediction[0]) || (prediction[0] > threshold_) != is_positive(label);
  }

  const double threshold_;
};

// Mean of -log of the probability given to the label's class.  Probabilities are kept within
// [1e-15, 1 - 1e-15], so that one impossible event does not make the mean infinite.
class LogLoss final : public WeightedMean {
 public:
  LogLoss(const NoEvaluatorOptions&, int64_t) : WeightedMean("log_loss") {}

 private:
  double term(std::span<const float> prediction, float label) const override {
    constexpr double kSmallest = 1e-15;
    return -std::log(std::clamp(probability(prediction, label), kSmallest, 1 - kSmallest));
  }

  static double probability(std::span<const float> prediction, float label) {
    if (prediction.size() == 1)
      return is_positive(label) ? prediction[0] : 1 - static_cast<double>(prediction[0]);
    int64_t index = class_of(label, static_cast<int64_t>(prediction.size()));
    return index < 0 ? 0 : prediction[static_cast<size_t>(index)];
  }
};

class Rmse final : public WeightedMean {
 public:
  Rmse(const NoEvaluatorOptions&, int64_t cols) : WeightedMean("rmse") {
    if (cols != 1) fail(Code::kUsage, "rmse takes one prediction per example, found ", cols);
  }

 private:
  double term(std::span<const float> prediction, float label) const override {
    double residual = static_cast<double>(prediction[0]) - static_cast<double>(label);
    return residual * residual;
  }

  double value(double total, double weight) const override { return std::sqrt(total / weight); }
};

class Sum final : public WeightedMean {
 public:
  Sum(const NoEvaluatorOptions&, int64_t) : WeightedMean("sum") {}

 private:
  double term(std::span<const float> prediction, float) const override {
    double sum = 0;
    for (float value : prediction) sum += static_cast<double>(value);
    return sum;
  }

  double value(double total, double) const override { return total; }
};

}  // namespace

extern const EvaluatorEntry kClassificationErrorEvaluator =
    evaluator_entry<ThresholdOptions, ClassificationError>(
        "classification_error", "share of examples whose class is not the one predicted");

extern const EvaluatorEntry kLogLossEvaluator = evaluator_entry<NoEvaluatorOptions, LogLoss>(
    "log_loss", "mean of -log of the probability given to the example's class");

extern const EvaluatorEntry kRmseEvaluator = evaluator_entry<NoEvaluatorOptions, Rmse>(
    "rmse", "root of the mean squared difference of prediction and label");

extern const EvaluatorEntry kSumEvaluator =
    evaluator_entry<NoEvaluatorOptions, Sum>("sum", "weighted sum of all predictions");

}  // namespace ps
