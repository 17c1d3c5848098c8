#include "base/error.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/score_histogram.h"
#include "model/labels.h"

namespace ps {

namespace {

// Area under the ROC curve of the only prediction, or of the second of two.
class Auc final : public Evaluator {
 public:
  Auc(const NoEvaluatorOptions&, int64_t cols) {
    if (cols != 1 && cols != 2)
      fail(Code::kUsage, "auc takes one or two predictions per example, found ", cols);
  }

  void add(Matrix<const float> predictions, const Batch& batch) override {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      float score = predictions.row(b)[predictions.cols - 1];
      scores_.add(score, is_positive(batch.labels[static_cast<size_t>(b)]), batch.weight(b));
    }
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const Auc*>(&other);
    PS_CHECK(same != nullptr);
    scores_.merge(same->scores_);
  }

  void reset() override { scores_.clear(); }
  std::vector<std::pair<std::string, double>> values() const override { return {{"auc", scores_.area()}}; }
  void save(std::string& out) const override { scores_.save(out); }
  void load(ByteReader& in) override { scores_.load(in); }

 private:
  ScoreHistogram scores_;
};

}  // namespace

extern const EvaluatorEntry kAucEvaluator = evaluator_entry<NoEvaluatorOptions, Auc>(
    "auc",
    "area under the ROC curve, for two classes; within 1e-4, and exact up to a million distinct predictions");

}  // namespace ps
