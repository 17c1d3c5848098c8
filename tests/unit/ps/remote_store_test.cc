// A trainer's store before the real shards of a simulated cluster: what it does beside training, which tests/sim proves.
#include "ps/client/remote_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/shard_cluster.h"
#include "support/scratch_folder.h"

namespace ps::remote_store_test {
namespace {

constexpr int kTable = 0;  // of the synthetic parameters, the sparse one

// Runs `body` as trainer 0 of a job with two servers.
void as_trainer(const SyntheticJob& job, const std::function<void(RemoteStore&, ShardCluster&)>& body) {
  ShardCluster cluster(job, {.servers = 2});
  cluster.network().set_default_link({.latency = std::chrono::milliseconds(5)});
  cluster.spawn(0, [&](RemoteStore& store) { body(store, cluster); });
  cluster.run();
}

SyntheticJob small_job() {
  SyntheticJob job;
  job.small = true;
  job.steps = {{2}};
  return job;
}

// Pulls batch `step`, fills it in and pushes it.
void train_step(RemoteStore& store, const SyntheticJob& job, int64_t step) {
  const std::vector<ParameterSpec> specs = job.parameters();
  const SyntheticBatch batch = job.batch(0, step);
  std::vector<ParameterView<float>> views;
  store.pull(batch.plans, PullMode::kTrain, views);
  batch.fill(0, step, specs, views);
  store.push(batch.plans, views, {batch.samples, 0});
}

TEST(RemoteStore, APushIsOnItsWayWhenItReturnsAndAppliedWhenItIsWaitedFor) {
  const SyntheticJob job = small_job();
  as_trainer(job, [&](RemoteStore& store, ShardCluster& cluster) {
    train_step(store, job, 0);
    const Time pushed = cluster.network().now();
    const double waited = store.times().waiting;
    store.finish_pushes();
    EXPECT_GE(to_seconds(cluster.network().now() - pushed), 0.01) << "a round trip";
    EXPECT_EQ(store.pushes().next_step(), 1u);
    EXPECT_GE(store.times().waiting, waited);
    store.end_pass(0);
    store.run().end_run();
  });
}

TEST(RemoteStore, RowsThatAreLoadedAreReadAndPulledAgain) {
  const SyntheticJob job = small_job();
  as_trainer(job, [&](RemoteStore& store, ShardCluster&) {
    const size_t cols = static_cast<size_t>(job.parameters()[kTable].cols);
    const std::vector<uint64_t> keys = {0, 1, 2};
    std::vector<float> weights(keys.size() * cols), read(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) + 0.25f;
    store.load_rows(kTable, keys, weights.data());
    store.read_rows(kTable, keys, read.data());
    EXPECT_EQ(read, weights);
    store.run().end_run();
  });
}

TEST(RemoteStore, CountsWhatItSendsAndWhetherOthersHaveTrainedBefore) {
  const SyntheticJob job = small_job();
  as_trainer(job, [&](RemoteStore& store, ShardCluster&) {
    EXPECT_FALSE(store.was_going());
    EXPECT_FALSE(store.can_go_back()) << "these servers write no checkpoints";
    EXPECT_TRUE(store.may_wait());
    const uint64_t before = store.bytes_sent();
    EXPECT_GT(before, 0u) << "to be greeted";
    train_step(store, job, 0);
    store.finish_pushes();
    EXPECT_GT(store.bytes_sent(), before);
    EXPECT_EQ(store.pushes_dropped(), 0);
    EXPECT_EQ(store.errors_dropped(), 0u);
    store.end_pass(0);
    store.run().end_run();
  });
}

// It may come before the servers know that the process before it is gone, so it waits for a while.
TEST(RemoteStore, ASecondProcessOfARankThatIsThereIsRefused) {
  const SyntheticJob job = small_job();
  const Error error = error_of([&] {
    as_trainer(job, [&](RemoteStore& first, ShardCluster& cluster) {
      cluster.spawn(0, [](RemoteStore&) {});
      first.links().wait([] { return false; }, /*seconds=*/120);
    });
  });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), testing::HasSubstr("trainer 0 is another process; it has to end first"));
}

}  // namespace
}  // namespace ps::remote_store_test
