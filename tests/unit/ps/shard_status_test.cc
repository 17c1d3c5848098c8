// Figures of a shard's status: rates, times of requests, and how they come to the board.
#include "ps/status/shard_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "net/sim/sim_network.h"
#include "ps/server/status_publisher.h"

namespace ps::shard_status_test {
namespace {

using namespace std::chrono_literals;
using testing::DoubleNear;

TEST(RateMeter, ComesToTheRateOfASteadyCounter) {
  RateMeter meter;
  double rate = 0;
  for (uint64_t second = 1; second <= 20; ++second) rate = meter.update(second * 100, second * 1s);
  EXPECT_THAT(rate, DoubleNear(100, 0.1));
  for (uint64_t second = 21; second <= 40; ++second) rate = meter.update(2000, second * 1s);
  EXPECT_THAT(rate, DoubleNear(0, 0.1));
}

TEST(RateMeter, DoesNotDependOnHowOftenItIsAsked) {
  RateMeter often, seldom;
  for (uint64_t tick = 1; tick <= 40; ++tick) often.update(tick * 25, tick * 250ms);
  for (uint64_t second = 1; second <= 10; ++second) seldom.update(second * 100, second * 1s);
  EXPECT_THAT(often.update(1000, 10s), DoubleNear(seldom.update(1000, 10s), 1e-9));
}

TEST(RateMeter, StaysWhenNoTimeHasPassed) {
  RateMeter meter;
  const double rate = meter.update(100, 1s);
  EXPECT_GT(rate, 0);
  EXPECT_EQ(meter.update(500, 1s), rate);
}

// A server that goes back to a checkpoint makes a shard anew, whose counters begin at zero.
TEST(RateMeter, ACounterThatBeginsAnewIsNoBurst) {
  RateMeter meter;
  uint64_t second = 1;
  for (; second <= 20; ++second) meter.update(second * 100, second * 1s);
  for (uint64_t total : {0, 100, 200}) {
    EXPECT_LE(meter.update(total, second * 1s), 101) << total;
    ++second;
  }
}

TEST(RequestSeconds, CountsEachRequestInTheBucketUpToItsBound) {
  RequestSeconds times;
  times.add(1e-4);  // a bound belongs to its bucket
  times.add(0);
  times.add(2e-4);
  times.add(10);
  times.add(11);
  EXPECT_EQ(times.counts[0], 2u);
  EXPECT_EQ(times.counts[1], 1u);
  EXPECT_EQ(times.counts[RequestSeconds::kBounds.size() - 1], 1u);
  EXPECT_EQ(times.counts[RequestSeconds::kBounds.size()], 1u) << "the rest";
  EXPECT_DOUBLE_EQ(times.sum, 21.0003);
  EXPECT_TRUE(std::ranges::is_sorted(RequestSeconds::kBounds));
}

TEST(ShardStatus, SumsItsTables) {
  ShardStatus status;
  EXPECT_EQ(status.rows(), 0u);
  status.tables = {{"a", true, 3, 96}, {"b", false, 1, 4}};
  EXPECT_EQ(status.rows(), 4u);
  EXPECT_EQ(status.table_bytes(), 100u);
}

class StatusPublisherTest : public testing::Test {
 protected:
  SimNetwork network_{1};
  RequestTimes times_;
  uint64_t pulls_ = 0;
  int filled_ = 0;
  StatusBoard board_;
  StatusPublisher publisher_{network_.host("server").loop(), times_, [this](ShardStatus& status) {
                               ++filled_;
                               status.port = 4711;
                               status.counters.pulls = pulls_;
                             }};
};

TEST_F(StatusPublisherTest, NothingIsToldBeforeThereIsABoard) {
  network_.run_for(10s);
  EXPECT_EQ(filled_, 0);
  EXPECT_EQ(board_.latest().published, Time());
}

TEST_F(StatusPublisherTest, TheBoardHasAFreshStatusFourTimesASecond) {
  network_.run_for(1s);
  publisher_.publish_to(board_);
  times_.pulls.add(0.5);
  network_.run_for(10ms);
  EXPECT_EQ(filled_, 1) << "the first at once";
  EXPECT_EQ(board_.latest().port, 4711);
  EXPECT_EQ(board_.latest().published, 1s);
  EXPECT_EQ(board_.latest().pull_seconds.sum, 0.5);
  network_.run_for(10s);
  EXPECT_EQ(filled_, 41);
  EXPECT_EQ(board_.latest().published, 11s);
}

TEST_F(StatusPublisherTest, TellsHowManyPullsThereAreInASecond) {
  network_.run_for(1s);
  publisher_.publish_to(board_);
  for (int second = 0; second < 20; ++second) {
    network_.run_for(1s);
    pulls_ += 50;
  }
  EXPECT_THAT(board_.latest().pulls_per_second, DoubleNear(50, 10));
  EXPECT_EQ(board_.latest().pushes_per_second, 0);
}

}  // namespace
}  // namespace ps::shard_status_test
