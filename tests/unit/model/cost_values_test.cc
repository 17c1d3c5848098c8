// Compares each cost with values computed by hand, and tests refused input, several threads and extreme
// scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/catalog.h"
#include "model/cost.h"
#include "support/thrown_error.h"

namespace ps::cost_values_test {
namespace {

using testing::ElementsAre;
using testing::Pointwise;

MATCHER_P(IsCloseWithin, tolerance, "") {
  return std::fabs(std::get<0>(arg) - std::get<1>(arg)) <=
         tolerance * std::max(1.0, std::fabs(std::get<1>(arg)));
}

// A slot of labels, for the cost that takes any number of them.
const DataSchema& labels_schema() {
  static const DataSchema schema{{{.name = "labels", .dense = false, .dim = 0}}};
  return schema;
}

std::unique_ptr<Cost<double>> make(const Json& object, int64_t cols, std::string_view activation = "linear") {
  Json complete = object;
  complete["input"] = "output";
  return find_entry(cost_catalog(), complete, "cost", "cost")
      .make_double(without_type(complete), {cols, activation, labels_schema()});
}

struct Evaluated {
  std::vector<double> costs, gradient;
};

Evaluated evaluate(const Cost<double>& cost, int64_t cols, std::vector<double> scores, const Batch& batch,
                   int threads = 1) {
  Device device(threads, best_cpu_level());
  Evaluated out{std::vector<double>(batch.labels.size()), std::vector<double>(scores.size(), 12345)};
  cost.evaluate({scores.data(), batch.size(), cols}, batch, device, out.costs,
                {out.gradient.data(), batch.size(), cols});
  return out;
}

Batch labelled(std::vector<float> labels, std::vector<float> weights = {},
               std::vector<uint64_t> groups = {}) {
  Batch batch;
  batch.labels = std::move(labels);
  batch.weights = std::move(weights);
  batch.groups = std::move(groups);
  return batch;
}

TEST(CrossEntropy, OfLogitsIsTheNegativeLogOfSoftmax) {
  auto cost = make({{"type", "cross_entropy"}}, 2, "softmax");
  ASSERT_TRUE(cost->uses_logits());
  Evaluated got = evaluate(*cost, 2, {0, std::log(3.0), 5, 5}, labelled({1, 0}, {1, 2}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {std::log(4.0 / 3), 2 * std::log(2.0)}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {0.25, -0.25, -1.0, 1.0}));
}

TEST(CrossEntropy, OfProbabilitiesTakesThemAsTheyAre) {
  auto cost = make({{"type", "cross_entropy"}}, 3, "sigmoid");
  ASSERT_FALSE(cost->uses_logits());
  Evaluated got = evaluate(*cost, 3, {0.2, 0.5, 0.3}, labelled({1}, {3}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {3 * std::log(2.0)}));
  EXPECT_THAT(got.gradient, ElementsAre(0, -6, 0));
}

TEST(CrossEntropy, SaysThatTheSoftmaxIsMissingWhenItsInputIsNoProbability) {
  auto cost = make({{"type", "cross_entropy"}}, 2, "linear");
  EXPECT_EQ(error_of(
                [&] {
                  evaluate(*cost, 2, {-0.5, 1.5}, labelled({0}));
                },
                Code::kUsage),
            "cross_entropy: -0.5 for example 0 is not a probability (give the input layer the activation "
            "'softmax')");
}

TEST(CrossEntropy, RefusesLabelsThatAreNoClass) {
  auto cost = make({{"type", "cross_entropy"}}, 10, "softmax");
  std::vector<float> labels(13, 9);
  labels[12] = 7.5;
  EXPECT_EQ(error_of([&] { evaluate(*cost, 10, std::vector<double>(130), labelled(labels)); }, Code::kData),
            "label 7.5 of example 12 is not a class of 10");
  for (float wrong : {-1.0f, 10.0f, std::nanf(""), 1e30f}) {
    EXPECT_THROW(evaluate(*cost, 10, std::vector<double>(10), labelled({wrong})), Error) << wrong;
  }
}

TEST(CrossEntropy, SendsOneValuePerExampleToBinaryCrossEntropy) {
  EXPECT_EQ(error_of(
                [] {
                  make({{"type", "cross_entropy"}}, 1, "softmax");
                },
                Code::kUsage),
            "cross_entropy takes a value for each of two or more classes, found 1 (binary_cross_entropy "
            "takes one)");
}

TEST(BinaryCrossEntropy, TakesZeroAndMinusOneAsTheSameLabel) {
  auto cost = make({{"type", "binary_cross_entropy"}}, 1);
  double score = std::log(3.0);  // probability 3/4
  Evaluated got = evaluate(*cost, 1, {score, score, score}, labelled({1, 0, -1}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {std::log(4.0 / 3), std::log(4.0), std::log(4.0)}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {-0.25, 0.75, 0.75}));
  EXPECT_EQ(error_of(
                [&] {
                  evaluate(*cost, 1, {score, score}, labelled({1, 0.5}));
                },
                Code::kData),
            "label 0.5 of example 1 is not 0, 1 or -1");
}

TEST(BinaryCrossEntropy, PosWeightMultipliesTheCostOfPositiveExamples) {
  auto cost = make({{"type", "binary_cross_entropy"}, {"pos_weight", 4}}, 1);
  double score = std::log(3.0);
  Evaluated got = evaluate(*cost, 1, {score, score, score}, labelled({1, 0, 1}, {1, 1, 0.5}));
  EXPECT_THAT(got.costs,
              Pointwise(IsCloseWithin(1e-15), {4 * std::log(4.0 / 3), std::log(4.0), 2 * std::log(4.0 / 3)}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {-1.0, 0.75, -0.5}));
}

TEST(BinaryCrossEntropy, PredictsTheProbabilityUnderEitherActivation) {
  Device device(1, best_cpu_level());
  std::vector<double> logit = {std::log(3.0)}, probability = {0.75};
  float predicted = 0;
  make({{"type", "binary_cross_entropy"}}, 1, "linear")
      ->predict({logit.data(), 1, 1}, device, {&predicted, 1});
  EXPECT_FLOAT_EQ(predicted, 0.75f);
  make({{"type", "binary_cross_entropy"}}, 1, "sigmoid")
      ->predict({probability.data(), 1, 1}, device, {&predicted, 1});
  EXPECT_FLOAT_EQ(predicted, 0.75f);
  EXPECT_EQ(error_of(
                [] {
                  make({{"type", "binary_cross_entropy"}}, 1, "tanh");
                },
                Code::kUsage),
            "binary_cross_entropy takes an input with activation 'linear' or 'sigmoid', found 'tanh'");
}

TEST(RegressionCosts, FollowTheirFormulasOfTheResidual) {
  Batch batch = labelled({1, 1, 1}, {1, 1, 2});
  std::vector<double> scores = {1.5, -2, 1};  // residuals 0.5, -3, 0
  Evaluated squared = evaluate(*make({{"type", "squared_error"}}, 1), 1, scores, batch);
  EXPECT_THAT(squared.costs, ElementsAre(0.25, 9, 0));
  EXPECT_THAT(squared.gradient, ElementsAre(1, -6, 0));
  Evaluated absolute = evaluate(*make({{"type", "absolute_error"}}, 1), 1, scores, batch);
  EXPECT_THAT(absolute.costs, ElementsAre(0.5, 3, 0));
  EXPECT_THAT(absolute.gradient, ElementsAre(1, -1, 0));
  Evaluated huber = evaluate(*make({{"type", "huber"}, {"delta", 2}}, 1), 1, scores, batch);
  EXPECT_THAT(huber.costs, ElementsAre(0.125, 4, 0));
  EXPECT_THAT(huber.gradient, ElementsAre(0.5, -2, 0));
}

TEST(RegressionCosts, RefuseSeveralValuesPerExample) {
  for (const char* type : {"squared_error", "absolute_error", "huber", "ranking", "bpr", "listwise_softmax",
                           "focal", "binary_cross_entropy"}) {
    EXPECT_EQ(error_of(
                  [&] {
                    make({{"type", type}}, 5);
                  },
                  Code::kUsage),
              cat(type, " takes one value per example, found 5"));
  }
}

TEST(Ranking, ComparesExamplesOfTheSameGroupOnly) {
  auto cost = make({{"type", "ranking"}}, 1);
  // Group 1: examples 0 and 2, apart from each other; group 2: 1 and 3, of equal labels; group 3: 4, alone.
  Batch batch = labelled({0, 1, 2, 1, 5}, {1, 1, 4, 1, 1}, {1, 2, 1, 2, 3});
  Evaluated got = evaluate(*cost, 1, {std::log(3.0), 7, 0, -7, 1}, batch);
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {0.0, 0.0, 4 * std::log(4.0), 0.0, 0.0}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {3.0, 0.0, -3.0, 0.0, 0.0}));
}

