// Shared by the files of this folder: makes entries.
#ifndef PS_MODEL_EVALUATORS_EVALUATOR_ENTRY_H_
#define PS_MODEL_EVALUATORS_EVALUATOR_ENTRY_H_

#include <memory>
#include <string>
#include <string_view>

#include "config/spec.h"
#include "model/evaluator.h"

namespace ps {

// Keys that every evaluator has; an evaluator's own options derive from these and include this spec.
struct EvaluatorOptions {
  std::string label;  // measures the predictions of the cost that reads this label; empty: of the main cost

  static const ObjectSpec<EvaluatorOptions>& spec();
};

struct NoEvaluatorOptions : EvaluatorOptions {
  static const ObjectSpec<NoEvaluatorOptions>& spec();
};

// Options of evaluators that compare predictions with a threshold.
struct ThresholdOptions : EvaluatorOptions {
  double threshold = 0.5;

  static const ObjectSpec<ThresholdOptions>& spec();
};

// Makes the entry of a class that is constructed from (Options, cols).
template <class Options, class EvaluatorType>
constexpr EvaluatorEntry evaluator_entry(std::string_view name, std::string_view help) {
  return {{name, help, []() -> const AnySpec& { return Options::spec(); }},
          [](const Json& object, int64_t cols) -> std::unique_ptr<Evaluator> {
            return std::make_unique<EvaluatorType>(Options::spec().parse(object, ""), cols);
          }};
}

}  // namespace ps

#endif  // PS_MODEL_EVALUATORS_EVALUATOR_ENTRY_H_
