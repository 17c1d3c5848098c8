#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/file.h"
#include "config/json.h"
#include "model/layers/noise.h"
#include "one_layer.h"
#include "support/thrown_error.h"

namespace ps::nce_test {
namespace {

// A file that is gone with the test.
class WeightsFile {
 public:
  explicit WeightsFile(std::string_view text)
      : path_(join_path(testing::TempDir(), cat("nce-weights-", getpid(), ".txt"))) {
    write_file(path_, text);
  }
  ~WeightsFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

void expect_draws_match_probabilities(const NoiseDistribution& noise, int64_t classes) {
  constexpr int kDraws = 200000;
  Random random(5, 0);
  std::vector<int> counts(static_cast<size_t>(classes));
  for (int i = 0; i < kDraws; ++i) ++counts.at(static_cast<size_t>(noise.draw(random)));
  double total = 0;
  for (int64_t c = 0; c < classes; ++c) {
    double probability = std::exp(noise.log_probability(c)), expected = kDraws * probability;
    EXPECT_NEAR(counts[static_cast<size_t>(c)], expected, 5 * std::sqrt(expected)) << c;  // five deviations
    total += probability;
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST(NoiseDistribution, DrawsWithTheProbabilitiesThatItStates) {
  expect_draws_match_probabilities(NoiseDistribution::uniform(7), 7);
  expect_draws_match_probabilities(NoiseDistribution::log_uniform(50), 50);
  expect_draws_match_probabilities(NoiseDistribution::of_weights({1}), 1);
  expect_draws_match_probabilities(NoiseDistribution::of_weights({5, 1, 1e-3, 0.25, 30, 2, 2}), 7);
}

TEST(NoiseDistribution, ReadsTheLastFieldOfEachLineAndSaysWhichIsWrong) {
  EXPECT_EQ(read_class_weights(WeightsFile("3\nthe\t12\r\nof the 1.5").path(), 3),
            (std::vector<double>{3, 12, 1.5}));
  WeightsFile wrong("1\n2\nword -3\n");
  EXPECT_EQ(error_of([&] { read_class_weights(wrong.path(), 3); }, Code::kUsage),
            cat(wrong.path(), ":3: weight '-3' is not a positive number"));
  WeightsFile few("1\n2\n");
  EXPECT_EQ(error_of([&] { read_class_weights(few.path(), 3); }, Code::kUsage),
            cat("noise.file: ", quote(few.path()), " has 2 weights, expected one for each of 3 classes"));
}

TEST(Nce, CostsWhatTheFormulaSaysOfTheClassesDrawn) {
  constexpr int64_t kNegatives = 4;
  OneLayer<double> layer(
      {{"type", "nce"}, {"num_classes", 9}, {"num_neg_samples", kNegatives}, {"noise", "log_uniform"}}, 5);
  Batch batch = labelled_points({3, 8, 3}, 5);
  std::vector<float> costs = layer.costs(batch, /*training=*/true);
  const SampledKeys& drawn = layer.prepared().samples[0];
  const NoiseDistribution noise = NoiseDistribution::log_uniform(9);
  for (size_t b = 0; b < 3; ++b) {
    ASSERT_EQ(drawn.offsets[b + 1] - drawn.offsets[b], 1 + kNegatives);
    EXPECT_EQ(drawn.keys[drawn.offsets[b]], static_cast<Key>(batch.labels[b]));
    double expected = 0;
    for (size_t k = drawn.offsets[b]; k < drawn.offsets[b + 1]; ++k) {
      int64_t c = static_cast<int64_t>(drawn.keys[k]);
      double odds =
          std::exp(score(layer, batch, drawn.keys[k], b)) / (kNegatives * std::exp(noise.log_probability(c)));
      expected -= std::log(k == drawn.offsets[b] ? odds / (1 + odds) : 1 / (1 + odds));
    }
    EXPECT_NEAR(costs[b], expected, 1e-5);
  }
}

TEST(Nce, DrawsAnewEachStepAndTheSameInEveryRun) {
  auto keys = [](int64_t step) {
    OneLayer<float> layer({{"type", "nce"}, {"num_classes", 1000}}, 2);
    layer.costs(labelled_points({1, 2}, 2), true, step);
    return layer.prepared().samples[0].keys;
  };
  EXPECT_EQ(keys(3), keys(3));
  EXPECT_NE(keys(3), keys(4));
}

TEST(Nce, TestsByTheExactSoftmaxOverAllClasses) {
  constexpr size_t kClasses = 2500, kDim = 6;  // more than two blocks of classes
  OneLayer<double> layer({{"type", "nce"}, {"num_classes", kClasses}}, kDim);
  Batch batch = labelled_points({0, 1023, 1024, 2499, 17}, kDim);
  std::vector<float> costs = layer.costs(batch, /*training=*/false);
  for (size_t b = 0; b < batch.labels.size(); ++b) {
    double sum = 0;
    for (size_t c = 0; c < kClasses; ++c) sum += std::exp(score(layer, batch, c, b));
    double expected = std::log(sum) - score(layer, batch, static_cast<size_t>(batch.labels[b]), b);
    EXPECT_NEAR(costs[b], expected, 1e-6 * expected);
  }
}

TEST(Nce, LearnsAUnigramDistributionUntilItsTestCostIsTheEntropy) {
  constexpr size_t kClasses = 20, kBatch = 100;
  std::vector<double> probability(kClasses);
  for (size_t c = 0; c < kClasses; ++c) probability[c] = 1.0 / static_cast<double>(c + 1);
  const NoiseDistribution truth = NoiseDistribution::of_weights(probability);
  double entropy = 0;
  for (int64_t c = 0; c < static_cast<int64_t>(kClasses); ++c) {
    entropy -= std::exp(truth.log_probability(c)) * truth.log_probability(c);
  }
  OneLayer<float> layer({{"type", "nce"}, {"num_classes", kClasses}}, 1, /*deviation=*/0.1);
  Random random(9, 0);
  Batch batch = labelled_points(std::vector<float>(kBatch), 1);
  batch.slots[0].values.assign(kBatch, 1.0f);  // nothing to go by: the model is the unigram's
  auto draw_labels = [&] {
    for (float& label : batch.labels) label = static_cast<float>(truth.draw(random));
  };
  for (int64_t step = 0; step < 3000; ++step) {
    draw_labels();
    layer.train(batch, step, 0.5f / (1 + static_cast<float>(step) / 500));
  }
  // One example a class gives the exact expectation, and the scores should sum to 1 by themselves.
  for (size_t c = 0; c < kBatch; ++c) batch.labels[c] = static_cast<float>(c % kClasses);
  std::vector<float> costs = layer.costs(batch, /*training=*/false);
  double expected_cost = 0, total = 0;
  for (size_t c = 0; c < kClasses; ++c) {
    expected_cost += std::exp(truth.log_probability(static_cast<int64_t>(c))) * static_cast<double>(costs[c]);
    total += std::exp(score(layer, batch, c, 0));
  }
  EXPECT_GE(expected_cost, entropy - 1e-6);
  EXPECT_LT(expected_cost, entropy + 0.005);
  EXPECT_NEAR(total, 1, 0.1);
}

TEST(Nce, StaysFiniteForExtremeScores) {
  OneLayer<float> layer({{"type", "nce"}, {"num_classes", 50}}, 3, /*deviation=*/1e4);
  Batch batch = labelled_points({1, 2, 3}, 3);
  for (bool training : {false, true}) {
    for (float cost : layer.costs(batch, training)) EXPECT_TRUE(std::isfinite(cost));
  }
  for (float gradient : layer.gradients()) EXPECT_TRUE(std::isfinite(gradient));
}

TEST(Nce, IsTheSameForEveryNumberOfThreads) {
  const Json object = {{"type", "nce"}, {"num_classes", 3000}};
  OneLayer<float> one(object, 40, 0.3, 1), four(object, 40, 0.3, 4);
  std::vector<float> labels;
  for (int b = 0; b < 500; ++b) labels.push_back(static_cast<float>(b * b % 300));
  Batch batch = labelled_points(labels, 40);
  EXPECT_EQ(one.costs(batch, false), four.costs(batch, false));
  EXPECT_EQ(one.costs(batch, true), four.costs(batch, true));
  EXPECT_EQ(one.gradients(), four.gradients());
}

TEST(Nce, RefusesLabelsAndOptionsThatMakeNoSense) {
  OneLayer<float> layer({{"type", "nce"}, {"num_classes", 10}}, 2);
  std::vector<float> labels(13, 9);
  labels[12] = 7.5;
  for (bool training : {false, true}) {
    EXPECT_EQ(error_of([&] { layer.costs(labelled_points(labels, 2), training); }, Code::kData),
              "label 7.5 of example 12 is not a class of 10");
  }
  EXPECT_TRUE(layer.costs(labelled_points({}, 2), true).empty());
  EXPECT_TRUE(layer.costs(labelled_points({}, 2), false).empty());
  auto make = [](Json more) {
    Json object = {{"type", "nce"}, {"num_classes", 10}};
    object.update(more);
    OneLayer<float>(object, 2);
  };
  EXPECT_EQ(error_of(
                [&] {
                  make({{"noise", "unifrom"}});
                },
                Code::kUsage),
            "model.layers.0.noise: unknown value 'unifrom' (did you mean 'uniform'?); expected one of "
            "uniform, log_uniform");
  EXPECT_EQ(error_of(
                [&] {
                  make({{"activation", "softmax"}});
                },
                Code::kUsage),
            "model.layers.0.activation: nce gives costs, and takes only 'linear', found 'softmax'");
}

TEST(Nce, StartsWithBiasesThatMakeTheProbabilitiesSumToOne) {
  OneLayer<float> layer({{"type", "nce"}, {"num_classes", 1000}}, 2);
  const Initializer& bias = layer.network().parameters()[1].initializer;
  EXPECT_EQ(bias.distribution, Distribution::kConstant);
  EXPECT_DOUBLE_EQ(bias.mean, -std::log(1000.0));
}

// Examples 0, 2 and 4 choose an item; 1 is of no positive label, and 3 has no item.
Batch points_with_items() {
  Batch batch = labelled_points({1, 0, 1, 1, 2}, 5);
  batch.slots.push_back({.offsets = {0, 1, 2, 4, 4, 5}, .keys = {3, 5, 8, 1, 3}, .values = {}});
  return batch;
}

TEST(Nce, ChoosesTheItemOfASlotAsItChoosesALabel) {
  const Json options = {{"type", "nce"}, {"num_classes", 9}, {"num_neg_samples", 6}};
  OneLayer<double> by_slot(options, 5, 1, 1, 9), by_label(options, 5);
  const Batch items = points_with_items();
  Batch labels = items;
  labels.slots.pop_back();
  labels.labels = {3, 5, 8, 0, 3};
  const std::vector<float> tested = by_slot.costs(items, false), expected = by_label.costs(labels, false);
  for (size_t b = 0; b < 5; ++b) EXPECT_EQ(tested[b], b == 1 || b == 3 ? 0 : expected[b]) << b;

  const std::vector<float> costs = by_slot.costs(items, true);
  EXPECT_EQ(by_slot.prepared().samples[0].offsets, (std::vector<uint32_t>{0, 7, 7, 14, 14, 21}));
  const std::vector<Key>& drawn = by_slot.prepared().samples[0].keys;
  EXPECT_EQ((std::vector<Key>{drawn[0], drawn[7], drawn[14]}), (std::vector<Key>{3, 8, 3}));
  EXPECT_EQ(costs[1], 0);
  EXPECT_EQ(costs[3], 0);
  // The first example draws the same negatives as the label of the same number does.
  EXPECT_EQ(costs[0], by_label.costs(labels, true)[0]);
}

TEST(Nce, LearnsItemsFromSampledNegatives) {
  const Json options = {{"type", "nce"}, {"num_classes", 9}, {"num_neg_samples", 20}};
  OneLayer<double> layer(options, 5, 0.1, 1, 9);
  const Batch batch = points_with_items();
  for (int step = 0; step < 400; ++step) layer.train(batch, step, 0.5);
  for (const float cost : layer.costs(batch, false))
    EXPECT_LT(cost, 0.2) << "the items are not the likely ones";
}

TEST(Nce, RefusesASlotWhoseIdsAreNoClasses) {
  const Json options = {{"type", "nce"}, {"num_classes", 9}};
  EXPECT_THAT(error_of([&] { OneLayer<float>(options, 5, 1, 1, 10); }, Code::kUsage),
              testing::HasSubstr(
                  "num_classes: found 9, but the ids of slot 'item', which are the classes, are below 10"));
  EXPECT_THAT(error_of([&] { OneLayer<float>(options, 5, 1, 1, 0); }, Code::kUsage),
              testing::HasSubstr("have no dim"));
}

}  // namespace
}  // namespace ps::nce_test
