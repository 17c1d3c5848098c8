#include "job/tuning/rate_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"

namespace ps::rate_finder_test {
namespace {

using testing::HasSubstr;

// Costs that fall until the rate is `turn`, and then rise.
std::vector<RatePoint> costs_around(double turn) {
  std::vector<RatePoint> points;
  for (int i = 0; i <= 60; ++i) {
    const double rate = std::pow(10, -4 + i / 10.0);
    points.push_back({rate, 1 + std::pow(std::log10(rate / turn), 2)});
  }
  return points;
}

TEST(RateFinder, ParsesARange) {
  EXPECT_EQ(parse_rate_range("1e-5..10").low, 1e-5);
  EXPECT_EQ(parse_rate_range("0.5..1.5").high, 1.5);
  for (const char* wrong : {"", "1", "1..", "..1", "0..1", "-1..1", "2..1", "1..1", "a..b", "1...2"})
    EXPECT_THROW(parse_rate_range(wrong), Error) << wrong;
}

TEST(RateFinder, SuggestsATenthOfTheRateOfTheLowestCost) {
  const std::vector<RatePoint> points = costs_around(0.1);
  const RateFinding found = judge_rates(points);
  ASSERT_TRUE(found.lowest && found.rate);
  EXPECT_EQ(*found.rate, found.points[*found.lowest].rate / 10);
  const double smoothing = 4;  // points by which the mean is behind the costs
  EXPECT_NEAR(std::log10(*found.rate), -2, (smoothing + 1) / 10);
  EXPECT_EQ(found.points[0].smoothed, points[0].cost) << "without the bias of its beginning";
  EXPECT_DOUBLE_EQ(found.points[1].smoothed, (0.8 * points[0].cost + points[1].cost) / 1.8);
  EXPECT_THAT(rate_table(found), HasSubstr("a rate to begin with: "));
  EXPECT_EQ(rate_result(found)["rate"], *found.rate);
}

TEST(RateFinder, EndsWhereTheCostHasDiverged) {
  std::vector<RatePoint> points = costs_around(0.1);
  points[50].cost = 1000;
  const RateFinding found = judge_rates(points);
  EXPECT_EQ(found.points.size(), 51u);
  EXPECT_TRUE(found.rate);
}

TEST(RateFinder, SuggestsNothingWhereTheCostOnlyFallsOrOnlyRises) {
  for (double turn : {1e-9, 1e9}) {
    const RateFinding found = judge_rates(costs_around(turn));
    EXPECT_FALSE(found.rate) << turn;
    EXPECT_TRUE(rate_result(found)["rate"].is_null());
    EXPECT_THAT(rate_table(found), HasSubstr("the cost is lowest at an end of the range"));
  }
  EXPECT_FALSE(judge_rates({}).rate);
}

}  // namespace
}  // namespace ps::rate_finder_test
