// Compares each evaluator with values computed by hand, and tests for the whole catalogue that evaluators
// merge, weigh examples, and survive bad bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "config/catalog.h"
#include "model/evaluator.h"
#include "model/evaluators/grouped_scores.h"

namespace ps::evaluator_values_test {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::NanSensitiveDoubleEq;
using testing::Pair;

using Values = std::vector<std::pair<std::string, double>>;

std::unique_ptr<Evaluator> make(const Json& object, int64_t cols) {
  return find_entry(evaluator_catalog(), object, "evaluator", "evaluator").make(without_type(object), cols);
}

struct Examples {
  int64_t cols;
  std::vector<float> predictions, labels, weights;
  std::vector<uint64_t> groups = {};

  void add_to(Evaluator& evaluator) const {
    Batch batch;
    batch.labels = labels;
    batch.weights = weights;
    batch.groups = groups;
    evaluator.add({predictions.data(), batch.size(), cols}, batch);
  }

  // Returns the examples for which keep(i) is true, in the order of the step.
  template <class Keep>
  Examples subset(const Keep& keep, bool backwards = false) const {
    Examples out{cols, {}, {}, {}};
    for (size_t i = 0; i < labels.size(); ++i) {
      size_t b = backwards ? labels.size() - 1 - i : i;
      if (!keep(b)) continue;
      out.labels.push_back(labels[b]);
      if (!weights.empty()) out.weights.push_back(weights[b]);
      if (!groups.empty()) out.groups.push_back(groups[b]);
      for (int64_t c = 0; c < cols; ++c)
        out.predictions.push_back(predictions[b * static_cast<size_t>(cols) + static_cast<size_t>(c)]);
    }
    return out;
  }
};

Values values_of(const Json& object, const Examples& examples) {
  std::unique_ptr<Evaluator> evaluator = make(object, examples.cols);
  examples.add_to(*evaluator);
  return evaluator->values();
}

TEST(ClassificationError, ComparesTheLargestPredictionOrTheThreshold) {
  Examples three{3, {0.1f, 0.7f, 0.2f, 0.5f, 0.5f, 0, 0, 0, 1}, {1, 1, 2}, {1, 2, 1}};
  EXPECT_THAT(values_of({{"type", "classification_error"}}, three),
              ElementsAre(Pair("classification_error", 0.5)));
  Examples one{1, {0.6f, 0.6f, 0.5f, 0.2f}, {1, -1, 0, 1}, {}};
  EXPECT_THAT(values_of({{"type", "classification_error"}}, one),
              ElementsAre(Pair("classification_error", 0.5)));
  EXPECT_THAT(values_of({{"type", "classification_error"}, {"threshold", 0.1}}, one),
              ElementsAre(Pair("classification_error", 0.5)));
}

TEST(Accuracy, IsTheRestOfTheClassificationError) {
  Examples three{3, {0.1f, 0.7f, 0.2f, 0.5f, 0.5f, 0, 0, NAN, 1}, {1, 0, 2}, {1, 2, 1}};
  EXPECT_THAT(values_of({{"type", "accuracy"}}, three), ElementsAre(Pair("accuracy", 0.75)));
  Examples one{1, {0.6f, 0.6f, 0.5f, 0.2f}, {1, -1, 0, 1}, {}};
  EXPECT_THAT(values_of({{"type", "accuracy"}, {"threshold", 0.1}}, one), ElementsAre(Pair("accuracy", 0.5)));
}

TEST(BrierScore, IsTheSquaredErrorOfTheProbabilities) {
  Examples one{1, {0.75f, 0.25f}, {1, -1}, {1, 3}};
  EXPECT_THAT(values_of({{"type", "brier_score"}}, one), ElementsAre(Pair("brier_score", DoubleEq(0.0625))));
  Examples two{2, {0.25f, 0.75f}, {0}, {}};
  EXPECT_THAT(values_of({{"type", "brier_score"}}, two), ElementsAre(Pair("brier_score", DoubleEq(0.5625))));
  Examples three{3, {0.5f, 0.25f, 0.25f}, {2}, {}};
  EXPECT_THAT(values_of({{"type", "brier_score"}}, three),
              ElementsAre(Pair("brier_score", DoubleEq(0.25 + 0.0625 + 0.5625))));
}

TEST(Calibration, ComparesProbabilitiesWithEvents) {
  // By weight: below 0.5 three examples, two of which are events; above it one, which is.
  Examples one{1, {0.25f, 0.25f, 0.75f}, {0, 1, 1}, {1, 2, 1}};
  EXPECT_THAT(
      values_of({{"type", "calibration"}, {"buckets", 2}, {"by_bucket", true}}, one),
      ElementsAre(Pair("calibration", DoubleEq(0.5)), Pair("calibration_error", DoubleEq((1.25 + 0.25) / 4)),
                  Pair("predicted_from_0", DoubleEq(0.25)), Pair("happened_from_0", DoubleEq(2.0 / 3)),
                  Pair("predicted_from_0.5", DoubleEq(0.75)), Pair("happened_from_0.5", 1)));
}

TEST(ConfusionMatrix, CountsEachPairOfClasses) {
  Examples one{1, {0.9f, 0.1f, 0.2f, NAN}, {1, 1, -1, 1}, {1, 2, 1, 4}};
  EXPECT_THAT(values_of({{"type", "confusion_matrix"}}, one),
              ElementsAre(Pair("label_0_as_0", 0.125), Pair("label_0_as_1", 0), Pair("label_1_as_0", 0.25),
                          Pair("label_1_as_1", 0.125)));
  Examples odd{1, {0.1f, 0.9f, 0.9f, 0.9f}, {0, 3, 0.5f, -2}, {}};
  EXPECT_THAT(values_of({{"type", "confusion_matrix"}}, odd),
              ElementsAre(Pair("label_0_as_0", 0.25), Pair("label_0_as_1", 0), Pair("label_1_as_0", 0),
                          Pair("label_1_as_1", 0)))
      << "labels that are none of two classes are in no cell";
  Examples three{3, {0, 0, 1, 1, 0, 0}, {1, 7}, {}};
  const Values values = values_of({{"type", "confusion_matrix"}}, three);
  ASSERT_EQ(values.size(), 9u);
  EXPECT_THAT(values[5], Pair("label_1_as_2", 0.5));
  EXPECT_THAT(values[0], Pair("label_0_as_0", 0));
}

TEST(LogLoss, IsTheMeanNegativeLogOfTheLabelsProbability) {
  Examples one{1, {0.75f, 0.75f}, {1, -1}, {1, 3}};
  double expected = (-std::log(0.75) - 3 * std::log(0.25)) / 4;
  EXPECT_THAT(values_of({{"type", "log_loss"}}, one), ElementsAre(Pair("log_loss", DoubleEq(expected))));
  Examples two{2, {0.5f, 0.5f, 0.75f, 0.25f}, {0, 1}, {}};
  EXPECT_THAT(values_of({{"type", "log_loss"}}, two),
              ElementsAre(Pair("log_loss", DoubleEq(1.5 * std::log(2.0)))));
  Examples impossible{1, {0}, {1}, {}};
  EXPECT_THAT(values_of({{"type", "log_loss"}}, impossible),
              ElementsAre(Pair("log_loss", DoubleEq(-std::log(1e-15)))));
}

// Three examples of the labels {2, 0}, none and {1}, of which the second counts twice.
Values values_of_sets(const Json& object, const std::vector<float>& predictions) {
  std::unique_ptr<Evaluator> evaluator = make(object, 3);
  EXPECT_TRUE(evaluator->use_label_sets(1));
  Batch batch;
  batch.labels = {0, 0, 0};
  batch.weights = {1, 2, 1};
  batch.slots.resize(2);
  batch.slots[1].offsets = {0, 3, 3, 4};
  batch.slots[1].keys = {2, 0, 2, 1};
  evaluator->add({predictions.data(), 3, 3}, batch);
  return evaluator->values();
}

TEST(PrecisionAtK, CountsTheLabelsAmongTheLargestPredictions) {
  const std::vector<float> predictions = {0.9f, 0.8f, 0.1f, 0.5f, 0.5f, 0.5f, 0.3f, 0.2f, 0.2f};
  EXPECT_THAT(values_of_sets({{"type", "precision_at_k"}}, predictions),
              ElementsAre(Pair("precision_at_1", DoubleEq(1.0 / 4))));
  EXPECT_THAT(values_of_sets({{"type", "precision_at_k"}, {"k", 2}}, predictions),
              ElementsAre(Pair("precision_at_2", DoubleEq((0.5 + 0.5) / 4))));
  EXPECT_THAT(values_of_sets({{"type", "precision_at_k"}, {"k", 3}}, predictions),
              ElementsAre(Pair("precision_at_3", DoubleEq((2.0 / 3 + 1.0 / 3) / 4))));
  EXPECT_THROW(make({{"type", "precision_at_k"}, {"k", 4}}, 3), Error);
  Examples one_label{3, {0.1f, 0.7f, 0.2f, 0.5f, NAN, 0.4f}, {1, 2}, {}};
  EXPECT_THAT(values_of({{"type", "precision_at_k"}}, one_label), ElementsAre(Pair("precision_at_1", 0.5)));
  EXPECT_THAT(values_of({{"type", "precision_at_k"}, {"k", 2}}, one_label),
              ElementsAre(Pair("precision_at_2", 0.5)));
}

// Decided for: classes 0 and 1; 2; 1.  Right are 0 of the first example and 1 of the last.
TEST(MicroF1, CountsPairsOfExampleAndClass) {
  const std::vector<float> predictions = {0.9f, 0.8f, 0.1f, 0.5f, 0.2f, 0.6f, 0.3f, 0.7f, NAN};
  const double precision = 2.0 / 5, recall = 2.0 / 3;
  EXPECT_THAT(
      values_of_sets({{"type", "micro_f1"}}, predictions),
      ElementsAre(Pair("micro_precision", DoubleEq(precision)), Pair("micro_recall", DoubleEq(recall)),
                  Pair("micro_f1", DoubleEq(2 * precision * recall / (precision + recall)))));
  EXPECT_THAT(values_of_sets({{"type", "micro_f1"}, {"threshold", 0.95}}, predictions),
              ElementsAre(Pair("micro_precision", NanSensitiveDoubleEq(std::nan(""))),
                          Pair("micro_recall", 0), Pair("micro_f1", 0)));
}

TEST(PrecisionRecall, CountsTheSecondOfTwoClasses) {
  // hit, hit, false alarm, miss (weight 2), right rejection
  Examples one{1, {0.9f, 0.8f, 0.7f, 0.1f, 0.2f}, {1, 1, 0, 1, -1}, {1, 1, 1, 2, 1}};
  EXPECT_THAT(values_of({{"type", "precision_recall"}}, one),
              ElementsAre(Pair("precision", DoubleEq(2.0 / 3)), Pair("recall", DoubleEq(0.5)),
                          Pair("F1", DoubleEq(4.0 / 7))));
  EXPECT_THAT(values_of({{"type", "f1"}}, one), ElementsAre(Pair("f1", DoubleEq(4.0 / 7))));
  EXPECT_THAT(values_of({{"type", "f1"}, {"threshold", 0.75}}, one),
              ElementsAre(Pair("f1", DoubleEq(2.0 / 3))))
      << "the false alarm is none any more";
  Examples none{2, {0.9f, 0.1f}, {1}, {}};
  EXPECT_THAT(
      values_of({{"type", "precision_recall"}}, none),
      ElementsAre(Pair("precision", NanSensitiveDoubleEq(std::nan(""))), Pair("recall", 0), Pair("F1", 0)));
}

TEST(PrecisionRecall, AveragesOverTheClassesSeenOfMore) {
  // Class 0: 1 hit, 1 false alarm; class 1: 1 miss; class 2: 1 hit; class 3: never.
  Examples four{4, {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0}, {0, 1, 2}, {}};
  EXPECT_THAT(values_of({{"type", "precision_recall"}}, four),
              ElementsAre(Pair("precision", DoubleEq(0.5)), Pair("recall", DoubleEq(2.0 / 3)),
                          Pair("F1", DoubleEq(5.0 / 9))));
  EXPECT_THAT(values_of({{"type", "f1"}}, four), ElementsAre(Pair("f1", DoubleEq(5.0 / 9))));
}

TEST(RmseAndSum, FollowTheirFormulas) {
  Examples one{1, {1, 2}, {4, 2}, {3, 1}};
  EXPECT_THAT(values_of({{"type", "rmse"}}, one), ElementsAre(Pair("rmse", DoubleEq(std::sqrt(27.0 / 4)))));
  EXPECT_THAT(values_of({{"type", "sum"}}, one), ElementsAre(Pair("sum", 5)));
}

TEST(MeanAbsoluteError, FollowsItsFormula) {
  Examples one{1, {1, 2}, {4, 2}, {3, 1}};
  EXPECT_THAT(values_of({{"type", "mae"}}, one), ElementsAre(Pair("mae", 2.25)));
}

TEST(Evaluators, RefusePredictionsThatTheyCannotTake) {
  EXPECT_THROW(make({{"type", "auc"}}, 3), Error);
  EXPECT_THROW(make({{"type", "pr_auc"}}, 3), Error);
  EXPECT_THROW(make({{"type", "calibration"}}, 3), Error);
  EXPECT_THROW(make({{"type", "confusion_matrix"}}, 65), Error);
  EXPECT_THROW(make({{"type", "confusion_matrix"}}, 1 << 24), Error);
  EXPECT_THROW(make({{"type", "rmse"}}, 2), Error);
  EXPECT_THROW(make({{"type", "mae"}}, 2), Error);
  EXPECT_THROW(make({{"type", "gauc"}}, 3), Error);
  EXPECT_THROW(make({{"type", "ndcg"}}, 3), Error);
}

TEST(GroupAuc, AveragesTheAreasOfGroupsByTheirWeights) {
  // Group 7: one of two pairs in order, weight 3; group 3: a tie, weight 4; group 5 has one class.
  Examples one{1,
               {0.2f, 0.5f, 0.3f, 0.6f, 0.4f, 0.4f, 0.25f},
               {0, 1, 0, 1, 1, 0, 1},
               {1, 9, 1, 1, 3, 1, 1},
               {7, 5, 7, 5, 3, 3, 7}};
  EXPECT_THAT(values_of({{"type", "gauc"}}, one), ElementsAre(Pair("gauc", DoubleEq(0.5))));
  one.predictions[2] = 0.1f;  // both pairs are in order
  EXPECT_THAT(values_of({{"type", "gauc"}}, one),
              ElementsAre(Pair("gauc", DoubleEq((3 * 1.0 + 4 * 0.5) / 7))));
}

// Group 1 ranks labels 0, 2, 1, 0, group 2 ranks 1, 0, and group 3 has nothing relevant.
Examples three_rankings() {
  return {1, {0.9f, 0.2f, 0.8f, 0.1f, 0.7f, 0.5f, 0.6f}, {0, 0, 2, 0, 1, 1, 0}, {}, {1, 2, 1, 1, 1, 2, 3}};
}

TEST(RankedGroups, MeasureTheRankingOfEachGroup) {
  const double second = 1 / std::log2(3.0), third = 0.5;
  EXPECT_THAT(values_of({{"type", "ndcg"}}, three_rankings()),
              ElementsAre(Pair("ndcg_at_10", DoubleEq(((3 * second + third) / (3 + second) + 1) / 2))));
  EXPECT_THAT(values_of({{"type", "ndcg"}, {"k", 2}}, three_rankings()),
              ElementsAre(Pair("ndcg_at_2", DoubleEq((3 * second / (3 + second) + 1) / 2))));
  EXPECT_THAT(values_of({{"type", "recall_at_k"}, {"k", 2}}, three_rankings()),
              ElementsAre(Pair("recall_at_2", DoubleEq(0.75))));
  EXPECT_THAT(values_of({{"type", "mrr"}}, three_rankings()), ElementsAre(Pair("mrr", DoubleEq(0.75))));
  EXPECT_THAT(values_of({{"type", "map"}}, three_rankings()),
              ElementsAre(Pair("map", DoubleEq(((0.5 + 2.0 / 3) / 2 + 1) / 2))));
}

TEST(RankedGroups, LeaveOutExamplesWithoutWeight) {
  Examples weighed = three_rankings();
  weighed.weights = {0, 1, 5, 1, 1, 1, 1};
  EXPECT_THAT(values_of({{"type", "mrr"}}, weighed), ElementsAre(Pair("mrr", 1)));
}

TEST(RankedGroups, TakeTiesAndNansAgainstTheModel) {
  Examples constant{1, {0.5f, 0.5f, 0.5f, NAN, -9}, {1, 0, 0, 1, 0}, {}, {4, 4, 4, 5, 5}};
  EXPECT_THAT(values_of({{"type", "mrr"}}, constant),
              ElementsAre(Pair("mrr", DoubleEq((1.0 / 3 + 1.0 / 2) / 2))));
  EXPECT_THAT(values_of({{"type", "recall_at_k"}, {"k", 1}}, constant), ElementsAre(Pair("recall_at_1", 0)));
}

TEST(GroupedScores, SampleWholeGroupsWhateverTheOrderOnceThereAreTooMany) {
  constexpr size_t kMost = 100;
  Examples all{1, {}, {}, {}};
  for (uint64_t i = 0; i < 3000; ++i) {
    all.predictions.push_back(static_cast<float>(i));
    all.labels.push_back(1);
    all.groups.push_back(i % 500);  // six of each
  }
  const auto add = [](const Examples& examples, GroupedScores& scores) {
    Batch batch;
    batch.labels = examples.labels;
    batch.groups = examples.groups;
    scores.add({examples.predictions.data(), batch.size(), 1}, batch);
  };
  const auto text = [](const GroupedScores& scores) {
    std::string out;
    scores.for_each_group([&](std::span<const GroupedScore> group) {
      EXPECT_EQ(group.size(), 6u);
      for (const GroupedScore& example : group) out += cat(example.group, ":", example.score, " ");
    });
    return out;
  };
  GroupedScores forward(kMost), merged(kMost), part(kMost);
  add(all, forward);
  add(all.subset([](size_t b) { return b % 3 == 0; }, /*backwards=*/true), merged);
  add(all.subset([](size_t b) { return b % 3 != 0; }), part);
  merged.merge(part);
  EXPECT_FALSE(text(forward).empty());
  EXPECT_EQ(text(merged), text(forward));
  std::string bytes;
  forward.save(bytes);
  EXPECT_LE(bytes.size(), 12 + 20 * kMost);
  GroupedScores loaded(kMost);
  ByteReader in(bytes);
  loaded.load(in);
  add(all, loaded);  // what was left out stays left out
  loaded.for_each_group([&](std::span<const GroupedScore> group) { EXPECT_EQ(group.size(), 12u); });

  Examples one = all.subset([](size_t) { return true; });
  one.groups.assign(one.labels.size(), 9);
  GroupedScores too_large(kMost);
  add(one, too_large);
  EXPECT_TRUE(text(too_large).empty());
}

// Below, each entry with one prediction per example, and with as many as it takes.
struct Case {
  const EvaluatorEntry* entry;
  Examples examples;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const EvaluatorEntry* entry : evaluator_catalog()) {
    for (int64_t cols : {1, 2, 5}) {
      try {
        entry->make(Json::object(), cols);
      } catch (const Error&) {
        continue;
      }
      Random random(11, 0);
      Examples examples{cols, {}, {}, {}};
      for (int b = 0; b < 3000; ++b) {
        examples.labels.push_back(
            static_cast<float>(random.below(static_cast<uint64_t>(cols == 1 ? 2 : cols))));
        examples.weights.push_back(static_cast<float>(random.below(5)) / 3);
        for (int64_t c = 0; c < cols; ++c)
          examples.predictions.push_back(static_cast<float>(random.uniform()));
        examples.groups.push_back(random.below(100));
      }
      cases.push_back({entry, std::move(examples)});
    }
  }
  return cases;
}

