#include "store/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/json.h"
#include "optim/step_rule.h"

namespace ps::placement_test {
namespace {

TEST(BlockCyclicRows, EveryRowHasOneHolderAndOneNumberThere) {
  for (int64_t rows : {1, 7, 8, 9, 100}) {
    for (int64_t num_owners : {1, 3, 5}) {
      std::set<int64_t> seen;
      for (int64_t owner = 0; owner < num_owners; ++owner) {
        BlockCyclicRows deal{rows, 4, num_owners, owner};
        for (int64_t own = 0; own < deal.own_rows(); ++own) {
          int64_t row = deal.global(own);
          EXPECT_EQ(deal.owner_of(row), owner);
          EXPECT_EQ(deal.local(row), own);
          EXPECT_TRUE(row < rows && seen.insert(row).second) << row;
        }
      }
      EXPECT_EQ(seen.size(), static_cast<size_t>(rows)) << rows << " rows of " << num_owners;
    }
  }
}

TEST(Placement, FirstBlocksOfParametersGoToDifferentShards) {
  ParameterSpec spec;
  spec.rows = 1;
  spec.cols = 4;
  for (int p = 0; p < 6; ++p) {
    for (int shard = 0; shard < 3; ++shard) {
      EXPECT_EQ(dense_blocks(spec, p, 3, shard).own_rows(), shard == p % 3) << p << " on " << shard;
    }
  }
}

TEST(StepRule, CountsTheSamplesOfTheStepsBefore) {
  Json schedule = parse_json(R"({"type": "manual", "segments": [[10, 1], [20, 0.5]]})", "test");
  StepRule rule(make_schedule(schedule, 0.5, "schedule"), /*mean=*/true);
  StepSize first = rule.next({8, 0}), second = rule.next({4, 0}), third = rule.next({2, 0});
  EXPECT_EQ(first.learning_rate, 0.5);
  EXPECT_EQ(first.scale, 0.125f);
  EXPECT_EQ(second.learning_rate, 0.5) << "8 samples came before it";
  EXPECT_EQ(third.learning_rate, 0.25) << "12 samples came before it";
  EXPECT_EQ(rule.learning_rate(), 0.25);
  EXPECT_EQ(rule.steps(), 3);
}

TEST(StepRule, ASumIsNotScaled) {
  EXPECT_EQ(StepRule(make_schedule(Json(), 0.5, "schedule"), /*mean=*/false).next({4, 0}).scale, 1.0f);
}

}  // namespace
}  // namespace ps::placement_test
