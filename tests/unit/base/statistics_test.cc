#include "base/statistics.h"

#include <gtest/gtest.h>

namespace ps::statistics_test {
namespace {

TEST(Statistics, MedianOfAnOddNumberIsTheMiddleOne) {
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({7}), 7);
}

TEST(Statistics, MedianOfAnEvenNumberIsBetweenTheMiddleTwo) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, QuantilesAreLinearBetweenNeighbours) {
  EXPECT_EQ(quantile({10, 20, 30, 40, 50}, 0), 10);
  EXPECT_EQ(quantile({10, 20, 30, 40, 50}, 1), 50);
  EXPECT_EQ(quantile({50, 40, 30, 20, 10}, 0.75), 40);
  EXPECT_EQ(quantile({10, 20}, 0.25), 12.5);
}

TEST(Statistics, OneOutlierMovesTheHighQuantileAlone) {
  std::vector<double> values(1000, 1.0);
  values[17] = 1000;
  EXPECT_EQ(median(values), 1);
  EXPECT_EQ(quantile(values, 0.998), 1);
  EXPECT_EQ(quantile(values, 1), 1000);
}

}  // namespace
}  // namespace ps::statistics_test
