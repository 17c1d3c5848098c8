#include <array>

#include "model/evaluator.h"

namespace ps {

extern const EvaluatorEntry kClassificationErrorEvaluator, kAccuracyEvaluator, kAucEvaluator, kPrAucEvaluator,
    kLogLossEvaluator, kBrierScoreEvaluator, kCalibrationEvaluator, kPrecisionRecallEvaluator, kF1Evaluator,
    kConfusionMatrixEvaluator, kRmseEvaluator, kMeanAbsoluteErrorEvaluator, kGroupAucEvaluator,
    kPrecisionAtKEvaluator, kMicroF1Evaluator, kNdcgEvaluator, kRecallAtKEvaluator,
    kMeanReciprocalRankEvaluator, kMeanAveragePrecisionEvaluator, kSumEvaluator;

std::span<const EvaluatorEntry* const> evaluator_catalog() {
  static constexpr std::array kCatalog = {
      &kClassificationErrorEvaluator,
      &kAccuracyEvaluator,
      &kAucEvaluator,
      &kPrAucEvaluator,
      &kLogLossEvaluator,
      &kBrierScoreEvaluator,
      &kCalibrationEvaluator,
      &kPrecisionRecallEvaluator,
      &kF1Evaluator,
      &kConfusionMatrixEvaluator,
      &kPrecisionAtKEvaluator,
      &kMicroF1Evaluator,
      &kRmseEvaluator,
      &kMeanAbsoluteErrorEvaluator,
      &kGroupAucEvaluator,
      &kNdcgEvaluator,
      &kRecallAtKEvaluator,
      &kMeanReciprocalRankEvaluator,
      &kMeanAveragePrecisionEvaluator,
      &kSumEvaluator,
  };
  return kCatalog;
}

}  // namespace ps