void expect_close(const Values& got, const Values& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, expected[i].first);
    if (std::isnan(expected[i].second)) {
      EXPECT_TRUE(std::isnan(got[i].second));
    } else {
      EXPECT_NEAR(got[i].second, expected[i].second, 1e-12 * std::fabs(expected[i].second));
    }
  }
}

TEST(EveryEvaluator, GivesTheSameValueHoweverTheExamplesAreSplitAndOrdered) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(testing::Message() << c.entry->name << ", " << c.examples.cols);
    Json object = {{"type", c.entry->name}};
    Values whole = values_of(object, c.examples);
    EXPECT_FALSE(std::isnan(whole[0].second));
    expect_close(values_of(object, c.examples.subset([](size_t) { return true; }, /*backwards=*/true)),
                 whole);

    std::unique_ptr<Evaluator> merged = make(object, c.examples.cols), empty = make(object, c.examples.cols);
    for (size_t part : {2, 0, 1}) {
      std::unique_ptr<Evaluator> other = make(object, c.examples.cols);
      c.examples.subset([=](size_t b) { return b % 11 % 3 == part; }).add_to(*other);
      merged->merge(*other);
    }
    merged->merge(*empty);
    expect_close(merged->values(), whole);
  }
}

// In a ranking each example has one place, whatever its weight.
bool ranks(const EvaluatorEntry& entry) {
  return entry.name == "ndcg" || entry.name == "recall_at_k" || entry.name == "mrr" || entry.name == "map";
}

