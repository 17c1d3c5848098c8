#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/weighted_mean.h"
#include "model/labels.h"

namespace ps {

namespace {

constexpr int64_t kMostClasses = 64;

// The share of all examples, by weight, that have a class as label and another as prediction.  A single prediction
// above the threshold is class 1.  Examples with a NaN prediction or a label that is no class are in no cell.
class ConfusionMatrix final : public Evaluator {
 public:
  ConfusionMatrix(const ThresholdOptions& options, int64_t cols)
      : threshold_(options.threshold), classes_(cols == 1 ? 2 : cols) {
    if (classes_ > kMostClasses) {
      fail(Code::kUsage, "confusion_matrix takes at most ", kMostClasses, " classes, found ", classes_);
    }
    cells_.resize(static_cast<size_t>(classes_ * classes_));
  }

  // weight_ takes in every example, also one that is in no cell: the shares then sum to less than 1.
  void add(Matrix<const float> predictions, const Batch& batch) override {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      const double weight = batch.weight(b);
      if (weight == 0) continue;
      weight_.add(weight);
      const std::span<const float> prediction(predictions.row(b), static_cast<size_t>(predictions.cols));
      const int64_t label = label_of(batch.labels[static_cast<size_t>(b)]), predicted = decide(prediction);
      if (label >= 0 && predicted >= 0) cells_[static_cast<size_t>(label * classes_ + predicted)].add(weight);
    }
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const ConfusionMatrix*>(&other);
    PS_CHECK(same != nullptr && same->classes_ == classes_);
    weight_.merge(same->weight_);
    for (size_t i = 0; i < cells_.size(); ++i) cells_[i].merge(same->cells_[i]);
  }

  void reset() override {
    weight_ = {};
    cells_.assign(cells_.size(), CompensatedSum());
  }

  std::vector<std::pair<std::string, double>> values() const override {
    std::vector<std::pair<std::string, double>> values;
    for (int64_t label = 0; label < classes_; ++label) {
      for (int64_t predicted = 0; predicted < classes_; ++predicted) {
        const CompensatedSum& cell = cells_[static_cast<size_t>(label * classes_ + predicted)];
        values.emplace_back(cat("label_", label, "_as_", predicted), cell.value() / weight_.value());
      }
    }
    return values;
  }

  // classes:u64 weight then the cells, label by label
  void save(std::string& out) const override {
    put(out, static_cast<uint64_t>(classes_));
    save_sum(weight_, out);
    for (const CompensatedSum& cell : cells_) save_sum(cell, out);
  }

  void load(ByteReader& in) override {
    const uint64_t classes = in.get<uint64_t>();
    if (classes != static_cast<uint64_t>(classes_)) {
      fail(Code::kCorrupt, "state of confusion_matrix has ", classes, " classes, expected ", classes_);
    }
    const CompensatedSum weight = load_weight(in);
    std::vector<CompensatedSum> loaded(cells_.size());
    for (CompensatedSum& cell : loaded) cell = load_weight(in);
    weight_ = weight;
    cells_ = std::move(loaded);
  }

 private:
  // Returns the class of a label, or -1.  With two classes, -1 names class 0 too.
  int64_t label_of(float label) const { return classes_ == 2 && label == -1 ? 0 : class_of(label, classes_); }

  // Returns the class that is predicted, or -1.
  int64_t decide(std::span<const float> prediction) const {
    if (prediction.size() > 1) return predicted_class(prediction);
    return std::isnan(prediction[0]) ? -1 : prediction[0] > threshold_;
  }

  const double threshold_;
  const int64_t classes_;
  CompensatedSum weight_;              // of all examples
  std::vector<CompensatedSum> cells_;  // [label, predicted]
};

}  // namespace

extern const EvaluatorEntry kConfusionMatrixEvaluator = evaluator_entry<ThresholdOptions, ConfusionMatrix>(
    "confusion_matrix",
    "for each pair of classes, the share of examples with the one as label and the other as prediction; up "
    "to 64 classes");

}  // namespace ps
