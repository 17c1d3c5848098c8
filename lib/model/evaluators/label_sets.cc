// Evaluators of examples that have any number of labels.  A model with one label for each example is measured
// too, as one with sets of one label.
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/example_sums.h"

namespace ps {

namespace {

// Sums over the examples, times their weights.
template <class Rule>
class LabelSetEvaluator : public SumEvaluator<Rule> {
 public:
  LabelSetEvaluator(std::string name, int64_t cols, const Rule& rule)
      : SumEvaluator<Rule>(name, rule, Rule::kMost) {
    if (cols < 2) fail(Code::kUsage, name, " takes predictions of two or more classes, found ", cols);
  }

  bool use_label_sets(size_t slot) override { return this->read_label_sets(slot), true; }
};

struct LargestOptions : EvaluatorOptions {
  int64_t k = 1;

  static const ObjectSpec<LargestOptions>& spec();
};

const ObjectSpec<LargestOptions>& LargestOptions::spec() {
  static const ObjectSpec<LargestOptions> spec = [] {
    ObjectSpec<LargestOptions> s;
    s.include(EvaluatorOptions::spec());
    s.field("k", &LargestOptions::k, "classes of each example, those of the largest predictions, that count")
        .at_least(1)
        .at_most(1 << 20);
    return s;
  }();
  return spec;
}

class PrecisionAtK final : public LabelSetEvaluator<LargestRule> {
 public:
  PrecisionAtK(const LargestOptions& options, int64_t cols)
      : LabelSetEvaluator(cat("precision_at_", options.k), cols, {options.k}) {
    if (options.k > cols)
      fail(Code::kUsage, "k: ", options.k, " is more than the ", cols, " classes that are predicted");
  }

  std::vector<std::pair<std::string, double>> values() const override { return {{name(), sum(0) / sum(1)}}; }
};

struct DecisionOptions : EvaluatorOptions {
  double threshold = 0.5;

  static const ObjectSpec<DecisionOptions>& spec();
};

const ObjectSpec<DecisionOptions>& DecisionOptions::spec() {
  static const ObjectSpec<DecisionOptions> spec = [] {
    ObjectSpec<DecisionOptions> s;
    s.include(EvaluatorOptions::spec());
    s.field("threshold", &DecisionOptions::threshold, "predictions above it are decisions for their class");
    return s;
  }();
  return spec;
}

// Tsoumakas and Katakis, "Multi-label classification: an overview", 2007: all pairs of example and class are counted
// together.
class MicroF1 final : public LabelSetEvaluator<PairCountRule> {
 public:
  MicroF1(const DecisionOptions& options, int64_t cols)
      : LabelSetEvaluator("micro_f1", cols, {options.threshold}) {}

  std::vector<std::pair<std::string, double>> values() const override {
    const double found = sum(0), decided = sum(1), there = sum(2);
    return {{"micro_precision", found / decided},
            {"micro_recall", found / there},
            {"micro_f1", 2 * found / (decided + there)}};
  }
};

}  // namespace

extern const EvaluatorEntry kPrecisionAtKEvaluator = evaluator_entry<LargestOptions, PrecisionAtK>(
    "precision_at_k",
    "share of the k classes with the largest predictions that are labels of the example: a mean over "
    "examples, which may "
    "have any number of labels");

extern const EvaluatorEntry kMicroF1Evaluator = evaluator_entry<DecisionOptions, MicroF1>(
    "micro_f1",
    "precision, recall and their harmonic mean over all pairs of an example and a class, which is decided "
    "for where its "
    "prediction is above the threshold; examples may have any number of labels");

}  // namespace ps
