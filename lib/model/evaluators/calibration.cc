// Calibration: do events that are predicted with a probability happen as often?  The expected calibration error is that
// of Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/weighted_mean.h"
#include "model/labels.h"

namespace ps {

namespace {

struct CalibrationOptions : EvaluatorOptions {
  int64_t buckets = 10;
  bool by_bucket = false;

  static const ObjectSpec<CalibrationOptions>& spec();
};

const ObjectSpec<CalibrationOptions>& CalibrationOptions::spec() {
  static const ObjectSpec<CalibrationOptions> spec = [] {
    ObjectSpec<CalibrationOptions> s;
    s.include(EvaluatorOptions::spec());
    s.field("buckets", &CalibrationOptions::buckets, "equal parts of [0, 1] that probabilities fall into")
        .at_least(1)
        .at_most(1000);
    s.field("by_bucket", &CalibrationOptions::by_bucket,
            "give the mean probability and the share of events of each part too");
    return s;
  }();
  return spec;
}

// Takes the probability of class 1, which is the only prediction or the second of two.
class CalibrationMeasure final : public Evaluator {
 public:
  CalibrationMeasure(const CalibrationOptions& options, int64_t cols)
      : by_bucket_(options.by_bucket), buckets_(static_cast<size_t>(options.buckets)) {
    if (cols != 1 && cols != 2) {
      fail(Code::kUsage, "calibration takes one or two predictions per example, found ", cols);
    }
  }

  void add(Matrix<const float> predictions, const Batch& batch) override {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      const double weight = batch.weight(b);
      if (weight == 0) continue;
      const double probability = predictions.row(b)[predictions.cols - 1];
      Bucket& bucket = buckets_[index(probability)];
      bucket.weight.add(weight);
      bucket.predicted.add(weight * probability);
      if (is_positive(batch.labels[static_cast<size_t>(b)])) bucket.happened.add(weight);
    }
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const CalibrationMeasure*>(&other);
    PS_CHECK(same != nullptr && same->buckets_.size() == buckets_.size());
    for (size_t i = 0; i < buckets_.size(); ++i) {
      buckets_[i].weight.merge(same->buckets_[i].weight);
      buckets_[i].predicted.merge(same->buckets_[i].predicted);
      buckets_[i].happened.merge(same->buckets_[i].happened);
    }
  }

  void reset() override { buckets_.assign(buckets_.size(), Bucket()); }

  // calibration = sum of probabilities / weight of the events.  calibration_error = sum over buckets of
  // |sum of probabilities - weight of the events| / weight of all: the distance of a bucket's means,
  // weighed by its examples.
  std::vector<std::pair<std::string, double>> values() const override {
    double weight = 0, predicted = 0, happened = 0, error = 0;
    for (const Bucket& bucket : buckets_) {
      weight += bucket.weight.value();
      predicted += bucket.predicted.value();
      happened += bucket.happened.value();
      error += std::abs(bucket.predicted.value() - bucket.happened.value());
    }
    std::vector<std::pair<std::string, double>> values = {{"calibration", predicted / happened},
                                                          {"calibration_error", error / weight}};
    if (by_bucket_) add_buckets(values);
    return values;
  }

  // buckets:u64 then, for each, three sums
  void save(std::string& out) const override {
    put(out, uint64_t{buckets_.size()});
    for (const Bucket& bucket : buckets_) {
      save_sum(bucket.weight, out);
      save_sum(bucket.predicted, out);
      save_sum(bucket.happened, out);
    }
  }

  void load(ByteReader& in) override {
    const uint64_t buckets = in.get<uint64_t>();
    if (buckets != buckets_.size()) {
      fail(Code::kCorrupt, "state of calibration has ", buckets, " buckets, expected ", buckets_.size());
    }
    std::vector<Bucket> loaded(buckets_.size());
    for (Bucket& bucket : loaded) bucket = {load_weight(in), load_sum(in), load_weight(in)};
    buckets_ = std::move(loaded);
  }

 private:
  // Sums over the examples of a bucket: of weights, of weight x probability, of the weights of class 1.
  struct Bucket {
    CompensatedSum weight, predicted, happened;
  };

  // NaN falls into the first bucket, and makes its sum NaN.
  size_t index(double probability) const {
    const auto buckets = static_cast<double>(buckets_.size());
    const double at = std::floor(probability * buckets);
    return at > 0 ? static_cast<size_t>(std::min(at, buckets - 1)) : 0;
  }

  void add_buckets(std::vector<std::pair<std::string, double>>& values) const {
    for (size_t i = 0; i < buckets_.size(); ++i) {
      const double low = static_cast<double>(i) / static_cast<double>(buckets_.size());
      const double weight = buckets_[i].weight.value();
      values.emplace_back(cat("predicted_from_", low), buckets_[i].predicted.value() / weight);
      values.emplace_back(cat("happened_from_", low), buckets_[i].happened.value() / weight);
    }
  }

  const bool by_bucket_;
  std::vector<Bucket> buckets_;
};

}  // namespace

extern const EvaluatorEntry kCalibrationEvaluator = evaluator_entry<CalibrationOptions, CalibrationMeasure>(
    "calibration",
    "sum of the predicted probabilities of class 1 over the number of its examples, 1 at best; and "
    "calibration_error, the mean distance of the two in parts of [0, 1]");

}  // namespace ps
