// The status pages, made from figures that are given.
#include "ps/status/status_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cluster.h"

namespace ps::status_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class StatusServiceTest : public testing::Test {
 protected:
  HttpResponse get(const std::string& path) {
    HttpRequest request;
    request.path = path;
    return service_.answer(request);
  }
  void run_for(Duration duration) {
    network_.run_until([] { return false; }, add_time(network_.now(), duration));
  }
  void publish(StatusBoard& board) {
    ShardStatus status;
    status.port = 4711;
    status.published = network_.now();
    status.tables = {{"a \"b\\\n", true, 3, 96}, {"c", false, 1, 4}};
    status.trainers = {{.rank = 7, .connections = 1, .clock = 12, .lag = 2}};
    status.counters.pulls = 5;
    board.publish(std::move(status));
  }

  SimNetwork network_{1};
  SimHost& host_ = network_.host("server");
  StatusBoard boards_[2];
  StatusService service_{
      host_.loop(), {.job = "the job", .exposure = "", .memory_limit = 1 << 30}, {&boards_[0], &boards_[1]}};
};

TEST_F(StatusServiceTest, AServerIsReadyOnceAllShardsHaveSpokenUntilItEnds) {
  run_for(1s);
  EXPECT_EQ(get("/readyz").status, 503);
  publish(boards_[0]);
  EXPECT_THAT(get("/readyz").body, HasSubstr("shard 1"));
  publish(boards_[1]);
  EXPECT_EQ(get("/readyz").status, 200);
  service_.end();
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/livez").status, 200);
}

TEST_F(StatusServiceTest, AShardThatIsSilentForLongIsDead) {
  run_for(30s);
  publish(boards_[0]);
  publish(boards_[1]);
  run_for(59s);
  EXPECT_EQ(get("/livez").status, 200);
  publish(boards_[0]);
  run_for(2s);
  EXPECT_EQ(get("/livez").status, 503);
  EXPECT_THAT(get("/livez").body, HasSubstr("shard 1"));
}

TEST_F(StatusServiceTest, MetricsNameShardsTablesAndTrainers) {
  publish(boards_[1]);
  std::string text = get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("# TYPE pskit_shard_pulls_total counter\n"));
  EXPECT_THAT(text, HasSubstr("pskit_shard_pulls_total{shard=\"0\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("pskit_shard_pulls_total{shard=\"1\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE pskit_shard_trainers_returned_total counter\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE pskit_shard_trainers_given_up_total counter\n"));
  EXPECT_THAT(text, HasSubstr("pskit_shard_rows{shard=\"1\",table=\"a \\\"b\\\\\\n\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("pskit_memory_limit_bytes 1073741824\n"));
  EXPECT_THAT(text, HasSubstr("pskit_trainer_lag_steps{shard=\"1\",trainer=\"7\"} 2\n"));
}

TEST_F(StatusServiceTest, ThePageAsksNobodyElse) {
  std::string page = get("/").body;
  EXPECT_THAT(page, HasSubstr("fetch(\"status.json\""));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(RequestSeconds, BucketsHaveWhatIsUpToTheirBound) {
  RequestSeconds seconds;
  for (double each : {0.0, 1e-4, 2e-4, 10.0, 11.0}) seconds.add(each);
  EXPECT_EQ(seconds.counts.front(), 2u);
  EXPECT_EQ(seconds.counts[1], 1u);
  EXPECT_EQ(seconds.counts[10], 1u);
  EXPECT_EQ(seconds.counts.back(), 1u);
  EXPECT_DOUBLE_EQ(seconds.sum, 21.0003);
}

TEST(RateMeter, ComesToASteadyRateAndForgetsIt) {
  RateMeter meter;
  Time now = 1000s;
  uint64_t total = 5000;  // of before anybody looked
  meter.update(total, now);
  for (int i = 0; i < 100; ++i) meter.update(total += 25, now += 250ms);
  EXPECT_NEAR(meter.update(total, now), 100, 0.1);
  EXPECT_NEAR(meter.update(total, now + 60s), 0, 0.1);
}

TEST(ShardServerStatus, WhatATrainerDoesIsPublished) {
  SyntheticJob job;
  job.steps = {{3}, {2}};
  StatusBoard boards[2];
  ShardCluster cluster(job, {2, 1, 0});
  for (size_t i = 0; i < 2; ++i) cluster.shards()[i]->publish_to(boards[i]);
  cluster.train();
  cluster.network().run_until([] { return false; }, add_time(cluster.network().now(), 1s));
  uint64_t rows = 0;
  for (const StatusBoard& board : boards) {
    ShardStatus status = board.latest();
    rows += status.tables.at(0).rows;
    EXPECT_EQ(status.counters.steps, 3u);
    EXPECT_GT(status.counters.rows_pulled, 0u);
    EXPECT_EQ(status.push_seconds.counts[0] + status.push_seconds.counts[1] + status.push_seconds.counts[2] +
                  status.push_seconds.counts[3] + status.push_seconds.counts[4],
              status.counters.pushes);
    ASSERT_EQ(status.trainers.size(), 2u);
    EXPECT_EQ(status.trainers[0].clock, status.clock);
    EXPECT_EQ(status.trainers[0].lag, 0u);
    EXPECT_EQ(status.trainers[1].connections, 0);
    EXPECT_EQ(status.connections, 0u);
    EXPECT_LT(status.message_bytes, 16u << 10)
        << "the trainers of the run, and the answer to their last gathering";
  }
  EXPECT_GT(rows, 0u);
}

}  // namespace
}  // namespace ps::status_test
