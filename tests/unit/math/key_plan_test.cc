#include "math/key_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "base/random.h"

namespace ps::key_plan_test {
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
    for (size_t i = 0; i < keys.size(); ++i) lists.push_back({offsets[i], keys[i], transpose});
    planner.plan(lists, plan);
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
  KeyPlanner planner;
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

TEST(KeyPlan, OrdersKeysByFirstAppearance) {
  KeyPlanner planner;
  Planned planned = random_lists(1, 500);
  planned.make(planner);
  std::vector<uint64_t> expected;
  for (const std::vector<uint64_t>& list : planned.keys) {
    for (uint64_t key : list) {
      if (std::find(expected.begin(), expected.end(), key) == expected.end()) expected.push_back(key);
    }
  }
  EXPECT_EQ(planned.plan.keys, expected);
}

TEST(KeyPlan, TransposesEveryUse) {
  KeyPlanner planner;
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

// The transposed part of a use, by definition: positions sorted stably by the key they hold.
void expect_transposed(const KeyUse& use) {
  std::vector<uint32_t> positions(use.index.size()), touched, starts, examples;
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](uint32_t a, uint32_t b) { return use.index[a] < use.index[b]; });
  for (uint32_t t = 0; t < positions.size(); ++t) {
    uint32_t n = use.index[positions[t]];
    if (touched.empty() || touched.back() != n) touched.push_back(n), starts.push_back(t);
    auto after = std::upper_bound(use.offsets.begin(), use.offsets.end(), positions[t]);
    examples.push_back(static_cast<uint32_t>(after - use.offsets.begin() - 1));
  }
  starts.push_back(static_cast<uint32_t>(positions.size()));
  EXPECT_EQ(use.touched, touched);
  EXPECT_EQ(use.starts, starts);
  EXPECT_EQ(use.positions, positions);
  EXPECT_EQ(use.examples, examples);
}

TEST(KeyPlan, OfOnePlannerDoesNotDependOnWhatItPlannedBefore) {
  KeyPlanner used;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    // Hot keys, some repetition, or hardly any key twice.
    uint64_t num_keys = std::array<uint64_t, 3>{3, 200, 1000000}[seed % 3];
    Planned planned = random_lists(seed, num_keys), again = random_lists(seed, num_keys);
    planned.make(used);
    KeyPlanner fresh;
    again.make(fresh);
    EXPECT_EQ(planned.plan.keys, again.plan.keys);
    for (size_t u = 0; u < 2; ++u) {
      EXPECT_EQ(planned.plan.uses[u].index, again.plan.uses[u].index);
      expect_transposed(planned.plan.uses[u]);
      expect_transposed(again.plan.uses[u]);
    }
  }
}

TEST(KeyPlan, KeysThatMeetInEverySlotAreToldApart) {
  KeyPlanner planner;
  Planned planned;
  std::vector<uint64_t> keys;
  // The planner multiplies keys by the golden ratio and takes high bits: these differ in low ones alone.
  uint64_t inverse = 0xf1de83e19937733d;
  ASSERT_EQ(inverse * 0x9e3779b97f4a7c15, 1u);
  for (uint64_t i = 0; i < 500; ++i) keys.push_back(i % 100 * inverse);
  planned.add({0, 500}, keys);
  planned.make(planner);
  EXPECT_EQ(planned.plan.keys, std::vector<uint64_t>(keys.begin(), keys.begin() + 100));
  for (uint32_t k = 0; k < 500; ++k) EXPECT_EQ(planned.plan.uses[0].index[k], k % 100);
}

TEST(KeyPlan, WithoutTransposeLeavesThatPartEmpty) {
  KeyPlanner planner;
  Planned planned = random_lists(3, 100);
  planned.make(planner);
  EXPECT_FALSE(planned.plan.uses[0].positions.empty());
  planned.make(planner, false);
  for (const KeyUse& use : planned.plan.uses) {
    EXPECT_TRUE(use.touched.empty() && use.starts.empty() && use.positions.empty() && use.examples.empty());
  }
}

