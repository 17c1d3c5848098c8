// Calibration: do events that are predicted with a probability happen as often?  The expected calibration error is that
// of Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/example_sums.h"

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
class CalibrationMeasure final : public SumEvaluator<CalibrationRule> {
 public:
  CalibrationMeasure(const CalibrationOptions& options, int64_t cols)
      : SumEvaluator("calibration", {options.buckets}, 3 * static_cast<size_t>(options.buckets),
                     options.buckets),
        by_bucket_(options.by_bucket),
        buckets_(static_cast<size_t>(options.buckets)) {
    if (cols != 1 && cols != 2) {
      fail(Code::kUsage, "calibration takes one or two predictions per example, found ", cols);
    }
  }

  // calibration = sum of probabilities / weight of the events.  calibration_error = sum over buckets of
  // |sum of probabilities - weight of the events| / weight of all: the distance of a bucket's means,
  // weighed by its examples.
  std::vector<std::pair<std::string, double>> values() const override {
    double weight = 0, predicted = 0, happened = 0, error = 0;
    for (size_t i = 0; i < buckets_; ++i) {
      const Bucket own = bucket(i);
      weight += own.weight;
      predicted += own.predicted;
      happened += own.happened;
      error += std::abs(own.predicted - own.happened);
    }
    std::vector<std::pair<std::string, double>> values = {{"calibration", predicted / happened},
                                                          {"calibration_error", error / weight}};
    if (by_bucket_) add_buckets(values);
    return values;
  }

  // buckets:u64 then, for each, three sums
  void save(std::string& out) const override {
    put(out, uint64_t{buckets_});
    for (size_t i = 0; i < buckets_; ++i) {
      for (size_t kind = 0; kind < 3; ++kind) sums().save(kind * buckets_ + i, out);
    }
  }

  void load(ByteReader& in) override {
    const uint64_t buckets = in.get<uint64_t>();
    if (buckets != buckets_) {
      fail(Code::kCorrupt, "state of calibration has ", buckets, " buckets, expected ", buckets_);
    }
    std::vector<CompensatedSum> loaded(3 * buckets_);
    for (size_t i = 0; i < buckets_; ++i) {
      loaded[i] = load_weight(in);
      loaded[buckets_ + i] = load_sum(in);
      loaded[2 * buckets_ + i] = load_weight(in);
    }
    sums().replace(loaded);
  }

 private:
  // Sums over the examples of a bucket: of weights, of weight x probability, of the weights of class 1.
  struct Bucket {
    double weight, predicted, happened;
  };

  Bucket bucket(size_t i) const { return {sum(i), sum(buckets_ + i), sum(2 * buckets_ + i)}; }

  void add_buckets(std::vector<std::pair<std::string, double>>& values) const {
    for (size_t i = 0; i < buckets_; ++i) {
      const double low = static_cast<double>(i) / static_cast<double>(buckets_);
      const Bucket own = bucket(i);
      values.emplace_back(cat("predicted_from_", low), own.predicted / own.weight);
      values.emplace_back(cat("happened_from_", low), own.happened / own.weight);
    }
  }

  const bool by_bucket_;
  const size_t buckets_;
};

}  // namespace

extern const EvaluatorEntry kCalibrationEvaluator = evaluator_entry<CalibrationOptions, CalibrationMeasure>(
    "calibration",
    "sum of the predicted probabilities of class 1 over the number of its examples, 1 at best; and "
    "calibration_error, the mean distance of the two in parts of [0, 1]");

}  // namespace ps
