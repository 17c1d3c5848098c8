// Synthetic data: the same bytes however they are made, and the law that --truth states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "config/json.h"
#include "data/synth/count_law.h"
#include "data/synth/feature_law.h"
#include "data/synth/generator.h"
#include "data/synth/logistic_label.h"
#include "data/synth/permutation.h"
#include "data/synth/stream.h"
#include "data/synth/truth.h"
#include "data/synth/zipf.h"

namespace ps {
namespace {

SynthOptions small_options(const GeneratorEntry& kind) {
  SynthOptions options = kind.defaults();
  if (options.dim && kind.name != "dense") options.dim = std::min<int64_t>(*options.dim, 5000);
  return options;
}

std::unique_ptr<Generator> make_generator(std::string_view kind, uint64_t seed = 1) {
  const GeneratorEntry& entry = find_generator(kind);
  return entry.make(small_options(entry), seed);
}

std::string generate(std::string_view kind, StreamOptions options, uint64_t seed = 1) {
  std::unique_ptr<Generator> generator = make_generator(kind, seed);
  const WriterEntry& format = find_writer(find_generator(kind).native_format);
  options.sorted = format.sorted;
  std::string out;
  auto sink = [&](std::string_view bytes, int64_t) { return out += bytes, true; };
  generate_stream(*generator, *make_writer(format, generator->traits()), options, sink, nullptr);
  return out;
}

Json truth_of(const Generator& generator, int64_t samples) {
  Sample sample;
  generator.generate(0, samples, sample);
  TruthReport report(generator.truth_kind());
  report.add(sample);
  return report.json();
}

class EveryKind : public testing::TestWithParam<const GeneratorEntry*> {
 protected:
  std::string_view kind() const { return GetParam()->name; }
};

INSTANTIATE_TEST_SUITE_P(Datagen, EveryKind,
                         testing::ValuesIn(generator_catalog().begin(), generator_catalog().end()),
                         [](const auto& entry) {
                           std::string name(entry.param->name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryKind, GivesTheSameBytesWithAnyNumberOfThreads) {
  std::string one = generate(kind(), {.samples = 3001, .threads = 1});
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 3001);
  EXPECT_EQ(one, generate(kind(), {.samples = 3001, .threads = 2}));
  EXPECT_EQ(one, generate(kind(), {.samples = 3001, .threads = 5, .max_block = 17}));
}

TEST_P(EveryKind, GivesTheSameBytesInPartsAsInOne) {
  std::string whole = generate(kind(), {.samples = 1000});
  EXPECT_EQ(whole, generate(kind(), {.samples = 333}) + generate(kind(), {.first = 333, .samples = 667}));
}

TEST_P(EveryKind, GivesOtherBytesForAnotherSeed) {
  EXPECT_NE(generate(kind(), {.samples = 10}, 1), generate(kind(), {.samples = 10}, 2));
}

TEST_P(EveryKind, StopsWhenTheSinkSaysSo) {
  std::unique_ptr<Generator> generator = make_generator(kind());
  const WriterEntry& format = find_writer(GetParam()->native_format);
  int64_t examples = 0;
  auto sink = [&](std::string_view, int64_t count) { return (examples += count) < 1000; };
  StreamOptions endless{.threads = 2};
  generate_stream(*generator, *make_writer(format, generator->traits()), endless, sink, nullptr);
  EXPECT_GE(examples, 1000);
  EXPECT_LT(examples, 1300);
}

TEST_P(EveryKind, EndsInGoodOrderWhenAskedToStop) {
  std::unique_ptr<Generator> generator = make_generator(kind());
  if (generator->traits().content == DataTraits::kSentences) return;  // not for records
  std::unique_ptr<Writer> records = make_writer(find_writer("records"), generator->traits());
  std::string out, end;
  records->end(end);
  StreamOptions endless;
  endless.stop = [&] { return out.size() > 100000; };
  auto sink = [&](std::string_view bytes, int64_t) { return out += bytes, true; };
  generate_stream(*generator, *records, endless, sink, nullptr);
  EXPECT_TRUE(out.ends_with(end));
}

TEST_P(EveryKind, RefusesParametersItDoesNotUse) {
  SynthOptions options = GetParam()->defaults(), chosen;
  chosen.slots = options.slots ? std::nullopt : std::optional<int64_t>(3);
  chosen.classes = options.classes ? std::nullopt : std::optional<int64_t>(3);
  EXPECT_THROW(options.apply(chosen, kind()), Error);
}

TEST(SparseBinary, HasTheShapeOfPaddlePaddlesDemo) {
  const GeneratorEntry& kind = find_generator("sparse-binary");
  std::unique_ptr<Generator> generator = kind.make(kind.defaults(), 1);
  Sample sample;
  generator->generate(0, 20000, sample);
  const SlotData& slot = sample.batch.slots[0];
  EXPECT_NEAR(static_cast<double>(slot.keys.size()) / 20000, 100.8, 1.0);
  for (size_t b = 0; b < 20000; ++b) {
    std::set<Key> ids(slot.keys.begin() + slot.offsets[b], slot.keys.begin() + slot.offsets[b + 1]);
    ASSERT_EQ(ids.size(), slot.offsets[b + 1] - slot.offsets[b]) << "row " << b << " repeats an id";
    ASSERT_GE(ids.size(), 11u);
    ASSERT_LE(ids.size(), 360u);
    ASSERT_LT(*ids.rbegin(), 18182296u);
  }
  double positives = std::accumulate(sample.batch.labels.begin(), sample.batch.labels.end(), 0.0);
  EXPECT_NEAR(positives / 20000, 0.2, 0.012);
}

TEST(SparseBinary, HasExactlyTheCountAskedForUnderTheSteepestLaw) {
  const GeneratorEntry& kind = find_generator("sparse-binary");
  SynthOptions options = kind.defaults();
  options.nnz = {40, 40};
  options.zipf = 10;
  Sample sample;
  kind.make(options, 1)->generate(0, 100, sample);
  for (uint32_t b = 0; b <= 100; ++b) EXPECT_EQ(sample.batch.slots[0].offsets[b], 40 * b);
}

TEST(SparseFloat, HasTheRangesOfPaddlePaddlesDemo) {
  const GeneratorEntry& kind = find_generator("sparse-float");
  Sample sample;
  kind.make(kind.defaults(), 1)->generate(0, 5000, sample);
  const SlotData& slot = sample.batch.slots[0];
  auto [low, high] = std::minmax_element(slot.values.begin(), slot.values.end());
  EXPECT_GE(*low, 0.01f);
  EXPECT_LT(*low, 0.011f);
  EXPECT_LE(*high, 5.0f);
  EXPECT_GT(*high, 4.99f);
  EXPECT_NEAR(static_cast<double>(slot.keys.size()) / 5000, 55, 1.5);
  for (float label : sample.batch.labels) ASSERT_TRUE(label >= 0.01f && label <= 100.0f) << label;
}

TEST(Ctr, EachIdBelongsToOneSlot) {
  std::unique_ptr<Generator> generator = make_generator("ctr");
  Sample sample;
  generator->generate(0, 5000, sample);
  Key end_of_slot = 1;
  for (const SlotData& slot : sample.batch.slots) {
    auto [low, high] = std::minmax_element(slot.keys.begin(), slot.keys.end());
    EXPECT_GE(*low, end_of_slot);
    end_of_slot = *high + 1;
  }
}

TEST(Ctr, PairsCarryTheShareOfTheTruthAskedFor) {
  const GeneratorEntry& kind = find_generator("ctr");
  SynthOptions options = kind.defaults();
  options.interaction = 1;
  std::unique_ptr<Generator> generator = kind.make(options, 1);
  EXPECT_GT(truth_of(*generator, 20000)["auc"], 0.8);
}

TEST(Dense, HasPixelsBetweenZeroAndOneAndAllClasses) {
  std::unique_ptr<Generator> generator = make_generator("dense");
  Sample sample;
  generator->generate(0, 2000, sample);
  const std::vector<float>& values = sample.batch.slots[0].values;
  EXPECT_EQ(values.size(), 2000u * 256);
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0.0f);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 1.0f);
  std::set<float> labels(sample.batch.labels.begin(), sample.batch.labels.end());
  EXPECT_EQ(labels.size(), 10u);
  EXPECT_GT(truth_of(*generator, 2000)["accuracy"], 0.95);
}

// Slope of the logarithm of the frequency over that of the rank, in ranges of ranks that double.
double zipf_slope(uint64_t num_ranks, double exponent) {
  ZipfLaw law(num_ranks, exponent);
  ExampleRandom random(7, Purpose::kExample, 0);
  std::vector<double> mass(64);
  for (int i = 0; i < 400000; ++i) ++mass[std::bit_width(law.draw(random) + 1) - 1];
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int k = 3; (uint64_t{2} << k) <= num_ranks && mass[static_cast<size_t>(k)] > 100; ++k) {
    double x = k, y = std::log2(mass[static_cast<size_t>(k)]) - k;  // frequency of one rank, up to a constant
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

TEST(Zipf, RanksFollowThePowerLaw) {
  EXPECT_NEAR(zipf_slope(1 << 20, 1.1), -1.1, 0.03);
  EXPECT_NEAR(zipf_slope(1 << 24, 0.7), -0.7, 0.03);
  EXPECT_NEAR(zipf_slope(1 << 12, 0.0), 0.0, 0.03);
}

// Chi-squared over all ranks, where ranges of ranks, single ranks and the last, short range all occur.
TEST(Zipf, EveryRankHasItsProbability) {
  constexpr uint64_t kRanks = 1203;
  constexpr double kExponent = 0.9, kDraws = 2e6;
  ZipfLaw law(kRanks, kExponent);
  std::vector<double> expected(kRanks), seen(kRanks);
  for (uint64_t r = 0; r < kRanks; ++r) expected[r] = std::pow(static_cast<double>(r + 1), -kExponent);
  double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
  ExampleRandom random(3, Purpose::kExample, 0);
  for (int i = 0; i < static_cast<int>(kDraws); ++i) ++seen[law.draw(random)];
  double chi = 0;
  for (uint64_t r = 0; r < kRanks; ++r) {
    double mean = expected[r] / sum * kDraws;
    chi += (seen[r] - mean) * (seen[r] - mean) / mean;
  }
  EXPECT_LT(chi, 1202 + 5 * std::sqrt(2 * 1202.0));
  EXPECT_GT(chi, 1202 - 5 * std::sqrt(2 * 1202.0));
}

TEST(Permutation, MapsEachRangeOntoItself) {
  for (uint64_t n : {1, 2, 3, 63, 64, 65, 1000, 4097, 30011}) {
    Permutation permutation(n, 5, 0);
    std::vector<bool> hit(n);
    for (uint64_t x = 0; x < n; ++x) hit.at(permutation(x)) = true;
    EXPECT_EQ(std::count(hit.begin(), hit.end(), true), static_cast<int64_t>(n));
  }
}

TEST(Permutation, SpreadsNeighbours) {
  constexpr uint64_t kN = 18182296;
  Permutation permutation(kN, 1, 0);
  std::vector<int> quarter(16);
  for (uint64_t x = 0; x < 16000; ++x) ++quarter[permutation(x) * 16 / kN];
  for (int count : quarter) EXPECT_NEAR(count, 1000, 150);
}

TEST(FeatureLaw, RareIdsSayLittleAndFrequentOnesMuch) {
  FeatureLaw law(1, 0, 10'000'000, 1.1);
  auto mean_square = [&](uint64_t first) {
    double sum = 0;
    for (uint64_t r = first; r < first + 500; ++r)
      sum += law.feature(r).weight * double{law.feature(r).weight};
    return sum / 500;
  };
  EXPECT_NEAR(mean_square(0), 1, 0.15);
  EXPECT_LT(mean_square(1 << 20), 0.002);
}

TEST(Truth, PositiveRateAndAttainableAucAreWhatTheKindPromises) {
  for (std::string_view kind : {"sparse-binary", "ctr", "criteo"}) {
    std::unique_ptr<Generator> generator = make_generator(kind);
    Json truth = truth_of(*generator, 20000);
    EXPECT_NEAR(truth["positive_rate"].get<double>(),
                small_options(find_generator(kind)).positive_rate.value(), 0.015);
    EXPECT_GT(truth["auc"], 0.78) << kind;
    EXPECT_LT(truth["auc"], 0.95) << kind;
  }
}

// The AUC counted over all pairs, and the calibration of the probabilities.
TEST(Truth, AucIsThatOfTheTrueProbabilities) {
  std::unique_ptr<Generator> generator = make_generator("ctr");
  Sample sample;
  generator->generate(0, 3000, sample);
  double wins = 0, pairs = 0, expected = 0, positives = 0;
  for (size_t i = 0; i < 3000; ++i) {
    expected += sample.truth[i];
    positives += sample.batch.labels[i];
    for (size_t j = 0; j < 3000; ++j) {
      if (sample.batch.labels[i] <= sample.batch.labels[j]) continue;
      pairs += 1;
      wins += sample.truth[i] > sample.truth[j] ? 1 : sample.truth[i] == sample.truth[j] ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(truth_of(*generator, 3000)["auc"].get<double>(), wins / pairs, 1e-5);
  EXPECT_NEAR(positives, expected, 5 * std::sqrt(expected));
}

TEST(Truth, RegressionErrsByTheNoiseAlone) {
  Json truth = truth_of(*make_generator("sparse-float"), 20000);
  EXPECT_NEAR(truth["rmse"].get<double>(), 5, 0.15);
  EXPECT_NEAR(truth["label_deviation"].get<double>(), std::hypot(15, 5), 0.6);
}

// Frequencies of words and of pairs of words, counted in a long text.
class LanguageText : public testing::Test {
 protected:
  void SetUp() override {
    const GeneratorEntry& kind = find_generator("language");
    SynthOptions options = kind.defaults();
    options.dim = 50;
    generator_ = kind.make(options, 1);
    generator_->generate(0, 60000, sample_);
    const SlotData& slot = sample_.batch.slots[0];
    for (size_t b = 0; b + 1 < slot.offsets.size(); ++b) {
      for (size_t k = slot.offsets[b]; k < slot.offsets[b + 1]; ++k) {
        ++words_[slot.keys[k]];
        if (k > slot.offsets[b]) ++pairs_[{slot.keys[k - 1], slot.keys[k]}];
      }
    }
  }

  // Entropy of counted things, in nats.
  template <class Counts>
  static double entropy(const Counts& counts) {
    double total = 0, sum = 0;
    for (const auto& [thing, count] : counts) total += count;
    for (const auto& [thing, count] : counts) sum -= count / total * std::log(count / total);
    return sum;
  }

  std::unique_ptr<Generator> generator_;
  Sample sample_;
  std::map<Key, double> words_;
  std::map<std::pair<Key, Key>, double> pairs_;
};

TEST_F(LanguageText, HasThePerplexitiesThatAreStated) {
  Json facts = generator_->facts();
  EXPECT_NEAR(facts["unigram_perplexity"].get<double>() / std::exp(entropy(words_)), 1, 0.01);
  EXPECT_NEAR(facts["attainable_perplexity"].get<double>() / std::exp(entropy(pairs_) - entropy(words_)), 1,
              0.01);
  EXPECT_LT(facts["attainable_perplexity"], 0.7 * facts["unigram_perplexity"].get<double>());
}

TEST_F(LanguageText, CostsUnderItsLawWhatItsEntropiesSay) {
  Json facts = generator_->facts();
  TruthReport report(generator_->truth_kind());
  report.add(sample_);
  double words = report.json()["words"].get<double>(), first = 60000 / words;
  double expected = first * facts["unigram_entropy_nats"].get<double>() +
                    (1 - first) * facts["bigram_entropy_nats"].get<double>();
  EXPECT_NEAR(std::log(report.json()["perplexity"].get<double>()), expected, 0.005);
}

}  // namespace
}  // namespace ps
