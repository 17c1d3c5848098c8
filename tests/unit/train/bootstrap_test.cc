// Intervals by bootstrap: their law, their groups, and their independence of how the examples come.
#include "train/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/hash.h"
#include "config/catalog.h"
#include "config/json.h"

namespace ps::bootstrap_test {

namespace {

constexpr double kOfNormal = 2 * 1.96;  // deviations in an interval of 95 %

Bootstrap::Evaluators evaluator(const char* type) {
  const Json object = {{"type", type}};
  const EvaluatorEntry& entry = find_entry(evaluator_catalog(), object, "evaluator", "evaluator");
  Bootstrap::Evaluators out;
  out.push_back(entry.make(entry.spec().complete(Json::object(), "evaluator"), 1));
  return out;
}

Bootstrap::Evaluators accuracy() {
  return evaluator("accuracy");
}

Bootstrap::Evaluators mrr() {
  return evaluator("mrr");
}

// Adds examples [begin, end) of a law in which 4 of 5 predictions are right.
void add(uint64_t trial, uint64_t begin, uint64_t end, Bootstrap& bootstrap) {
  std::vector<float> predictions;
  Batch batch;
  for (uint64_t i = begin; i < end; ++i) {
    const bool right = hash_key(hash_key(trial * 1000003 + 17) + i) % 5 != 0;
    batch.labels.push_back(1);
    predictions.push_back(right ? 0.9f : 0.1f);
  }
  bootstrap.add({predictions.data(), static_cast<int64_t>(predictions.size()), 1}, {}, batch);
}

// Adds groups of two examples, of which the right one has rank 1 in every other group.
void add_groups(uint64_t groups, Bootstrap& bootstrap) {
  std::vector<float> predictions;
  Batch batch;
  for (uint64_t g = 0; g < groups; ++g) {
    const float first = g % 2 == 0 ? 0.9f : 0.1f;
    predictions.insert(predictions.end(), {first, 0.5f});
    batch.labels.insert(batch.labels.end(), {1, 0});
    batch.groups.insert(batch.groups.end(), {g, g});
  }
  bootstrap.add({predictions.data(), static_cast<int64_t>(predictions.size()), 1}, {}, batch);
}

}  // namespace

TEST(Bootstrap, CountsAreOfTheLawOfPoisson) {
  constexpr int kItems = 100000;
  double sum = 0, squares = 0, zeros = 0;
  for (int i = 0; i < kItems; ++i) {
    const int count = poisson_count(1, i % 100, static_cast<uint64_t>(i / 100));
    sum += count;
    squares += count * count;
    zeros += count == 0 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kItems, 1, 0.02);
  EXPECT_NEAR(squares / kItems, 2, 0.05);
  EXPECT_NEAR(zeros / kItems, std::exp(-1.0), 0.01);
}

TEST(Bootstrap, SomeNineteenOfTwentyIntervalsHoldTheTruth) {
  Device device(1, best_cpu_level());
  constexpr uint64_t kTrials = 200;
  int held = 0;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    Bootstrap bootstrap(trial);
    add(trial, 0, 400, bootstrap);
    const Interval found = bootstrap.intervals(accuracy, device, 200).at(0);
    EXPECT_EQ(found.name, "accuracy");
    held += found.low <= 0.8 && 0.8 <= found.high ? 1 : 0;
    EXPECT_NEAR(found.high - found.low, kOfNormal * 0.02, 0.025);  // 0.02 = sqrt(0.8 x 0.2 / 400)
  }
  EXPECT_GE(held, 178);  // 89 %
  EXPECT_LE(held, 198);  // 99 %
}

// A ranking is 1 or 1/2, so that the mean over 400 groups has the deviation 0.25 / 20.  If a group that is drawn twice
// counted once, the interval would be three quarters as wide.
TEST(Bootstrap, OfGroupsDrawsWholeGroups) {
  Device device(1, best_cpu_level());
  Bootstrap bootstrap(5);
  add_groups(400, bootstrap);
  const Interval found = bootstrap.intervals(mrr, device, 1000).at(0);
  EXPECT_NEAR(found.high - found.low, kOfNormal * 0.0125, 0.006);
  EXPECT_LT(found.low, 0.75);
  EXPECT_GT(found.high, 0.75);
}

TEST(Bootstrap, NeitherBatchesNorThreadsChangeAnInterval) {
  Device one(1, best_cpu_level()), three(3, best_cpu_level());
  Bootstrap whole(3), in_parts(3), other(4);
  add(1, 0, 500, whole);
  add(1, 0, 500, other);
  for (uint64_t begin = 0; begin < 500; begin += 7)
    add(1, begin, std::min<uint64_t>(500, begin + 7), in_parts);
  const Json expected = intervals_json(whole.intervals(accuracy, one, 50));
  EXPECT_EQ(intervals_json(in_parts.intervals(accuracy, one, 50)), expected);
  EXPECT_EQ(intervals_json(in_parts.intervals(accuracy, three, 50)), expected);
  EXPECT_NE(intervals_json(other.intervals(accuracy, one, 50)), expected) << "another seed";
}

TEST(Bootstrap, AnIntervalIsUndefinedWhereAReplicaIs) {
  Device device(1, best_cpu_level());
  Bootstrap bootstrap(1);
  add_groups(1, bootstrap);
  EXPECT_EQ(intervals_json(bootstrap.intervals(mrr, device, 50)).dump(), R"({"mrr":null})");
}

}  // namespace ps::bootstrap_test
