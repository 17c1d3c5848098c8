// Fits of calibrations against plain references: Platt's loss by a search of its whole plane, isotonic regression by its
// formula of largest and smallest means.
#include "train/calibration_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace ps::calibration_fit_test {
namespace {

using Examples = std::vector<CalibrationExample>;

// Probabilities that are far too sure: the true one is the logistic function of a third of their logit, less a half.
Examples sure_examples(int64_t size, uint64_t seed, bool weighted) {
  Random random(seed, 0);
  Examples examples;
  for (int64_t i = 0; i < size; ++i) {
    const double logit = 3 * random.normal(), truth = 1 / (1 + std::exp(0.5 - logit / 3));
    const auto probability = static_cast<float>(1 / (1 + std::exp(-logit)));
    const float weight = weighted ? static_cast<float>(random.below(3)) : 1;
    examples.push_back({probability, random.uniform() < truth, weight});
  }
  return examples;
}

// The cross entropy of Platt scaling, written down from the paper.
double platt_loss(const Examples& examples, double scale, double offset) {
  double positive = 0, negative = 0, sum = 0;
  for (const CalibrationExample& e : examples) (e.positive ? positive : negative) += double{e.weight};
  for (const CalibrationExample& e : examples) {
    const double logit = std::log(double{e.probability} / (1 - double{e.probability}));
    const double p = 1 / (1 + std::exp(-(scale * logit + offset)));
    const double target = e.positive ? (positive + 1) / (positive + 2) : 1 / (negative + 2);
    sum -= double{e.weight} * (target * std::log(p) + (1 - target) * std::log(1 - p));
  }
  return sum;
}

// Goes down along the axes, by ever smaller steps.
std::pair<double, double> least_loss(const Examples& examples) {
  double at[2] = {1, 0}, value = platt_loss(examples, at[0], at[1]);
  for (double step = 1; step > 1e-7; step /= 2) {
    for (bool moved = true; moved;) {
      moved = false;
      for (int axis : {0, 1}) {
        for (double by : {step, -step}) {
          double next[2] = {at[0], at[1]};
          next[axis] += by;
          const double other = platt_loss(examples, next[0], next[1]);
          if (other >= value) continue;
          std::copy(next, next + 2, at);
          value = other;
          moved = true;
        }
      }
    }
  }
  return {at[0], at[1]};
}

TEST(FitPlatt, FindsTheLeastOfTheLoss) {
  for (bool weighted : {false, true}) {
    const Examples examples = sure_examples(200, 7, weighted);
    const Calibration fitted = fit_platt(examples);
    const auto [scale, offset] = least_loss(examples);
    EXPECT_NEAR(fitted.scale, scale, 1e-4);
    EXPECT_NEAR(fitted.offset, offset, 1e-4);
    EXPECT_LE(platt_loss(examples, fitted.scale, fitted.offset), platt_loss(examples, scale, offset) + 1e-9);
  }
}

TEST(FitPlatt, FindsTheTruthOfManyExamples) {
  const Calibration fitted = fit_platt(sure_examples(200000, 3, false));
  EXPECT_NEAR(fitted.scale, 1.0 / 3, 0.02);
  EXPECT_NEAR(fitted.offset, -0.5, 0.02);
}

TEST(FitPlatt, IsFiniteWhereLabelsAreSeparatedAndProbabilitiesRoundTo0And1) {
  const Calibration fitted = fit_platt({{0, false, 1}, {0, false, 1}, {1, true, 1}, {1, true, 1}});
  // The targets are (2 + 1) / (2 + 2) and 1 / (2 + 2).
  EXPECT_NEAR(fitted.apply(1), 0.75, 1e-6);
  EXPECT_NEAR(fitted.apply(0), 0.25, 1e-6);
}

// max over a <= i of min over b >= i of the mean of examples a to b: the solution of isotonic regression as a formula.
double isotonic_value(const Examples& sorted, size_t i) {
  double best = -1;
  for (size_t a = 0; a <= i; ++a) {
    if (a > 0 && sorted[a - 1].probability == sorted[a].probability) continue;  // equal ones stay together
    double least = 2, weight = 0, positive = 0;
    for (size_t b = a; b < sorted.size(); ++b) {
      weight += double{sorted[b].weight};
      positive += sorted[b].positive ? double{sorted[b].weight} : 0;
      const bool tied = b + 1 < sorted.size() && sorted[b + 1].probability == sorted[b].probability;
      if (b >= i && !tied && weight > 0) least = std::min(least, positive / weight);
    }
    best = std::max(best, least);
  }
  return best;
}

TEST(FitIsotonic, IsTheFormulaOfLargestAndSmallestMeans) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, 1);
    Examples examples;
    for (int i = 0; i < 30; ++i) {
      examples.push_back({static_cast<float>(random.below(12)) / 16, random.below(2) == 1,
                          static_cast<float>(1 + random.below(3))});
    }
    const Calibration fitted = fit_isotonic(examples);
    std::stable_sort(examples.begin(), examples.end(),
                     [](const auto& a, const auto& b) { return a.probability < b.probability; });
    for (size_t i = 0; i < examples.size(); ++i)
      EXPECT_FLOAT_EQ(fitted.apply(examples[i].probability), static_cast<float>(isotonic_value(examples, i)))
          << seed;
    EXPECT_TRUE(std::is_sorted(fitted.from.begin(), fitted.from.end()));
    EXPECT_TRUE(std::is_sorted(fitted.to.begin(), fitted.to.end()));
  }
}

TEST(FitIsotonic, IsAStraightLineBetweenItsPointsAndFlatBeyond) {
  const Calibration fitted = fit_isotonic({{0.25F, false, 1}, {0.75F, true, 3}, {0.5F, false, 0}});
  EXPECT_EQ(fitted.from, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(fitted.to, (std::vector<double>{0, 1}));
  EXPECT_EQ(fitted.apply(0.5F), 0.5F);
  EXPECT_EQ(fitted.apply(0.375F), 0.25F);
  EXPECT_EQ(fitted.apply(0.1F), 0.0F);
  EXPECT_EQ(fitted.apply(0.9F), 1.0F);
  EXPECT_TRUE(std::isnan(fitted.apply(std::nanf(""))));
}

TEST(FitCalibration, NeedsBothLabels) {
  EXPECT_THROW(fit_calibration("platt", {{0.5F, true, 1}, {0.5F, false, 0}}), Error);
  EXPECT_THROW(fit_calibration("isotonic", {}), Error);
}

}  // namespace
}  // namespace ps::calibration_fit_test