TEST(EveryEvaluator, TakesAWeightAsSoManyExamplesAndAnEmptyBatchAsNone) {
  for (Case& c : all_cases()) {
    if (ranks(*c.entry)) continue;
    SCOPED_TRACE(testing::Message() << c.entry->name << ", " << c.examples.cols);
    std::unique_ptr<Evaluator> repeated = make({{"type", c.entry->name}}, c.examples.cols);
    for (size_t copy : {0, 1, 2}) {
      Examples part = c.examples.subset([=](size_t b) { return b % 4 > copy; });
      part.weights.clear();
      part.add_to(*repeated);
    }
    for (size_t b = 0; b < c.examples.weights.size(); ++b) c.examples.weights[b] = static_cast<float>(b % 4);
    Examples{c.examples.cols, {}, {}, {}}.add_to(*repeated);
    expect_close(repeated->values(), values_of({{"type", c.entry->name}}, c.examples));
  }
}

TEST(EveryEvaluator, IsUndefinedAtFirstAndAfterReset) {
  for (const Case& c : all_cases()) {
    std::unique_ptr<Evaluator> evaluator = make({{"type", c.entry->name}}, c.examples.cols);
    Values at_first = evaluator->values();
    c.examples.add_to(*evaluator);
    evaluator->reset();
    expect_close(evaluator->values(), at_first);
    EXPECT_TRUE(std::isnan(at_first[0].second)) << c.entry->name;
  }
}

