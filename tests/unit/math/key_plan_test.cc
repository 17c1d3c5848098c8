#include "math/key_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace ps {
namespace {

// Lists of keys that a test owns, with their plan.
struct Planned {
  std::vector<std::vector<uint32_t>> offsets;
  std::vector<std::vector<uint64_t>> keys;
  KeyPlan plan;

  void add(std::vector<uint32_t> list_offsets, std::vector<uint64_t> list_keys) {
    offsets.push_back(std::move(list_offsets));
    keys.push_back(std::move(list_keys));
  }
  void make(KeyPlanner& planner, bool transpose = true) {
    std::vector<KeyList> lists;
    for (size_t i = 0; i < keys.size(); ++i) lists.push_back({offsets[i], keys[i]});
    planner.plan(lists, transpose, plan);
  }
};

Planned random_lists(uint64_t seed, uint64_t num_keys) {
  Random random(seed, 0);
  Planned planned;
  for (int list = 0; list < 2; ++list) {
    std::vector<uint32_t> offsets = {0};
    std::vector<uint64_t> keys;
    for (int b = 0; b < 100; ++b) {
      for (uint64_t k = random.below(30); k > 0; --k)
        keys.push_back(random.below(num_keys) * 0x9e3779b97f4a7c15);
      offsets.push_back(static_cast<uint32_t>(keys.size()));
    }
    planned.add(offsets, keys);
  }
  return planned;
}

TEST(KeyPlan, HoldsEachKeyOnceAndSaysWhereEachIdFindsIt) {
  KeyPlanner planner(4);
  for (uint64_t seed = 0; seed < 20; ++seed) {  // one planner, many plans
    Planned planned = random_lists(seed, 500);
    planned.make(planner);
    std::set<uint64_t> unique(planned.plan.keys.begin(), planned.plan.keys.end());
    EXPECT_EQ(unique.size(), planned.plan.keys.size());
    for (size_t u = 0; u < 2; ++u) {
      ASSERT_EQ(planned.plan.uses[u].index.size(), planned.keys[u].size());
      for (size_t k = 0; k < planned.keys[u].size(); ++k) {
        ASSERT_EQ(planned.plan.keys[planned.plan.uses[u].index[k]], planned.keys[u][k]);
      }
    }
  }
}

TEST(KeyPlan, OrdersKeysByPartitionThenByFirstAppearance) {
  KeyPlanner planner(4), one(0);
  Planned planned = random_lists(1, 500), plain = random_lists(1, 500);
  planned.make(planner);
  plain.make(one);
  std::vector<uint64_t> expected = plain.plan.keys;
  EXPECT_EQ(expected[0], plain.keys[0][0]);
  std::stable_sort(expected.begin(), expected.end(),
                   [](uint64_t a, uint64_t b) { return key_partition(a, 4) < key_partition(b, 4); });
  EXPECT_EQ(planned.plan.keys, expected);
  const std::vector<uint32_t>& starts = planned.plan.partition_starts;
  ASSERT_EQ(starts.size(), 17u);
  for (uint32_t p = 0; p < 16; ++p) {
    for (uint32_t n = starts[p]; n < starts[p + 1]; ++n) EXPECT_EQ(key_partition(planned.plan.keys[n], 4), p);
  }
}

TEST(KeyPlan, TransposesEveryUse) {
  KeyPlanner planner(0);
  Planned planned;
  planned.add({0, 2, 2, 4}, {7, 5, 5, 5});
  planned.add({0, 0, 1, 1}, {9});
  planned.make(planner);
  EXPECT_THAT(planned.plan.keys, testing::ElementsAre(7, 5, 9));
  const KeyUse& first = planned.plan.uses[0];
  EXPECT_THAT(first.touched, testing::ElementsAre(0, 1));
  EXPECT_THAT(first.starts, testing::ElementsAre(0, 1, 4));
  EXPECT_THAT(first.positions, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(first.examples, testing::ElementsAre(0, 0, 2, 2));
  const KeyUse& second = planned.plan.uses[1];
  EXPECT_THAT(second.touched, testing::ElementsAre(2));
  EXPECT_THAT(second.examples, testing::ElementsAre(1));
}

TEST(KeyPlan, OfNoIdsIsEmpty) {
  KeyPlanner planner(2);
  Planned planned;
  planned.add({0, 0, 0}, {});
  planned.make(planner);
  EXPECT_TRUE(planned.plan.keys.empty());
  EXPECT_TRUE(planned.plan.uses[0].touched.empty());
  EXPECT_THAT(planned.plan.partition_starts, testing::ElementsAre(0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace ps