TEST(Ranking, TakesABatchWithoutGroupsAsOne) {
  auto cost = make({{"type", "ranking"}}, 1);
  Evaluated got = evaluate(*cost, 1, {0, 0, 0}, labelled({2, 1, 0}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {2 * std::log(2.0), std::log(2.0), 0.0}));
  EXPECT_THAT(got.gradient, ElementsAre(-1, 0, 1));
}

TEST(Bpr, AveragesOverTheNegativesOfEachPositiveExample) {
  auto cost = make({{"type", "bpr"}}, 1);
  // Group 1: 0 and 3 are negative, 2 positive; group 2 has no negative example, group 3 no positive one.
  Batch batch = labelled({0, 1, 2, -1, 0}, {1, 1, 4, 1, 1}, {1, 2, 1, 1, 3});
  Evaluated got = evaluate(*cost, 1, {std::log(3.0), 7, 0, 0, 1}, batch);
  EXPECT_THAT(got.costs,
              Pointwise(IsCloseWithin(1e-15), {0.0, 0.0, 2 * (std::log(4.0) + std::log(2.0)), 0.0, 0.0}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {1.5, 0.0, -2.5, 1.0, 0.0}));
}

TEST(ListwiseSoftmax, IsTheCrossEntropyOfAGroupsScores) {
  auto cost = make({{"type", "listwise_softmax"}}, 1);
  Batch batch = labelled({0, 5, 2, -1, 1}, {1, 1, 3, 1, 1}, {1, 2, 1, 1, 1});
  Evaluated got = evaluate(*cost, 1, {std::log(2.0), 7, 0, std::log(5.0), 0}, batch);
  // Softmax of the first group: 2/9, 1/9, 5/9, 1/9; its targets 0, 6, 0, 1.
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {0.0, 0.0, 6 * std::log(9.0), 0.0, std::log(9.0)}));
  EXPECT_THAT(got.gradient,
              Pointwise(IsCloseWithin(1e-15), {14.0 / 9, 0.0, 7.0 / 9 - 6, 35.0 / 9, 7.0 / 9 - 1}));
}

