#include <array>

#include "model/evaluator.h"

namespace ps {

extern const EvaluatorEntry kClassificationErrorEvaluator, kAucEvaluator, kLogLossEvaluator,
    kPrecisionRecallEvaluator, kRmseEvaluator, kSumEvaluator;

std::span<const EvaluatorEntry* const> evaluator_catalog() {
  static constexpr std::array kCatalog = {
      &kClassificationErrorEvaluator, &kAucEvaluator,  &kLogLossEvaluator,
      &kPrecisionRecallEvaluator,     &kRmseEvaluator, &kSumEvaluator,
  };
  return kCatalog;
}

}  // namespace ps
