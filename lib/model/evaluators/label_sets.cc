// Evaluators of examples that have any number of labels.  A model with one label for each example is measured
// too, as one with sets of one label.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/weighted_mean.h"
#include "model/labels.h"

namespace ps {

namespace {

// Sums the counts of a concrete evaluator over the examples, times their weights.  One owner thread.
class LabelSetEvaluator : public Evaluator {
 public:
  LabelSetEvaluator(std::string name, int64_t cols, size_t counts) : name_(std::move(name)), sums_(counts) {
    if (cols < 2) fail(Code::kUsage, name_, " takes predictions of two or more classes, found ", cols);
  }

  bool use_label_sets(size_t slot) override { return slot_ = slot, true; }

  void add(Matrix<const float> predictions, const Batch& batch) override {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      const double weight = batch.weight(b);
      find_labels(batch, static_cast<size_t>(b), predictions.cols);
      if (weight != 0) count({predictions.row(b), static_cast<size_t>(predictions.cols)}, weight);
    }
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const LabelSetEvaluator*>(&other);
    PS_CHECK(same != nullptr && same->name_ == name_);
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i].merge(same->sums_[i]);
  }

  void reset() override { std::fill(sums_.begin(), sums_.end(), CompensatedSum()); }

  // state := sum[counts]
  void save(std::string& out) const override {
    for (const CompensatedSum& sum : sums_) save_sum(sum, out);
  }
  void load(ByteReader& in) override {
    std::vector<CompensatedSum> sums;
    for (size_t i = 0; i < sums_.size(); ++i) sums.push_back(load_weight(in));
    sums_ = std::move(sums);
  }

 protected:
  // Adds the counts of an example with this weight to the sums.
  virtual void count(std::span<const float> prediction, double weight) = 0;

  bool is_label(size_t label) const {
    return std::find(labels_.begin(), labels_.end(), label) != labels_.end();
  }
  size_t num_labels() const { return labels_.size(); }  // number of distinct labels
  void add_to(size_t index, double value) { sums_[index].add(value); }
  double sum(size_t index) const { return sums_[index].value(); }
  const std::string& name() const { return name_; }

 private:
  // labels_ <- the distinct labels of an example: ids of the slot of labels, or its only label, if that is
  // a class.
  void find_labels(const Batch& batch, size_t example, int64_t cols) {
    labels_.clear();
    if (slot_) {
      const SlotData& slot = batch.slots[*slot_];
      labels_.assign(slot.keys.begin() + slot.offsets[example],
                     slot.keys.begin() + slot.offsets[example + 1]);
      std::sort(labels_.begin(), labels_.end());
      labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
    } else if (const int64_t label = class_of(batch.labels[example], cols); label >= 0) {
      labels_.push_back(static_cast<uint64_t>(label));
    }
  }

  const std::string name_;
  std::optional<size_t> slot_;
  std::vector<uint64_t> labels_;  // labels of one example
  std::vector<CompensatedSum> sums_;
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

// Among equal predictions the first class comes first; a NaN comes last.
class PrecisionAtK final : public LabelSetEvaluator {
 public:
  PrecisionAtK(const LargestOptions& options, int64_t cols)
      : LabelSetEvaluator(cat("precision_at_", options.k), cols, 2), k_(static_cast<size_t>(options.k)) {
    if (options.k > cols)
      fail(Code::kUsage, "k: ", options.k, " is more than the ", cols, " classes that are predicted");
  }

  std::vector<std::pair<std::string, double>> values() const override { return {{name(), sum(0) / sum(1)}}; }

 private:
  void count(std::span<const float> prediction, double weight) override {
    classes_.resize(prediction.size());
    std::iota(classes_.begin(), classes_.end(), size_t{0});
    const auto score = [&](size_t c) { return std::isnan(prediction[c]) ? -INFINITY : prediction[c]; };
    const auto end = classes_.begin() + static_cast<std::ptrdiff_t>(k_);
    std::partial_sort(classes_.begin(), end, classes_.end(),
                      [&](size_t a, size_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    const auto hits = std::count_if(classes_.begin(), end, [this](size_t c) { return is_label(c); });
    add_to(0, weight * static_cast<double>(hits) / static_cast<double>(k_));
    add_to(1, weight);
  }

  const size_t k_;
  std::vector<size_t> classes_;
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
class MicroF1 final : public LabelSetEvaluator {
 public:
  MicroF1(const DecisionOptions& options, int64_t cols)
      : LabelSetEvaluator("micro_f1", cols, 3), threshold_(options.threshold) {}

  std::vector<std::pair<std::string, double>> values() const override {
    const double found = sum(kFound), decided = sum(kDecided), there = sum(kThere);
    return {{"micro_precision", found / decided},
            {"micro_recall", found / there},
            {"micro_f1", 2 * found / (decided + there)}};
  }

 private:
  enum { kFound, kDecided, kThere };

  void count(std::span<const float> prediction, double weight) override {
    for (size_t c = 0; c < prediction.size(); ++c) {
      if (!(static_cast<double>(prediction[c]) > threshold_)) continue;
      add_to(kDecided, weight);
      if (is_label(c)) add_to(kFound, weight);
    }
    add_to(kThere, weight * static_cast<double>(num_labels()));
  }

  const double threshold_;
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