TEST(Focal, CountsExamplesLessThatAreRightAlready) {
  auto cost = make({{"type", "focal"}, {"gamma", 2}, {"alpha", 0.25}}, 1);
  double score = std::log(3.0);  // probability 3/4
  Evaluated got = evaluate(*cost, 1, {score, score}, labelled({1, 0}, {1, 2}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-14),
                                   {0.25 * std::log(4.0 / 3) / 16, 2 * 0.75 * std::log(4.0) * 9 / 16}));
  auto plain = make({{"type", "focal"}, {"gamma", 0}, {"alpha", 0.5}}, 1);
  EXPECT_THAT(evaluate(*plain, 1, {score, score}, labelled({1, -1})).costs,
              Pointwise(IsCloseWithin(1e-15), {std::log(4.0 / 3) / 2, std::log(4.0) / 2}));
}

TEST(LabelSmoothing, SharesAPartOfTheTargetAmongTheClasses) {
  auto cost = make({{"type", "cross_entropy"}, {"label_smoothing", 0.3}}, 3, "softmax");
  Evaluated got = evaluate(*cost, 3, {std::log(2.0), 0, 0}, labelled({0}, {2}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {2 * (0.8 * std::log(2.0) + 0.2 * std::log(4.0))}));
  EXPECT_THAT(got.gradient,
              Pointwise(IsCloseWithin(1e-15), {2 * (0.5 - 0.8), 2 * (0.25 - 0.1), 2 * (0.25 - 0.1)}));
  auto binary = make({{"type", "binary_cross_entropy"}, {"label_smoothing", 0.2}}, 1);
  got = evaluate(*binary, 1, {std::log(3.0), std::log(3.0)}, labelled({1, 0}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {0.9 * std::log(4.0 / 3) + 0.1 * std::log(4.0),
                                                          0.1 * std::log(4.0 / 3) + 0.9 * std::log(4.0)}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {0.75 - 0.9, 0.75 - 0.1}));
  EXPECT_THROW(make({{"type", "cross_entropy"}, {"label_smoothing", 0.3}}, 3, "sigmoid"), Error);
}

