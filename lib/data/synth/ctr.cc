// Clicks: many slots of very different numbers of ids, each id in one slot only, and a 0/1 label by true
// weights of the ids, and of pairs of them when asked.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/synth/count_law.h"
#include "data/synth/feature_law.h"
#include "data/synth/generator.h"
#include "data/synth/logistic_label.h"

namespace ps {
namespace {

constexpr double kCtrLogitDeviation = 2;
// The ratio of the numbers of ids of the largest and the smallest slot; sizes in between are geometric.
constexpr double kSizeRatio = 1e5;

// Returns the sizes of the slots, at least `minimum` each, with sum `total`.
// Beyond the minimum, slot s gets a part of the spare ids that grows geometrically with s, rounded down.
// `left` is what is still to be given; the last slot, the largest, gets the rest.
std::vector<uint64_t> slot_sizes(int64_t slots, int64_t total, int64_t minimum) {
  std::vector<double> share;
  double sum = 0;
  for (int64_t s = 0; s < slots; ++s) {
    double position = slots > 1 ? static_cast<double>(s) / static_cast<double>(slots - 1) : 0;
    share.push_back(std::pow(kSizeRatio, position));
    sum += share.back();
  }
  int64_t spare = total - slots * minimum, left = spare;
  std::vector<uint64_t> sizes;
  for (double part : share) {
    int64_t more = std::min(left, static_cast<int64_t>(part / sum * static_cast<double>(spare)));
    sizes.push_back(static_cast<uint64_t>(minimum + more));
    left -= more;
  }
  sizes.back() += static_cast<uint64_t>(left);
  return sizes;
}

// Constant after construction: any thread may generate.
class Ctr : public Generator {
 public:
  Ctr(const SynthOptions& options, uint64_t seed)
      : seed_(seed),
        max_values_(options.nnz->maximum * *options.slots),
        linear_scale_(std::sqrt(1 - *options.interaction)),
        // There are half as many pairs as slots, so that the factor 2 gives the pairs the part
        // `interaction` of the variance.
        pair_scale_(std::sqrt(2 * *options.interaction)),
        counts_(CountLaw::Shape::kUniform, options.nnz->minimum, options.nnz->maximum) {
    Key first_key = 1;  // 0 pads empty slots
    for (uint64_t size :
         slot_sizes(*options.slots, *options.dim, std::max<int64_t>(1, options.nnz->maximum))) {
      traits_.schema.slots.push_back({cat("slot", slots_.size() + 1), false, *options.dim + 1});
      slots_.emplace_back(seed, first_key, size, *options.zipf);
      first_key += size;
    }
    std::vector<double> scores;
    Sample row;
    row.batch.clear(traits_.schema);
    for (uint64_t i = 0; i < LogisticLabel::kCalibrationExamples; ++i) {
      ExampleRandom random(seed, Purpose::kCalibration, i);
      for (SlotData& slot : row.batch.slots) slot.keys.clear();
      scores.push_back(draw_row(random, row));
    }
    label_ = LogisticLabel::calibrate(scores, kCtrLogitDeviation, *options.positive_rate);
  }

  const DataTraits& traits() const override { return traits_; }
  TruthKind truth_kind() const override { return TruthKind::kProbability; }
  int64_t max_row_values() const override { return max_values_; }

  void generate(uint64_t first, int64_t count, Sample& out) const override {
    out.batch.clear(traits_.schema);
    out.truth.clear();
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      ExampleRandom random(seed_, Purpose::kExample, i);
      double probability = label_.probability(draw_row(random, out));
      out.batch.labels.push_back(label_.draw(probability, random));
      out.truth.push_back(static_cast<float>(probability));
      for (SlotData& slot : out.batch.slots) slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    }
  }

 private:
  // Appends the ids of one row and returns its score: true weights, and products of the weights of
  // neighbouring slots (first and second, third and fourth, …), which no linear model can learn and a
  // factorisation machine can.
  double draw_row(ExampleRandom& random, Sample& out) const {
    double linear = 0, pairs = 0, previous = 0;
    for (size_t s = 0; s < slots_.size(); ++s) {
      double weight = 0;
      slots_[s].draw_distinct(counts_.draw(random), random, out.row, [&](const Feature& feature) {
        out.batch.slots[s].keys.push_back(feature.key);
        weight += feature.weight;
      });
      linear += weight;
      if (s % 2 == 1) pairs += previous * weight;
      previous = weight;
    }
    return linear_scale_ * linear + pair_scale_ * pairs;
  }

  const uint64_t seed_;
  const int64_t max_values_;
  const double linear_scale_, pair_scale_;
  const CountLaw counts_;
  std::vector<FeatureLaw> slots_;
  LogisticLabel label_;
  DataTraits traits_;
};

SynthOptions defaults_ctr() {
  SynthOptions options;
  options.dim = 1'000'000;
  options.nnz = {1, 1};
  options.zipf = 1.1;
  options.slots = 20;
  options.positive_rate = 0.2;
  options.interaction = 0;
  return options;
}

std::unique_ptr<Generator> make_ctr(const SynthOptions& options, uint64_t seed) {
  if (options.nnz->maximum * *options.slots > *options.dim) {
    fail(Code::kUsage, "--dim: ", *options.dim, " ids are too few for ", *options.slots, " slots of up to ",
         options.nnz->maximum, " ids each");
  }
  return std::make_unique<Ctr>(options, seed);
}

}  // namespace

extern const GeneratorEntry kCtrGenerator = {
    "ctr", "clicks: slots of ids by power laws, label 0 or 1 by true weights of the ids", "multislot",
    defaults_ctr, make_ctr};

}  // namespace ps
