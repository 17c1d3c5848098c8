#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "config/json.h"
#include "one_layer.h"

namespace ps::hsigmoid_test {
namespace {

TEST(Hsigmoid, GivesAllClassesTogetherTheProbabilityOne) {
  for (int classes : {2, 3, 7, 8, 9, 100}) {
    OneLayer<double> layer({{"type", "hsigmoid"}, {"num_classes", classes}}, 4);
    std::vector<float> labels;
    for (int c = 0; c < classes; ++c) labels.push_back(static_cast<float>(c));
    Batch batch = labelled_points(labels, 4);
    for (int c = 1; c < classes; ++c)
      std::copy_n(batch.slots[0].values.begin(), 4, batch.slots[0].values.begin() + 4 * c);
    double total = 0;
    for (float cost : layer.costs(batch, /*training=*/false)) total += std::exp(-static_cast<double>(cost));
    EXPECT_NEAR(total, 1, 1e-5) << classes;
    EXPECT_EQ(layer.costs(batch, true), layer.costs(batch, false));
  }
}

TEST(Hsigmoid, GoesDownTheTreeThatTheBitsOfTheClassDescribe) {
  OneLayer<double> layer({{"type", "hsigmoid"}, {"num_classes", 5}}, 3);
  Batch batch = labelled_points({0, 3}, 3);
  std::vector<float> costs = layer.costs(batch, /*training=*/true);
  // Class 0 is leaf 5 = 0b101: right of node 2, which is left of node 1.  Class 3 is leaf 8 = 0b1000: left of
  // 4, of 2, of 1.
  EXPECT_EQ(layer.prepared().samples[0].keys, (std::vector<Key>{1, 0, 3, 1, 0}));
  auto minus_log = [&](size_t row, size_t b, bool right) {
    double s = score(layer, batch, row, b);
    return std::log(1 + std::exp(right ? -s : s));
  };
  EXPECT_NEAR(costs[0], minus_log(1, 0, true) + minus_log(0, 0, false), 1e-5);
  EXPECT_NEAR(costs[1], minus_log(3, 1, false) + minus_log(1, 1, false) + minus_log(0, 1, false), 1e-5);
}

TEST(Hsigmoid, StaysFiniteForExtremeScoresAndIsTheSameForEveryNumberOfThreads) {
  const Json object = {{"type", "hsigmoid"}, {"num_classes", 1000}};
  OneLayer<float> one(object, 30, 1e4, 1), four(object, 30, 1e4, 4);
  std::vector<float> labels;
  for (int b = 0; b < 700; ++b) labels.push_back(static_cast<float>(b * b % 900));
  Batch batch = labelled_points(labels, 30);
  std::vector<float> costs = one.costs(batch, true), gradients = one.gradients();
  for (float value : costs) EXPECT_TRUE(std::isfinite(value));
  for (float value : gradients) EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(costs, four.costs(batch, true));
  EXPECT_EQ(gradients, four.gradients());
}

TEST(Hsigmoid, RefusesLabelsThatAreNoClass) {
  OneLayer<float> layer({{"type", "hsigmoid"}, {"num_classes", 10}}, 2);
  EXPECT_TRUE(layer.costs(labelled_points({}, 2), true).empty());
  try {
    layer.costs(labelled_points({1, 10}, 2), true);
    FAIL() << "label 10 was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kData);
    EXPECT_EQ(error.message(), "label 10 of example 1 is not a class of 10");
  }
}

}  // namespace
}  // namespace ps::hsigmoid_test