TEST(ClassWeights, MultiplyTheCostsOfTheirClasses) {
  const Json weighted = {{"type", "cross_entropy"}, {"class_weights", {1, 0.5, 4}}};
  for (std::string_view activation : {"softmax", "linear"}) {
    const std::vector<double> scores = {0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 0.5, 0.25, 0.25};
    const Evaluated plain = evaluate(*make({{"type", "cross_entropy"}}, 3, activation), 3, scores,
                                     labelled({0, 2, 1}, {1, 8, 1.5}));
    const Evaluated got = evaluate(*make(weighted, 3, activation), 3, scores, labelled({0, 2, 1}, {1, 2, 3}));
    EXPECT_EQ(got.costs, plain.costs) << activation;
    EXPECT_EQ(got.gradient, plain.gradient) << activation;
  }
  auto without = make(weighted, 3, "softmax");
  EXPECT_THAT(evaluate(*without, 3, {0, 0, 0}, labelled({2})).costs,
              Pointwise(IsCloseWithin(1e-15), {4 * std::log(3.0)}));
  EXPECT_THROW(make({{"type", "cross_entropy"}, {"class_weights", {1, 2}}}, 3, "softmax"), Error);
  EXPECT_THROW(make({{"type", "cross_entropy"}, {"class_weights", {1, -2, 0}}}, 3, "softmax"), Error);
}

// Examples with these sets of labels.
Batch with_label_sets(const std::vector<std::vector<Key>>& sets, std::vector<float> weights = {}) {
  Batch batch = labelled(std::vector<float>(sets.size()), std::move(weights));
  SlotData& slot = batch.slots.emplace_back();
  slot.offsets = {0};
  for (const std::vector<Key>& set : sets) {
    slot.keys.insert(slot.keys.end(), set.begin(), set.end());
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  }
  return batch;
}

// log(1 + e^x) for x = 0, log 3 and -log 3 is log 2, log 4 and log 4/3.
TEST(MultiLabelCrossEntropy, IsTheSumOfALogisticLossForEachClass) {
  const double three = std::log(3.0);
  const Batch batch = with_label_sets({{2, 0}, {}, {1, 1}}, {1, 2, 0.5f});
  const std::vector<double> scores = {0, three, -three, three, 0, 0, 0, three, 0};
  for (const char* activation : {"linear", "sigmoid"}) {
    auto cost = make({{"type", "multi_label_cross_entropy"}}, 3, activation);
    ASSERT_TRUE(cost->uses_logits());
    const Evaluated got = evaluate(*cost, 3, scores, batch);
    const double two = std::log(2.0), four = std::log(4.0);
    EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {two + four + four, 2 * (four + two + two),
                                                            0.5 * (two + std::log(4.0 / 3) + two)}));
    EXPECT_THAT(got.gradient,
                Pointwise(IsCloseWithin(1e-15), {-0.5, 0.75, -0.75, 1.5, 1.0, 1.0, 0.25, -0.125, 0.25}));
  }
}

TEST(MultiLabelCrossEntropy, PosWeightMultipliesTheCostOfTheClassesThatThereAre) {
  auto cost = make({{"type", "multi_label_cross_entropy"}, {"pos_weight", 3}}, 2);
  const Evaluated got = evaluate(*cost, 2, {0, 0}, with_label_sets({{1}}));
  EXPECT_THAT(got.costs, Pointwise(IsCloseWithin(1e-15), {4 * std::log(2.0)}));
  EXPECT_THAT(got.gradient, Pointwise(IsCloseWithin(1e-15), {0.5, -1.5}));
}

