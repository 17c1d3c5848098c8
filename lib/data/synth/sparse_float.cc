// Rows of distinct ids with values in [0.01, 5], and a label in [0.01, 100] to regress on: the shape of
// PaddlePaddle's sparse_vector demo, whose labels, unlike these, have nothing to do with the ids.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/synth/count_law.h"
#include "data/synth/feature_law.h"
#include "data/synth/generator.h"
#include "data/synth/logistic_label.h"

namespace ps {
namespace {

// label = 50 + 15 (score - its mean) / (its deviation) + noise of deviation 5
constexpr double kMean = 50, kDeviation = 15, kLabelNoise = 5;
constexpr double kMinLabel = 0.01, kMaxLabel = 100, kMinValue = 0.01, kMaxValue = 5;

// Returns the nearest number with six decimals, as in the demo's format.
float six_decimals(double value) {
  return static_cast<float>(std::nearbyint(value * 1e6) / 1e6);
}

// Constant after construction: any thread may generate.
class SparseFloat : public Generator {
 public:
  SparseFloat(const SynthOptions& options, uint64_t seed)
      : seed_(seed),
        max_count_(options.nnz->maximum),
        counts_(CountLaw::Shape::kUniform, options.nnz->minimum, options.nnz->maximum),
        features_(seed, 0, static_cast<uint64_t>(*options.dim), *options.zipf) {
    traits_.schema.slots = {{"features", false, *options.dim}};
    traits_.valued = true;
    std::vector<double> scores;
    SlotData row;
    DistinctRanks drawn;
    for (uint64_t i = 0; i < LogisticLabel::kCalibrationExamples; ++i) {
      ExampleRandom random(seed, Purpose::kCalibration, i);
      row.keys.clear();
      row.values.clear();
      scores.push_back(draw_row(random, drawn, row));
    }
    score_ = moments(scores);
  }

  const DataTraits& traits() const override { return traits_; }
  TruthKind truth_kind() const override { return TruthKind::kMean; }
  int64_t max_row_values() const override { return max_count_; }

  void generate(uint64_t first, int64_t count, Sample& out) const override {
    out.batch.clear(traits_.schema);
    out.truth.clear();
    SlotData& slot = out.batch.slots[0];
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      ExampleRandom random(seed_, Purpose::kExample, i);
      double mean = expected_label(draw_row(random, out.row, slot));
      double label = std::clamp(mean + kLabelNoise * random.normal(), kMinLabel, kMaxLabel);
      out.batch.labels.push_back(six_decimals(label));
      out.truth.push_back(static_cast<float>(std::clamp(mean, kMinLabel, kMaxLabel)));
      slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    }
  }

 private:
  // Appends the ids and values of one row and returns its score, the sum of values times true weights.  The
  // value of an id comes from the coin that was drawn with it.
  double draw_row(ExampleRandom& random, DistinctRanks& drawn, SlotData& slot) const {
    double score = 0;
    uint64_t count = counts_.draw(random);
    features_.draw_distinct_and_coins(count, random, drawn, [&](const Feature& feature, uint64_t coin) {
      float value = six_decimals(kMinValue + (kMaxValue - kMinValue) * ExampleRandom::uniform_of(coin));
      slot.keys.push_back(feature.key);
      slot.values.push_back(value);
      score += static_cast<double>(feature.weight) * value;
    });
    return score;
  }

  double expected_label(double score) const {
    return score_.deviation > 0 ? kMean + kDeviation * (score - score_.mean) / score_.deviation : kMean;
  }

  const uint64_t seed_;
  const int64_t max_count_;
  const CountLaw counts_;
  const FeatureLaw features_;
  Moments score_;
  DataTraits traits_;
};

SynthOptions defaults_sparse_float() {
  SynthOptions options;
  options.dim = 10'000'000;
  options.nnz = {10, 100};
  options.zipf = 1.1;
  return options;
}

std::unique_ptr<Generator> make_sparse_float(const SynthOptions& options, uint64_t seed) {
  if (options.nnz->maximum > *options.dim) fail(Code::kUsage, "--nnz: a row cannot have more ids than --dim");
  return std::make_unique<SparseFloat>(options, seed);
}

}  // namespace

extern const GeneratorEntry kSparseFloatGenerator = {
    "sparse-float", "rows of distinct ids with values, label in [0.01, 100] by true weights of the ids",
    "paddle_sparse_float", defaults_sparse_float, make_sparse_float};

}  // namespace ps
