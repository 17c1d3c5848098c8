#include <cmath>

#include "base/error.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/example_sums.h"

namespace ps {

namespace {

// Weights of the true positives, false positives and false negatives of a class.
struct Counts {
  double hit, false_alarm, miss;
};

// 0 / 0 is NaN: undefined.
double precision(const Counts& counts) {
  return counts.hit / (counts.hit + counts.false_alarm);
}
double recall(const Counts& counts) {
  return counts.hit / (counts.hit + counts.miss);
}
double f1(const Counts& counts) {
  const double hits = 2 * counts.hit;
  return hits / (hits + counts.false_alarm + counts.miss);
}

int64_t counted_classes(int64_t cols) {
  return cols > 2 ? cols : 1;
}

// With one or two predictions per example: precision and recall of class 1, by comparing the only or the
// second prediction with the threshold.  With more: the unweighted mean over the classes that are the label
// or the prediction of at least one example; undefined values count as 0.
class PrecisionRecall : public SumEvaluator<PrecisionRecallRule> {
 public:
  PrecisionRecall(const ThresholdOptions& options, int64_t cols)
      : SumEvaluator("precision and recall", {options.threshold, counted_classes(cols)},
                     3 * static_cast<size_t>(counted_classes(cols)), counted_classes(cols)),
        classes_(static_cast<size_t>(counted_classes(cols))) {}

  std::vector<std::pair<std::string, double>> values() const override {
    return {{"precision", mean(precision)}, {"recall", mean(recall)}, {"F1", mean_f1()}};
  }

  // classes:u64 then, for each, three sums
  void save(std::string& out) const override {
    put(out, uint64_t{classes_});
    for (size_t c = 0; c < classes_; ++c) {
      for (size_t kind = 0; kind < 3; ++kind) sums().save(kind * classes_ + c, out);
    }
  }

  void load(ByteReader& in) override {
    uint64_t classes = in.get<uint64_t>();
    if (classes != classes_) {
      fail(Code::kCorrupt, "state of precision and recall has ", classes, " classes, expected ", classes_);
    }
    std::vector<CompensatedSum> loaded(3 * classes_);
    for (size_t c = 0; c < classes_; ++c) {
      for (size_t kind = 0; kind < 3; ++kind) loaded[kind * classes_ + c] = load_weight(in);
    }
    sums().replace(loaded);
  }

 protected:
  double mean_f1() const { return mean(f1); }

 private:
  Counts counts(size_t c) const { return {sum(c), sum(classes_ + c), sum(2 * classes_ + c)}; }

  // A class is seen unless its F1 is 0 / 0, which is when it has no hit, no false alarm and no miss.
  double mean(double (*measure)(const Counts&)) const {
    if (classes_ == 1) return measure(counts(0));
    CompensatedSum total;
    double seen = 0;
    for (size_t c = 0; c < classes_; ++c) {
      const Counts own = counts(c);
      if (std::isnan(f1(own))) continue;  // the class is neither label nor prediction of any example
      double value = measure(own);
      total.add(std::isnan(value) ? 0 : value);
      seen += 1;
    }
    return total.value() / seen;
  }

  const size_t classes_;
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
