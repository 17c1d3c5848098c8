// Rows like those of Criteo's display advertising data: 13 integers and 26 categories, many of them missing,
// and a label by true weights.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/synth/feature_law.h"
#include "data/synth/generator.h"
#include "data/synth/logistic_label.h"

namespace ps {
namespace {

// This value gives an AUC of about 0.8, which the best models reach on the real data.
constexpr double kCriteoLogitDeviation = 1.6;

// floor(exp(log_median + deviation z)) - shift, z normal; sizes and missing shares are about those of the
// real data.
struct IntegerColumn {
  double log_median, deviation, missing;
  int64_t shift = 0;
};
constexpr IntegerColumn kIntegerColumns[] = {
    {0.5, 1.3, 0.45}, {1.8, 2.0, 0.00, 3}, {1.9, 1.4, 0.21}, {1.5, 1.1, 0.22}, {8.0, 2.0, 0.03},
    {3.5, 1.6, 0.22}, {1.3, 1.5, 0.04},    {2.0, 1.2, 0.00}, {3.7, 1.5, 0.04}, {0.2, 0.6, 0.45},
    {0.8, 1.0, 0.04}, {0.1, 0.8, 0.76},    {1.5, 1.1, 0.22}};

struct CategoryColumn {
  int64_t cardinality;
  double missing;
};
constexpr CategoryColumn kCategoryColumns[] = {
    {1460, 0.00},  {583, 0.00},   {10131227, 0.03}, {2202608, 0.03}, {305, 0.00},  {24, 0.12},
    {12517, 0.00}, {633, 0.00},   {3, 0.00},        {93145, 0.00},   {5683, 0.00}, {8351593, 0.03},
    {3194, 0.00},  {27, 0.00},    {14992, 0.00},    {5461306, 0.03}, {10, 0.00},   {5652, 0.00},
    {2173, 0.44},  {4, 0.44},     {7046547, 0.03},  {18, 0.76},      {15, 0.00},   {286181, 0.03},
    {105, 0.44},   {142572, 0.44}};
constexpr int64_t kMaxCardinality = 10131227;

constexpr size_t kNumIntegers = std::size(kIntegerColumns), kNumCategories = std::size(kCategoryColumns);
constexpr int64_t kMaxInteger = 1 << 24;  // integers are floats in a Batch

// A bijection of 32-bit integers that spreads them: the finalizer of MurmurHash3 for 32 bits (Appleby).
uint32_t mix32(uint32_t x) {
  x = (x ^ x >> 16) * 0x85ebca6b;
  x = (x ^ x >> 13) * 0xc2b2ae35;
  return x ^ x >> 16;
}

// Constant after construction: any thread may generate.
class Criteo : public Generator {
 public:
  Criteo(const SynthOptions& options, uint64_t seed) : seed_(seed) {
    traits_.content = DataTraits::kCriteoSlots;
    traits_.schema.slots.push_back({"integers", true, kNumIntegers});
    ExampleRandom truth(seed, Purpose::kTruth, 0);
    for (size_t c = 0; c < kNumIntegers; ++c) integer_weights_.push_back(2 * truth.uniform() - 1);
    for (size_t c = 0; c < kNumCategories; ++c) {
      traits_.schema.slots.push_back({cat("C", c + 1), false, 0});
      int64_t cardinality = std::min(kCategoryColumns[c].cardinality, *options.dim);
      categories_.emplace_back(seed, (c + 1) << 32, static_cast<uint64_t>(cardinality), *options.zipf);
    }
    calibrate(*options.positive_rate);
  }

  const DataTraits& traits() const override { return traits_; }
  TruthKind truth_kind() const override { return TruthKind::kProbability; }
  int64_t max_row_values() const override { return kNumIntegers + kNumCategories; }

  void generate(uint64_t first, int64_t count, Sample& out) const override {
    out.batch.clear(traits_.schema);
    out.truth.clear();
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      ExampleRandom random(seed_, Purpose::kExample, i);
      double probability = label_.probability(draw_row(random, out.batch));
      out.batch.labels.push_back(label_.draw(probability, random));
      out.truth.push_back(static_cast<float>(probability));
      for (size_t c = 1; c <= kNumCategories; ++c) end_row(out.batch.slots[c]);
    }
  }

 private:
  // Draws rows of a stream of their own, and fits the scale and offset of the logit to their scores, so
  // that the logits have the wanted deviation and the labels the wanted rate.
  void calibrate(double positive_rate) {
    std::vector<double> scores;
    Batch row;
    for (uint64_t i = 0; i < LogisticLabel::kCalibrationExamples; ++i) {
      ExampleRandom random(seed_, Purpose::kCalibration, i);
      row.clear(traits_.schema);
      scores.push_back(draw_row(random, row));
    }
    label_ = LogisticLabel::calibrate(scores, kCriteoLogitDeviation, positive_rate);
  }

  // Appends the integers and categories of a row, and returns its score: the sum of the true weights of its
  // features, those of integers times z.  The order of draws is part of the data, as each draw changes the
  // later ones.
  double draw_row(ExampleRandom& random, Batch& batch) const {
    double score = 0;
    std::vector<float>& integers = batch.slots[0].values;
    for (size_t c = 0; c < kNumIntegers; ++c)
      score += integer_weights_[c] * draw_integer(kIntegerColumns[c], random, integers);
    for (size_t c = 0; c < kNumCategories; ++c) score += draw_category(c, random, batch.slots[c + 1]);
    return score;
  }

  static void end_row(SlotData& slot) { slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size())); }

  // Appends the value of an integer column, -0 when it is missing, and returns its z.
  static double draw_integer(const IntegerColumn& column, ExampleRandom& random, std::vector<float>& values) {
    if (random.uniform() < column.missing) return values.push_back(-0.0f), 0.0;
    double z = random.normal();
    double magnitude = std::floor(std::exp(column.log_median + column.deviation * z));
    int64_t value = std::min(kMaxInteger, static_cast<int64_t>(std::min(magnitude, 1e9))) - column.shift;
    values.push_back(static_cast<float>(value));
    return z;
  }

  // Appends the token of category column c, unless it is missing, and returns its true weight.
  double draw_category(size_t c, ExampleRandom& random, SlotData& slot) const {
    if (random.uniform() < kCategoryColumns[c].missing) return 0;
    Feature feature = categories_[c].draw(random);
    // The token is a bijection of the key, so that different keys stay different, but tokens say nothing of
    // their frequency.
    uint32_t salt = static_cast<uint32_t>(seed_) + static_cast<uint32_t>(c) * 0x9e3779b9;
    slot.keys.push_back((c + 1) << 32 | mix32(static_cast<uint32_t>(feature.key) + salt));
    return feature.weight;
  }

  const uint64_t seed_;
  std::vector<double> integer_weights_;
  std::vector<FeatureLaw> categories_;
  LogisticLabel label_;
  DataTraits traits_;
};

SynthOptions defaults_criteo() {
  SynthOptions options;
  options.dim = kMaxCardinality;
  options.zipf = 1.1;
  options.positive_rate = 0.25;
  return options;
}

std::unique_ptr<Generator> make_criteo(const SynthOptions& options, uint64_t seed) {
  return std::make_unique<Criteo>(options, seed);
}

}  // namespace

extern const GeneratorEntry kCriteoGenerator = {"criteo",
                                                "13 integers and 26 categories, many missing, label 0 or 1 "
                                                "by true weights; --dim bounds a category's ids",
                                                "criteo", defaults_criteo, make_criteo};

}  // namespace ps