// Keys that fit into a word with their numbers, and keys that do not.
TEST(KeyPlan, OfAscendingKeysSaysTheSameOfEachId) {
  for (const bool wide : {false, true}) {
    KeyPlanner first_come, ascending(KeyOrder::kAscending);
    for (uint64_t seed = 0; seed < 5; ++seed) {
      Planned expected = random_lists(seed, 500), sorted;
      for (size_t i = 0; i < expected.keys.size(); ++i) {
        if (!wide) {
          for (uint64_t& key : expected.keys[i]) key >>= 30;
        }
        sorted.add(expected.offsets[i], expected.keys[i]);
      }
      expected.make(first_come);
      sorted.make(ascending);
      EXPECT_FALSE(std::ranges::is_sorted(expected.plan.keys));
      std::ranges::sort(expected.plan.keys);
      EXPECT_EQ(sorted.plan.keys, expected.plan.keys);
      for (size_t u = 0; u < sorted.keys.size(); ++u) {
        for (size_t k = 0; k < sorted.keys[u].size(); ++k) {
          ASSERT_EQ(sorted.plan.keys[sorted.plan.uses[u].index[k]], sorted.keys[u][k]);
        }
        expect_transposed(sorted.plan.uses[u]);
      }
    }
  }
}

TEST(KeyPlan, LikeAnotherIsWhatPlanningGivesTransposedOrNot) {
  for (bool transposed : {false, true}) {
    for (bool other_transposed : {false, true}) {
      KeyPlanner planner;
      Planned planned = random_lists(4, 100), other = random_lists(4, 100);
      planned.make(planner, transposed);
      other.make(planner, other_transposed);
      std::vector<KeyList> lists;
      for (size_t i = 0; i < other.keys.size(); ++i)
        lists.push_back({other.offsets[i], other.keys[i], transposed});
      KeyPlan like;
      planner.plan_like(other.plan, lists, like);
      EXPECT_EQ(like.keys, planned.plan.keys);
      for (size_t u = 0; u < lists.size(); ++u) {
        EXPECT_EQ(like.uses[u].offsets.data(), other.offsets[u].data());
        EXPECT_EQ(like.uses[u].index, planned.plan.uses[u].index);
        EXPECT_EQ(like.uses[u].transposed(), transposed);
        if (transposed) expect_transposed(like.uses[u]);
      }
    }
  }
}

TEST(KeyPlan, OfNoIdsIsEmpty) {
  KeyPlanner planner;
  Planned planned;
  planned.add({0, 0, 0}, {});
  planned.make(planner);
  EXPECT_TRUE(planned.plan.keys.empty());
  EXPECT_TRUE(planned.plan.uses[0].touched.empty());
}

TEST(KeyPlan, KeysAreCountedByOccurrenceAndByLabel) {
  KeyPlanner planner;
  Planned planned;
  planned.add({0, 2, 3, 5}, {7, 7, 9, 7, 8});  // 7 is twice in the first example
  planned.add({0, 0, 1, 2}, {9, 9});
  planned.make(planner, /*transpose=*/false);
  count_keys(std::vector<float>{1, 0, 0.5f}, planned.plan);
  EXPECT_THAT(planned.plan.keys, testing::ElementsAre(7, 9, 8));
  EXPECT_THAT(planned.plan.counts, testing::ElementsAre(KeyCount{3, 3}, KeyCount{3, 1}, KeyCount{1, 1}));
  count_keys(std::vector<float>{0, -1, 0}, planned.plan);
  EXPECT_THAT(planned.plan.counts, testing::ElementsAre(KeyCount{3, 0}, KeyCount{3, 0}, KeyCount{1, 0}));
}

}  // namespace
}  // namespace ps::key_plan_test
