// The sums of several batches of a step: in the order of ranks, and of rows each of which comes once.
#include "heter/summed_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ps::summed_batches_test {
namespace {

using testing::ElementsAre;

TEST(SummedBatches, TheUnionHasEachKeyOnceInAscendingOrder) {
  const std::vector<uint64_t> a = {2, 5, 9}, b = {1, 5}, none;
  const std::vector<std::span<const uint64_t>> lists = {a, none, b};
  EXPECT_THAT(union_of(lists), ElementsAre(1, 2, 5, 9));
}

TEST(SummedBatches, RowsAreAddedInTheOrderOfBatches) {
  const std::vector<uint64_t> all = {1, 2, 5}, a = {2, 5}, b = {1, 5}, c = {5};
  const std::vector<float> of_a = {1, 2, 1e8f, 0}, of_b = {3, 4, 1, -0.0f}, of_c = {-1e8f, 7};
  const std::vector<RowGradients> batches = {{a, of_a.data()}, {b, of_b.data()}, {c, of_c.data()}};
  std::vector<float> sums(6, 77);
  sum_rows(all, batches, 2, sums.data());
  EXPECT_THAT(sums, ElementsAre(3, 4, 1, 2, 0, 7)) << "1 is lost in 1e8";
}

TEST(SummedBatches, WholeParametersAreAddedAndStatisticsAveragedByTheirShares) {
  const std::vector<float> a = {1, 2}, b = {10, 20};
  const std::vector<const float*> both = {a.data(), b.data()}, lone = {b.data()};
  std::vector<float> out(2);
  sum_whole(both, 2, out.data());
  EXPECT_THAT(out, ElementsAre(11, 22));
  mean_of(both, std::vector<float>{0.5f, 0.25f}, 2, out.data());
  EXPECT_THAT(out, ElementsAre(3, 6));
  mean_of(lone, std::vector<float>{1}, 2, out.data());
  EXPECT_THAT(out, ElementsAre(10, 20));
}

TEST(SummedBatches, ARowThatSeveralSentIsTakenOnceAndOnlyIfItIsWanted) {
  const RowBlock a = {.keys = {1, 4}, .values = {1, 10, 4, 40}, .stamps = {7, 8}, .statistics = {}};
  const RowBlock b = {.keys = {3, 4}, .values = {3, 30, 9, 90}, .stamps = {5, 6}, .statistics = {}};
  const std::vector<const RowBlock*> sent = {&a, &b};
  std::vector<RowBlock> taken;
  copy_wanted(sent, std::vector<uint64_t>{2, 3, 4}, taken);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_THAT(taken[0].keys, ElementsAre(4));
  EXPECT_THAT(taken[0].values, ElementsAre(4, 40));
  EXPECT_THAT(taken[0].stamps, ElementsAre(8));
  EXPECT_THAT(taken[1].keys, ElementsAre(3));
  EXPECT_THAT(taken[1].values, ElementsAre(3, 30));
}

}  // namespace
}  // namespace ps::summed_batches_test
