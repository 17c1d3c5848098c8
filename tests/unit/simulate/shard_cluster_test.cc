// Whole clusters as a yardstick: how long their steps take, by simulated time.
#include "simulate/shard_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ps::shard_cluster_test {
namespace {

using namespace std::chrono_literals;

struct Trained {
  std::vector<float> weights;
  double seconds = 0;
};

// Two trainers of `steps` steps each, and two servers.
Trained train(int steps, const SimLink& link, uint64_t seed = 1) {
  SyntheticJob job;
  job.steps = {{steps}, {steps}};
  ShardCluster cluster(job, {.servers = 2}, seed);
  cluster.network().set_default_link(link);
  Trained trained;
  trained.weights = cluster.train();
  trained.seconds = to_seconds(cluster.network().now());
  return trained;
}

double seconds_a_step(const SimLink& link) {
  return (train(24, link).seconds - train(4, link).seconds) / 20;
}

TEST(ShardCluster, AStepTakesBetweenOneAndTwoRoundTripsOfALongLink) {
  const double round_trip = 0.2;
  const double seconds =
      seconds_a_step({.latency = 100ms, .bytes_per_second = 1e12, .window_bytes = 64 << 20});
  EXPECT_GE(seconds, round_trip) << "a push waits for its answer";
  EXPECT_LE(seconds, 2.01 * round_trip) << "and a pull that was not begun ahead for its own";
}

TEST(ShardCluster, AStepTakesAsLongAsItsBytesOnASlowLink) {
  const SimLink slow{.latency = 1us, .bytes_per_second = 1e6, .window_bytes = 64 << 20};
  SimLink slower = slow;
  slower.bytes_per_second /= 4;
  EXPECT_NEAR(seconds_a_step(slower) / seconds_a_step(slow), 4, 0.04);
}

TEST(ShardCluster, TheNetworkDecidesWhenAndNeverWhatIsTrained) {
  const Trained fast = train(5, {});
  const Trained slow = train(5, {.latency = 20ms, .jitter = 30ms, .bytes_per_second = 1e7, .split = true}, 3);
  EXPECT_EQ(fast.weights, slow.weights);
  EXPECT_GT(slow.seconds, 10 * fast.seconds);
}

TEST(ShardCluster, TheSameSeedTakesTheSameTime) {
  const SimLink link{.latency = 1ms, .jitter = 5ms, .split = true};
  EXPECT_EQ(train(5, link, 7).seconds, train(5, link, 7).seconds);
  EXPECT_NE(train(5, link, 7).seconds, train(5, link, 8).seconds);
}

TEST(ShardCluster, WhatATrainerThrowsIsThrown) {
  ShardCluster cluster(SyntheticJob(), {});
  cluster.spawn(0, [](RemoteStore&) { fail(Code::kData, "no more data"); });
  EXPECT_THROW(cluster.run(), Error);
}

}  // namespace
}  // namespace ps::shard_cluster_test
