// Areas under curves of all thresholds, of the only prediction or of the second of two.
#include "base/error.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/score_histogram.h"
#include "model/labels.h"

namespace ps {

namespace {

// A measure of the scores of positive and negative examples.
class ScoreMeasure : public Evaluator {
 public:
  ScoreMeasure(std::string name, int64_t cols) : name_(std::move(name)) {
    if (cols != 1 && cols != 2) {
      fail(Code::kUsage, name_, " takes one or two predictions per example, found ", cols);
    }
  }

  void add(Matrix<const float> predictions, const Batch& batch) override {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      float score = predictions.row(b)[predictions.cols - 1];
      scores_.add(score, is_positive(batch.labels[static_cast<size_t>(b)]), batch.weight(b));
    }
  }

  bool runs_there() const override { return true; }
  void add_there(Device& device, const ExamplesThere& there, const Batch&) override {
    scores_.add_there(device, there.examples, there.size);
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const ScoreMeasure*>(&other);
    PS_CHECK(same != nullptr && same->name_ == name_);
    scores_.merge(same->scores_);
  }

  void reset() override { scores_.clear(); }
  std::vector<std::pair<std::string, double>> values() const override { return {{name_, value(scores_)}}; }
  void save(std::string& out) const override { scores_.save(out); }
  void load(ByteReader& in) override { scores_.load(in); }

 private:
  virtual double value(const ScoreHistogram& scores) const = 0;

  const std::string name_;
  ScoreHistogram scores_;
};

class Auc final : public ScoreMeasure {
 public:
  Auc(const NoEvaluatorOptions&, int64_t cols) : ScoreMeasure("auc", cols) {}

 private:
  double value(const ScoreHistogram& scores) const override { return scores.area(); }
};

class PrAuc final : public ScoreMeasure {
 public:
  PrAuc(const NoEvaluatorOptions&, int64_t cols) : ScoreMeasure("pr_auc", cols) {}

 private:
  double value(const ScoreHistogram& scores) const override { return scores.average_precision(); }
};

}  // namespace

extern const EvaluatorEntry kAucEvaluator = evaluator_entry<NoEvaluatorOptions, Auc>(
    "auc",
    "area under the ROC curve, for two classes; within 1e-4, and exact up to a million distinct predictions");

extern const EvaluatorEntry kPrAucEvaluator = evaluator_entry<NoEvaluatorOptions, PrAuc>(
    "pr_auc",
    "area under the curve of precision over recall, for two classes: the average precision, exact as auc is");

}  // namespace ps
