#include "store/local_interval.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ps::local_interval_test {
namespace {

// The intervals after ends of intervals with these costs, with a learning rate of 0.1.
std::vector<int64_t> intervals(const IntervalOptions& options, const std::vector<double>& costs) {
  LocalInterval interval(options);
  std::vector<int64_t> found = {interval.steps()};
  int64_t step = 0;
  for (double cost : costs) {
    interval.next(cost, 0.1, step += interval.steps());
    found.push_back(interval.steps());
  }
  return found;
}

using Steps = std::vector<int64_t>;

TEST(LocalInterval, FixedStays) {
  EXPECT_EQ(intervals({.first = 500}, {4, 1, 9}), (Steps{500, 500, 500, 500}));
}

// 10 sqrt(1/4) = 5; ceil(10 sqrt(1/5)) = 5, which is not less than 5: 2; 10 sqrt(0.01/4) = 0.5: 1.
TEST(LocalInterval, AdacommFollowsTheRootOfTheCostAndHalvesWhereThatDoesNotShorten) {
  const IntervalOptions options{.rule = IntervalRule::kAdacomm, .first = 10, .adapt_steps = 1};
  EXPECT_EQ(intervals(options, {4, 1, 0.8, 0.01}), (Steps{10, 10, 5, 2, 1}));
  EXPECT_EQ(intervals(options, {4, 4, 4, 4, 4, 4}), (Steps{10, 10, 5, 2, 1, 1, 1}));
}

// 16 steps end the first interval, and 8 and 4 steps more are fewer than 20; 32 are not.
TEST(LocalInterval, AdacommChangesAfterSoManySteps) {
  const IntervalOptions options{.rule = IntervalRule::kAdacomm, .first = 16, .adapt_steps = 20};
  EXPECT_EQ(intervals(options, {4, 1, 1, 1, 1}), (Steps{16, 16, 16, 8, 8, 8}));
}

// floor(6 sqrt((1 - 0.5)/(2.5 - 0.5))) = 3; floor(6 sqrt(18/2)) = 18, bounded by 16; 6 sqrt(2000/2) = 189 is ignored.
TEST(LocalInterval, FleetxDocHasTheFirstIntervalOutsideTheRoot) {
  const IntervalOptions options{.rule = IntervalRule::kFleetxDoc, .first = 6, .floor_cost = 0.5};
  EXPECT_EQ(intervals(options, {2.5, 1, 18.5, 2000.5, 0.51}), (Steps{6, 6, 3, 16, 16, 1}));
}

// ceil(sqrt(9)) = 3 at once; ceil(sqrt(9/4)) = 2; ceil(sqrt(9 x 40)) = 19, bounded by 16.
TEST(LocalInterval, PaddleHasTheFirstIntervalInsideTheRoot) {
  const IntervalOptions options{.rule = IntervalRule::kPaddle, .first = 9};
  EXPECT_EQ(intervals(options, {4, 1, 160}), (Steps{9, 3, 2, 16}));
}

TEST(LocalInterval, ALowerRateLengthensAndOneOfZeroChangesNothing) {
  LocalInterval interval({.rule = IntervalRule::kPaddle, .first = 4});
  interval.next(1, 0.4, 4);
  EXPECT_EQ(interval.steps(), 2);
  interval.next(1, 0.1, 6);
  EXPECT_EQ(interval.steps(), 4);
  interval.next(1, 0, 8);
  EXPECT_EQ(interval.steps(), 4);
  interval.next(-1, 0.1, 12);
  EXPECT_EQ(interval.steps(), 4);
}

TEST(LocalInterval, ASavedOneGoesOnAndADamagedOneIsRefused) {
  const IntervalOptions options{.rule = IntervalRule::kAdacomm, .first = 16, .adapt_steps = 20};
  LocalInterval interval(options), other(options);
  interval.next(4, 0.1, 16);
  std::string state;
  interval.save(state);
  ByteReader in(state);
  other.load(in);
  interval.next(1, 0.1, 48), other.next(1, 0.1, 48);
  EXPECT_EQ(interval.steps(), 8);
  EXPECT_EQ(other.steps(), 8);
  for (size_t size = 0; size < state.size(); ++size) {
    ByteReader cut(std::string_view(state).substr(0, size));
    EXPECT_THROW(LocalInterval(options).load(cut), Error);
  }
}

}  // namespace
}  // namespace ps::local_interval_test
