#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/example_sums.h"

namespace ps {

namespace {

constexpr int64_t kMostClasses = 64;

int64_t confused_classes(int64_t cols) {
  const int64_t classes = cols == 1 ? 2 : cols;
  if (classes > kMostClasses) {
    fail(Code::kUsage, "confusion_matrix takes at most ", kMostClasses, " classes, found ", classes);
  }
  return classes;
}

// The share of all examples, by weight, that have a class as label and another as prediction.  A single prediction
// above the threshold is class 1.  The weights of all include those of examples that are in no cell: the shares then sum
// to less than 1.
class ConfusionMatrix final : public SumEvaluator<ConfusionRule> {
 public:
  ConfusionMatrix(const ThresholdOptions& options, int64_t cols)
      : SumEvaluator("confusion_matrix", {options.threshold, confused_classes(cols)},
                     static_cast<size_t>(1 + confused_classes(cols) * confused_classes(cols))),
        classes_(confused_classes(cols)) {}

  std::vector<std::pair<std::string, double>> values() const override {
    std::vector<std::pair<std::string, double>> values;
    for (int64_t label = 0; label < classes_; ++label) {
      for (int64_t predicted = 0; predicted < classes_; ++predicted) {
        const double cell = sum(static_cast<size_t>(1 + label * classes_ + predicted));
        values.emplace_back(cat("label_", label, "_as_", predicted), cell / sum(0));
      }
    }
    return values;
  }

  // classes:u64 weight then the cells, label by label
  void save(std::string& out) const override {
    put(out, static_cast<uint64_t>(classes_));
    SumEvaluator::save(out);
  }

  void load(ByteReader& in) override {
    const uint64_t classes = in.get<uint64_t>();
    if (classes != static_cast<uint64_t>(classes_)) {
      fail(Code::kCorrupt, "state of confusion_matrix has ", classes, " classes, expected ", classes_);
    }
    SumEvaluator::load(in);
  }

 private:
  const int64_t classes_;
};

}  // namespace

extern const EvaluatorEntry kConfusionMatrixEvaluator = evaluator_entry<ThresholdOptions, ConfusionMatrix>(
    "confusion_matrix",
    "for each pair of classes, the share of examples with the one as label and the other as prediction; up "
    "to 64 classes");

}  // namespace ps
