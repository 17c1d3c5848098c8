// Rows of distinct ids without values, and a 0/1 label: the shape of PaddlePaddle's sparse_binary demo.
#include "base/error.h"
#include "data/synth/count_law.h"
#include "data/synth/feature_law.h"
#include "data/synth/generator.h"
#include "data/synth/logistic_label.h"

namespace ps {
namespace {

constexpr double kBinaryLogitDeviation = 2.5;

// Constant after construction: any thread may generate.
class SparseBinary : public Generator {
 public:
  SparseBinary(const SynthOptions& options, uint64_t seed)
      : seed_(seed),
        max_count_(options.nnz->maximum),
        counts_(CountLaw::Shape::kSkewed, options.nnz->minimum, options.nnz->maximum),
        features_(seed, 0, static_cast<uint64_t>(*options.dim), *options.zipf) {
    traits_.schema.slots = {{"features", false, *options.dim}};
    std::vector<double> scores;
    std::vector<Key> keys;
    DistinctRanks drawn;
    for (uint64_t i = 0; i < LogisticLabel::kCalibrationExamples; ++i) {
      ExampleRandom random(seed, Purpose::kCalibration, i);
      keys.clear();
      scores.push_back(draw_row(random, drawn, keys));
    }
    label_ = LogisticLabel::calibrate(scores, kBinaryLogitDeviation, *options.positive_rate);
  }

  const DataTraits& traits() const override { return traits_; }
  TruthKind truth_kind() const override { return TruthKind::kProbability; }
  int64_t max_row_values() const override { return max_count_; }

  void generate(uint64_t first, int64_t count, Sample& out) const override {
    out.batch.clear(traits_.schema);
    out.truth.clear();
    SlotData& slot = out.batch.slots[0];
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      ExampleRandom random(seed_, Purpose::kExample, i);
      double probability = label_.probability(draw_row(random, out.row, slot.keys));
      out.batch.labels.push_back(label_.draw(probability, random));
      out.truth.push_back(static_cast<float>(probability));
      slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    }
  }

 private:
  // Appends the ids of one row and returns the sum of their true weights.
  double draw_row(ExampleRandom& random, DistinctRanks& drawn, std::vector<Key>& keys) const {
    uint64_t count = counts_.draw(random);
    double score = 0;
    keys.resize(keys.size() + count);
    Key* out = keys.data() + keys.size() - count;
    features_.draw_distinct(count, random, drawn, [&](const Feature& feature) {
      *out++ = feature.key;
      score += feature.weight;
    });
    return score;
  }

  const uint64_t seed_;
  const int64_t max_count_;
  const CountLaw counts_;
  const FeatureLaw features_;
  LogisticLabel label_;
  DataTraits traits_;
};

SynthOptions defaults_sparse_binary() {
  SynthOptions options;
  options.dim = 18'182'296;
  options.nnz = {11, 360};
  options.zipf = 1.1;
  options.positive_rate = 0.2;
  return options;
}

std::unique_ptr<Generator> make_sparse_binary(const SynthOptions& options, uint64_t seed) {
  if (options.nnz->maximum > *options.dim) fail(Code::kUsage, "--nnz: a row cannot have more ids than --dim");
  return std::make_unique<SparseBinary>(options, seed);
}

}  // namespace

extern const GeneratorEntry kSparseBinaryGenerator = {
    "sparse-binary", "rows of distinct ids without values, label 0 or 1 by true weights of the ids",
    "paddle_sparse_binary", defaults_sparse_binary, make_sparse_binary};

}  // namespace ps