TEST(EveryEvaluator, GoesOnFromWhatItSavedAndRefusesTheRest) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(testing::Message() << c.entry->name << ", " << c.examples.cols);
    Examples few = c.examples.subset([](size_t b) { return b < 40; });
    std::unique_ptr<Evaluator> evaluator = make({{"type", c.entry->name}}, few.cols);
    few.add_to(*evaluator);
    std::string bytes;
    evaluator->save(bytes);
    std::unique_ptr<Evaluator> loaded = make({{"type", c.entry->name}}, few.cols);
    ByteReader in(bytes);
    loaded->load(in);
    EXPECT_EQ(in.remaining(), 0u);
    expect_close(loaded->values(), evaluator->values());
    few.add_to(*loaded);
    few.add_to(*evaluator);
    expect_close(loaded->values(), evaluator->values());

    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader cut(std::string_view(bytes).substr(0, size));
      EXPECT_THROW(loaded->load(cut), Error) << size;
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(~flipped[i]);
      ByteReader bad(flipped);
      try {
        loaded->load(bad);
        loaded->values();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kCorrupt);
      }
    }
  }
}

TEST(EveryEvaluator, SurvivesPredictionsThatAreNoNumbers) {
  for (const Case& c : all_cases()) {
    Examples odd = c.examples;
    for (size_t i = 0; i < odd.predictions.size(); i += 3) {
      odd.predictions[i] = i % 2 ? std::nanf("") : i % 4 ? INFINITY : -INFINITY;
    }
    EXPECT_FALSE(values_of({{"type", c.entry->name}}, odd).empty());
  }
}

}  // namespace
}  // namespace ps::evaluator_values_test
