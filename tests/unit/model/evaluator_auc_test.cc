#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "model/evaluators/score_histogram.h"

namespace ps::evaluator_auc_test {
namespace {

struct Example {
  float score;
  bool positive;
  float weight = 1;
};

double area(const std::vector<Example>& examples) {
  ScoreHistogram scores;
  for (const Example& e : examples) scores.add(e.score, e.positive, e.weight);
  return scores.area();
}

// By sorting all examples; ties share their wins.
double exact_area(std::vector<Example> examples) {
  std::sort(examples.begin(), examples.end(),
            [](const Example& a, const Example& b) { return a.score < b.score; });
  double won = 0, below = 0, positive = 0;
  for (size_t begin = 0, end = 0; begin < examples.size(); begin = end) {
    double positive_here = 0, negative_here = 0;
    for (; end < examples.size() && examples[end].score == examples[begin].score; ++end) {
      (examples[end].positive ? positive_here : negative_here) += static_cast<double>(examples[end].weight);
    }
    won += positive_here * (below + negative_here / 2);
    below += negative_here;
    positive += positive_here;
  }
  return won / (positive * below);
}

TEST(ScoreHistogram, CountsPairsByHand) {
  EXPECT_EQ(area({{0.1f, false}, {0.4f, false}, {0.35f, true}, {0.8f, true}}), 0.75);
  EXPECT_EQ(area({{0.5f, false}, {0.5f, true}}), 0.5);
  EXPECT_EQ(area({{-1, false}, {0.0f, false, 3}, {-0.0f, true, 2}, {1, true, 1}}),
            (2 * (1 + 1.5) + 4.0) / 12);
}

TEST(ScoreHistogram, AveragesPrecisionOverRecall) {
  auto average = [](const std::vector<Example>& examples) {
    ScoreHistogram scores;
    for (const Example& e : examples) scores.add(e.score, e.positive, e.weight);
    return scores.average_precision();
  };
  EXPECT_DOUBLE_EQ(average({{0.1f, false}, {0.4f, false}, {0.35f, true}, {0.8f, true}}), 0.5 + 0.5 * 2 / 3);
  EXPECT_DOUBLE_EQ(average({{0.5f, false, 3}, {0.5f, true}}), 0.25);
  EXPECT_DOUBLE_EQ(average({{0.5f, true, 3}}), 1);
  EXPECT_TRUE(std::isnan(average({{0.5f, false}})));
}

TEST(ScoreHistogram, IsUndefinedWithoutBothClasses) {
  EXPECT_TRUE(std::isnan(area({})));
  EXPECT_TRUE(std::isnan(area({{0.5f, true}, {0.7f, true}})));
  EXPECT_TRUE(std::isnan(area({{0.5f, true}, {0.7f, false, 0}})));
}

TEST(ScoreHistogram, OrdersInfinitiesAndPutsNanLowest) {
  const float inf = INFINITY, nan = std::nanf("");
  EXPECT_EQ(area({{-inf, false}, {-1e38f, true}, {1e38f, false}, {inf, true}}), 0.75);
  EXPECT_EQ(area({{nan, false}, {-nan, false}, {-inf, true}}), 1);
}

TEST(ScoreHistogram, EqualsAllPairsComparedOnTiedAndWeightedScores) {
  Random random(3, 0);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Example> examples;
    for (int i = 0; i < 200; ++i) {
      examples.push_back({static_cast<float>(random.below(30)) / 7 - 2, random.below(3) == 0,
                          trial % 2 ? 1.0f : static_cast<float>(random.uniform()) + 0.1f});
    }
    double won = 0, pairs = 0;
    for (const Example& p : examples) {
      for (const Example& n : examples) {
        if (!p.positive || n.positive) continue;
        double weight = static_cast<double>(p.weight) * static_cast<double>(n.weight);
        won += weight * (p.score > n.score ? 1 : p.score == n.score ? 0.5 : 0);
        pairs += weight;
      }
    }
    EXPECT_NEAR(area(examples), won / pairs, 1e-12);
  }
}

TEST(ScoreHistogram, GivesTheSameBitsHoweverTheExamplesAreSplitAndOrdered) {
  Random random(4, 0);
  std::vector<Example> examples;
  for (int i = 0; i < 300000; ++i) {
    bool positive = random.below(4) == 0;
    examples.push_back({static_cast<float>(random.normal() + positive), positive});
  }
  const double whole = area(examples);
  ScoreHistogram parts[3];
  for (size_t i = examples.size(); i-- > 0;) parts[i % 7 % 3].add(examples[i].score, examples[i].positive, 1);
  parts[2].merge(parts[0]);
  parts[2].merge(parts[1]);
  EXPECT_EQ(parts[2].area(), whole);
  EXPECT_NEAR(whole, exact_area(examples), 1e-12);
}

// Half of the scores lie within a hair's breadth of 0.5, a few thousand floats wide; half are spread over all
// magnitudes of float: the worst for any fixed grid of scores.
std::vector<Example> crowded_and_spread(size_t count) {
  Random random(5, 0);
  std::vector<Example> examples;
  for (size_t i = 0; i < count; ++i) {
    bool crowded = random.below(2) == 0;
    uint32_t bits =
        crowded ? 0x3f000000 + static_cast<uint32_t>(random.below(1 << 12)) : random.next32() % 0x3f000000;
    float score = std::bit_cast<float>(bits);
    double odds =
        crowded ? static_cast<double>(bits & 0xfff) / 0x1000 : std::log2(1 + static_cast<double>(bits)) / 32;
    examples.push_back({score, random.uniform() < odds * odds});
  }
  return examples;
}

TEST(ScoreHistogram, StaysWithinItsBoundsForAnyDistributionInAnyOrder) {
  std::vector<Example> examples = crowded_and_spread(3'000'000);
  const double exact = exact_area(examples);
  ScoreHistogram shuffled, halves[2], rising;
  for (size_t i = 0; i < examples.size(); ++i) {
    shuffled.add(examples[i].score, examples[i].positive, 1);
    halves[i % 2].add(examples[i].score, examples[i].positive, 1);
  }
  halves[0].merge(halves[1]);
  std::sort(examples.begin(), examples.end(),
            [](const Example& a, const Example& b) { return a.score < b.score; });
  for (const Example& e : examples) rising.add(e.score, e.positive, 1);
  for (const ScoreHistogram* scores : {&shuffled, &halves[0], &rising}) {
    EXPECT_NEAR(scores->area(), exact, 1e-6);
    std::string saved;
    scores->save(saved);
    ByteReader in(saved);
    EXPECT_LE(in.get<uint64_t>(), ScoreHistogram::kMaxScores) << "entries";
  }
}

}  // namespace
}  // namespace ps::evaluator_auc_test
