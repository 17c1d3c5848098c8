#include "model/evaluators/evaluator_entry.h"

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

}  // namespace ps