TEST(MultiLabelCrossEntropy, RefusesWhatIsNoClassAndSlotsThatAreNotThere) {
  auto cost = make({{"type", "multi_label_cross_entropy"}}, 3);
  const Batch wrong = with_label_sets({{0}, {}, {2, 3}});
  EXPECT_EQ(error_of([&] { evaluate(*cost, 3, std::vector<double>(9), wrong); }, Code::kData),
            "label 3 of example 2 is not a class of 3");
  EXPECT_EQ(error_of([&] { cost->check_label(3); }, Code::kData), "label 3 is not a class of 3");
  const auto making = [](Json object, std::string_view activation) {
    object["type"] = "multi_label_cross_entropy";
    return error_of([&] { make(object, 3, activation); }, Code::kUsage);
  };
  EXPECT_EQ(
      making({{"labels", "tags"}}, "linear"),
      "labels: the data have no slot 'tags' (data.multi_label makes one of the labels of each example)");
  EXPECT_EQ(
      making(Json::object(), "softmax"),
      "multi_label_cross_entropy takes an input with activation 'linear' or 'sigmoid', found 'softmax'");
}

TEST(SumCost, WeighsWhatItIsGiven) {
  Evaluated got = evaluate(*make({{"type", "sum"}}, 2), 2, {1, 2, 3, 4}, labelled({0, 0}, {1, 0.5}));
  EXPECT_THAT(got.costs, ElementsAre(3, 3.5));
  EXPECT_THAT(got.gradient, ElementsAre(1, 1, 0.5, 0.5));
}

// Label 1 is class 0 of a set.
Batch with_sets_of_labels(Batch batch) {
  std::vector<std::vector<Key>> sets;
  for (float label : batch.labels) sets.push_back(label > 0 ? std::vector<Key>{0} : std::vector<Key>{});
  batch.slots = with_label_sets(sets).slots;
  return batch;
}

struct Case {
  const CostEntry* entry;
  int64_t cols;
  std::string_view activation;
};

std::vector<Case> all_costs() {
  std::vector<Case> cases;
  for (const CostEntry* entry : cost_catalog()) {
    bool classes = entry->name == "cross_entropy";
    cases.push_back({entry, classes ? 3 : 1, classes ? "softmax" : "linear"});
  }
  return cases;
}

template <class T>
std::vector<T> evaluate_as(const Cost<T>& cost, const std::vector<T>& scores, int64_t cols,
                           const Batch& batch, int threads) {
  Device device(threads, best_cpu_level());
  std::vector<T> out(batch.labels.size() + scores.size());
  std::span<T> costs(out.data(), batch.labels.size());
  cost.evaluate({scores.data(), batch.size(), cols}, batch, device, costs,
                {out.data() + costs.size(), batch.size(), cols});
  return out;
}

TEST(EveryCost, IsTheSameForEveryNumberOfThreads) {
  for (const Case& c : all_costs()) {
    Random random(1, 0);
    Batch batch;
    std::vector<float> scores;
    for (uint64_t b = 0; b < 5000; ++b) {
      batch.labels.push_back(static_cast<float>(random.below(2)));
      batch.groups.push_back(b / 7);
      for (int64_t i = 0; i < c.cols; ++i) scores.push_back(static_cast<float>(random.normal()));
    }
    auto cost = c.entry->make_float({{"input", "output"}}, {c.cols, c.activation, labels_schema()});
    batch = with_sets_of_labels(std::move(batch));
    EXPECT_EQ(evaluate_as(*cost, scores, c.cols, batch, 1), evaluate_as(*cost, scores, c.cols, batch, 4))
        << c.entry->name;
  }
}

TEST(EveryCost, StaysFiniteForExtremeScoresAndTakesAnEmptyBatch) {
  for (const Case& c : all_costs()) {
    auto cost = c.entry->make_float({{"input", "output"}}, {c.cols, c.activation, labels_schema()});
    std::vector<float> scores;
    Batch batch;
    for (float label : {0.0f, 1.0f, 0.0f, 1.0f}) {
      for (int64_t i = 0; i < c.cols; ++i) scores.push_back((batch.size() < 2) == (i == 0) ? 1e4f : -1e4f);
      batch.labels.push_back(label);
    }
    batch = with_sets_of_labels(std::move(batch));
    for (float value : evaluate_as(*cost, scores, c.cols, batch, 1))
      EXPECT_TRUE(std::isfinite(value)) << c.entry->name;
    EXPECT_TRUE(evaluate_as(*cost, {}, c.cols, with_sets_of_labels({}), 1).empty());
  }
}

}  // namespace
}  // namespace ps::cost_values_test
