#include "model/evaluators/evaluator_entry.h"

#include <cmath>

#include "config/spec.h"

namespace ps {

const ObjectSpec<EvaluatorOptions>& EvaluatorOptions::spec() {
  static const ObjectSpec<EvaluatorOptions> spec = [] {
    ObjectSpec<EvaluatorOptions> s;
    s.field("label", &EvaluatorOptions::label,
            "measures the cost that has this key label; names of values begin with it, as in click.auc; "
            "empty: the main cost");
    return s;
  }();
  return spec;
}

const ObjectSpec<NoEvaluatorOptions>& NoEvaluatorOptions::spec() {
  static const ObjectSpec<NoEvaluatorOptions> spec = [] {
    ObjectSpec<NoEvaluatorOptions> s;
    s.include(EvaluatorOptions::spec());
    return s;
  }();
  return spec;
}

const ObjectSpec<ThresholdOptions>& ThresholdOptions::spec() {
  static const ObjectSpec<ThresholdOptions> spec = [] {
    ObjectSpec<ThresholdOptions> s;
    s.include(EvaluatorOptions::spec());
    s.field("threshold", &ThresholdOptions::threshold,
            "of models with one prediction per example: above it, the decision is 1");
    return s;
  }();
  return spec;
}

int64_t predicted_class(std::span<const float> prediction) {
  size_t best = 0;
  for (size_t c = 0; c < prediction.size(); ++c) {
    if (std::isnan(prediction[c])) return -1;
    if (prediction[c] > prediction[best]) best = c;
  }
  return static_cast<int64_t>(best);
}

}  // namespace ps
