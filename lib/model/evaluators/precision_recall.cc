#include <cmath>

#include "base/error.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/weighted_mean.h"
#include "model/labels.h"

namespace ps {

namespace {

// Weights of the true positives, false positives and false negatives of a class.
struct Counts {
  CompensatedSum hit, false_alarm, miss;
};

// 0 / 0 is NaN: undefined.
double precision(const Counts& counts) {
  return counts.hit.value() / (counts.hit.value() + counts.false_alarm.value());
}
double recall(const Counts& counts) {
  return counts.hit.value() / (counts.hit.value() + counts.miss.value());
}
double f1(const Counts& counts) {
  double hits = 2 * counts.hit.value();
  return hits / (hits + counts.false_alarm.value() + counts.miss.value());
}

// With one or two predictions per example: precision and recall of class 1, by comparing the only or the
// second prediction with the threshold.  With more: the unweighted mean over the classes that are the label
// or the prediction of at least one example; undefined values count as 0.
class PrecisionRecall : public Evaluator {
 public:
  PrecisionRecall(const ThresholdOptions& options, int64_t cols)
      : threshold_(options.threshold),
        classes_(cols > 2 ? static_cast<size_t>(cols) : 1),
        counts_(classes_) {}

  void add(Matrix<const float> predictions, const Batch& batch) override {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      double weight = batch.weight(b);
      if (weight == 0) continue;
      float label = batch.labels[static_cast<size_t>(b)];
      std::span<const float> prediction(predictions.row(b), static_cast<size_t>(predictions.cols));
      if (classes_ > 1) {
        count(class_of(label, predictions.cols), predicted_class(prediction), weight);
      } else {
        count(is_positive(label) ? 0 : -1, prediction.back() > threshold_ ? 0 : -1, weight);
      }
    }
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const PrecisionRecall*>(&other);
    PS_CHECK(same != nullptr && same->classes_ == classes_);
    for (size_t c = 0; c < classes_; ++c) {
      counts_[c].hit.merge(same->counts_[c].hit);
      counts_[c].false_alarm.merge(same->counts_[c].false_alarm);
      counts_[c].miss.merge(same->counts_[c].miss);
    }
  }

  void reset() override { counts_.assign(classes_, Counts()); }

  std::vector<std::pair<std::string, double>> values() const override {
    return {{"precision", mean(precision)}, {"recall", mean(recall)}, {"F1", mean_f1()}};
  }

  // classes:u64 then, for each, three sums
  void save(std::string& out) const override {
    put(out, uint64_t{classes_});
    for (const Counts& counts : counts_) {
      save_sum(counts.hit, out);
      save_sum(counts.false_alarm, out);
      save_sum(counts.miss, out);
    }
  }

  void load(ByteReader& in) override {
    uint64_t classes = in.get<uint64_t>();
    if (classes != classes_) {
      fail(Code::kCorrupt, "state of precision and recall has ", classes, " classes, expected ", classes_);
    }
    std::vector<Counts> loaded(classes_);
    for (Counts& counts : loaded) counts = {load_weight(in), load_weight(in), load_weight(in)};
    counts_ = std::move(loaded);
  }

 protected:
  double mean_f1() const { return mean(f1); }

 private:
  // Class -1 stands for none of the counted classes: a NaN prediction, or the negative class.
  void count(int64_t label, int64_t predicted, double weight) {
    if (predicted >= 0 && predicted == label) return counts_[static_cast<size_t>(label)].hit.add(weight);
    if (predicted >= 0) counts_[static_cast<size_t>(predicted)].false_alarm.add(weight);
    if (label >= 0) counts_[static_cast<size_t>(label)].miss.add(weight);
  }

  // A class is seen unless its F1 is 0 / 0, which is when it has no hit, no false alarm and no miss.
  double mean(double (*measure)(const Counts&)) const {
    if (classes_ == 1) return measure(counts_[0]);
    CompensatedSum sum;
    double seen = 0;
    for (const Counts& counts : counts_) {
      if (std::isnan(f1(counts))) continue;  // the class is neither label nor prediction of any example
      double value = measure(counts);
      sum.add(std::isnan(value) ? 0 : value);
      seen += 1;
    }
    return sum.value() / seen;
  }

  const double threshold_;
  const size_t classes_;
  std::vector<Counts> counts_;  // [classes_]
};

// The same counts, of which F1 alone is told.
class F1 final : public PrecisionRecall {
 public:
  using PrecisionRecall::PrecisionRecall;

  std::vector<std::pair<std::string, double>> values() const override { return {{"f1", mean_f1()}}; }
};

}  // namespace

extern const EvaluatorEntry kPrecisionRecallEvaluator, kF1Evaluator;
const EvaluatorEntry kPrecisionRecallEvaluator = evaluator_entry<ThresholdOptions, PrecisionRecall>(
    "precision_recall", "precision, recall and F1: of class 1 of two, or the mean over more classes");
const EvaluatorEntry kF1Evaluator = evaluator_entry<ThresholdOptions, F1>(
    "f1", "F1, the harmonic mean of precision and recall: of class 1 of two, or the mean over more classes");

}  // namespace ps
