// Evaluators that are means or sums over the examples.
#include <algorithm>
#include <cmath>

#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/weighted_mean.h"
#include "model/labels.h"

namespace ps {

namespace {

// Returns true if the largest prediction is that of the label's class; a single prediction has to be on the label's
// side of the threshold.  A NaN prediction is wrong.
bool is_right(std::span<const float> prediction, float label, double threshold) {
  if (prediction.size() == 1) {
    return !std::isnan(prediction[0]) && (prediction[0] > threshold) == is_positive(label);
  }
  const int64_t predicted = predicted_class(prediction);
  return predicted >= 0 && predicted == class_of(label, static_cast<int64_t>(prediction.size()));
}

class ClassificationError final : public WeightedMean {
 public:
  ClassificationError(const ThresholdOptions& options, int64_t)
      : WeightedMean("classification_error"), threshold_(options.threshold) {}

 private:
  double term(std::span<const float> prediction, float label) const override {
    return !is_right(prediction, label, threshold_);
  }

  const double threshold_;
};

class Accuracy final : public WeightedMean {
 public:
  Accuracy(const ThresholdOptions& options, int64_t)
      : WeightedMean("accuracy"), threshold_(options.threshold) {}

 private:
  double term(std::span<const float> prediction, float label) const override {
    return is_right(prediction, label, threshold_);
  }

  const double threshold_;
};

// The mean of -log of the probability given to the label's class.  It is computed from the logits if the model
// has them, else from the probabilities.  Probabilities are kept within [1e-15, 1 - 1e-15], so that one
// impossible event does not make the mean infinite.
class LogLoss final : public WeightedMean {
 public:
  LogLoss(const NoEvaluatorOptions&, int64_t) : WeightedMean("log_loss") {}

  bool wants_log_losses() const override { return true; }
  void add_log_losses(std::span<const float> losses, const Batch& batch) override {
    add_terms(losses, batch);
  }

  // Losses are then sums over the classes.
  bool use_label_sets(size_t) override { return true; }

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

class MeanAbsoluteError final : public WeightedMean {
 public:
  MeanAbsoluteError(const NoEvaluatorOptions&, int64_t cols) : WeightedMean("mae") {
    if (cols != 1) fail(Code::kUsage, "mae takes one prediction per example, found ", cols);
  }

 private:
  double term(std::span<const float> prediction, float label) const override {
    return std::abs(static_cast<double>(prediction[0]) - static_cast<double>(label));
  }
};

// Brier, "Verification of forecasts expressed in terms of probability", 1950.  For two classes this is the squared
// error of the probability of class 1, as most programs have it: half of Brier's sum over both.
class BrierScore final : public WeightedMean {
 public:
  BrierScore(const NoEvaluatorOptions&, int64_t) : WeightedMean("brier_score") {}

 private:
  double term(std::span<const float> prediction, float label) const override {
    if (prediction.size() <= 2) return squared_error(prediction.back(), is_positive(label));
    const int64_t right = class_of(label, static_cast<int64_t>(prediction.size()));
    double sum = 0;
    for (size_t c = 0; c < prediction.size(); ++c) {
      sum += squared_error(prediction[c], static_cast<int64_t>(c) == right);
    }
    return sum;
  }

  static double squared_error(float probability, bool happened) {
    const double error = static_cast<double>(probability) - (happened ? 1 : 0);
    return error * error;
  }
};

class SumOfPredictions final : public WeightedMean {
 public:
  SumOfPredictions(const NoEvaluatorOptions&, int64_t) : WeightedMean("sum") {}

  bool use_label_sets(size_t) override { return true; }

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
