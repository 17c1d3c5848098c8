// Whole clusters in one process, on simulated time and network.
#include "cluster.h"
#include "config/json.h"
#include "support/environment.h"

namespace ps {
namespace {

using testing::HasSubstr;

SyntheticJob job_with(Json optimizer) {
  SyntheticJob job;
  job.optimizer = std::move(optimizer);
  return job;
}

class EveryOptimizer : public testing::TestWithParam<const OptimizerEntry*> {
 protected:
  SyntheticJob job() const {
    SyntheticJob job = job_with({{"type", GetParam()->name}, {"learning_rate", 0.05}, {"l2", 0.001}});
    job.optimizer["schedule"] = {{"type", "poly"}, {"a", 0.01}, {"b", 0.5}};
    return job;
  }
};

TEST_P(EveryOptimizer, HasTheSameBitsOnServersAsInOneProcess) {
  const std::vector<float> local = train_locally(job());
  expect_same_bits(local, ShardCluster(job(), {1, 1, 0}).train());
  expect_same_bits(local, ShardCluster(job(), {3, 2, 2}).train());
}

TEST_P(EveryOptimizer, HasTheSameBitsOnAnyServersWithThreeTrainers) {
  SyntheticJob three = job();
  three.steps = {{4, 2}, {5, 0}, {1, 3}};
  const std::vector<float> one = ShardCluster(three, {1, 1, 0}).train();
  expect_same_bits(one, ShardCluster(three, {3, 2, 2}, /*seed=*/2).train());
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EveryOptimizer, testing::ValuesIn(optimizer_catalog()),
                         [](const auto& each) { return std::string(each.param->name); });

// Norms are of the whole gradient, whoever has its parts.
TEST(ShardCluster, ClippingByNormHasTheSameBitsOnServersAsInOneProcess) {
  for (const char* clip : {"clip_norm", "clip_global_norm"}) {
    SyntheticJob job = job_with({{"type", "momentum"}, {"learning_rate", 0.05}, {clip, 0.5}});
    const std::vector<float> local = train_locally(job);
    expect_same_bits(local, ShardCluster(job, {1, 1, 0}).train());
    expect_same_bits(local, ShardCluster(job, {3, 2, 2}).train());
    job.optimizer.erase(clip);
    EXPECT_NE(local, train_locally(job)) << clip << " does nothing here";
  }
}

// With clipping, so that steps have two phases.
TEST(ShardCluster, FaultsOfTheNetworkChangeNoBit) {
  SyntheticJob job = job_with({{"type", "adam"}, {"learning_rate", 0.05}, {"clip_global_norm", 0.5}});
  job.steps = {{6, 4}, {5, 5}, {0, 7}};
  const std::vector<float> calm = ShardCluster(job, {2, 1, 1}).train();
  const uint64_t seeds = static_cast<uint64_t>(tries(30));
  uint64_t num_faults = 0, repeated = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    ShardCluster cluster(job, {2, 1, 1}, seed);
    cluster.network().set_default_link(
        {.latency = 2ms, .jitter = 5ms, .bytes_per_second = 2e7, .split = true});
    for (int rank = 0; rank < 3; ++rank) cluster.network().host(cat("trainer", rank));
    std::vector<SimHost*> hosts = cluster.hosts();
    for (int rank = 0; rank < 3; ++rank) hosts.push_back(&cluster.network().host(cat("trainer", rank)));
    SimFaults faults(cluster.network(), hosts, {.mean_interval = 60ms, .longest = 500ms});
    expect_same_bits(calm, cluster.train());
    num_faults += faults.num_faults();
    for (auto& shard : cluster.shards()) repeated += shard->shard()->counters().pushes_repeated;
  }
  EXPECT_GT(num_faults, 3 * seeds);
  EXPECT_GT(repeated, 0u) << "no push was ever sent twice: the test proves nothing";
}

TEST(ShardCluster, BoundedStalenessTrainsEveryStepOfEveryTrainerOnce) {
  SyntheticJob job;
  job.consistency.staleness = 2;
  job.steps = {{8}, {6}, {8}};
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(tries(10)); ++seed) {
    ShardCluster cluster(job, {2, 1, 0}, seed);
    cluster.network().set_default_link({.latency = 1ms, .jitter = 20ms, .split = true});
    cluster.train();
    for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, 8u) << "seed " << seed;
  }
}

TEST(ShardCluster, AsynchronousPushesAreStepsOfTheirOwn) {
  SyntheticJob job;
  job.consistency.async = true;
  job.steps = {{8, 2}, {6, 3}, {0, 1}};
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(tries(10)); ++seed) {
    ShardCluster cluster(job, {2, 1, 1}, seed);
    cluster.network().set_default_link({.latency = 1ms, .jitter = 20ms, .split = true});
    cluster.train();
    for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, 20u) << "seed " << seed;
  }
}

TEST(ShardCluster, TrainersWithMoreLessAndNoDataEndEveryPassTogetherInEveryMode) {
  const Consistency modes[] = {{}, {.staleness = 2}, {.async = true}};
  for (const Consistency& mode : modes) {
    SyntheticJob job;
    job.small = true;
    job.consistency = mode;
    job.steps = {{0, 0, 3}, {7, 0, 0}, {1, 0, 9}};
    ShardCluster cluster(job, {2, 1, 1});
    cluster.train();
    const uint64_t steps = mode.async ? 20 : 16;
    for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, steps);
  }
}

// Whenever the one dies, the others have all their data trained, and so has it if it returns.
class GoesOn : public testing::TestWithParam<Consistency> {};

TEST_P(GoesOn, WithoutATrainerAndTakesItInAgain) {
  SyntheticJob job;
  job.small = true;
  job.consistency = GetParam();
  job.steps = {{30, 9}, {30, 9}, {20, 12}};
  job.on_loss = {.timeout = 1s, .go_on = true};
  const SimLink slow = {.latency = 50ms};  // so that much is left to be done when it returns
  ShardCluster calm(job, {2, 1, 0});
  calm.network().set_default_link(slow);
  calm.train();
  const int every = static_cast<int>(try_every(5));
  uint64_t given_up = 0, returned = 0;
  for (int moment = 0; moment < 20; moment += every) {
    for (const bool returns : {false, true}) {
      if (returns && job.consistency.async) continue;  // may be told to come again: see ps-serve(1)
      SCOPED_TRACE(cat("killed at ", moment, " of 20, returns ", int{returns}));
      ShardCluster cluster(job, {2, 1, 0});
      cluster.network().set_default_link(slow);
      cluster.network().at(calm.network().now() * moment / 20,
                           [&] { cluster.restart_trainer(1, returns ? 3s : 7200s); });
      cluster.network().at(60s, [&] { cluster.forget_trainers_to_come(); });
      cluster.train();
      const ShardCounters &one = cluster.shards()[0]->shard()->counters(),
                          &other = cluster.shards()[1]->shard()->counters();
      if (!job.consistency.async) {
        EXPECT_EQ(one.steps, other.steps);
      }
      EXPECT_GE(one.steps, job.consistency.async ? 71u : 42u);
      EXPECT_FALSE(cluster.weights().empty());
      given_up += one.trainers_given_up;
      returned += one.trainers_returned;
    }
  }
  EXPECT_GT(given_up, (job.consistency.async ? 10u : 30u) / static_cast<uint64_t>(every));
  if (!job.consistency.async) {
    EXPECT_GE(returned, 15u / static_cast<uint64_t>(every));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, GoesOn,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true}));

TEST(ShardCluster, WhatTrainersGatherComesInRankOrder) {
  SyntheticJob job;
  job.steps = {{}, {}, {}};
  ShardCluster cluster(job, {1, 1, 0});
  for (int rank = 0; rank < 3; ++rank) {
    cluster.spawn(rank, [rank](RemoteStore& store) {
      for (int round = 0; round < 3; ++round) {
        EXPECT_THAT(
            store.group().gather(cat("r", round, "t", rank)),
            testing::ElementsAre(cat("r", round, "t0"), cat("r", round, "t1"), cat("r", round, "t2")));
      }
    });
  }
  cluster.run();
}

TEST(ShardCluster, WeightsThatAreLoadedAreTheOnesThatAreRead) {
  ShardCluster cluster(SyntheticJob(), {2, 2, 1});
  cluster.spawn(0, [](RemoteStore& store) {
    std::vector<uint64_t> keys = {3, 1ull << 40, UINT64_MAX};
    std::vector<float> rows = {1, 2, 3, 4, 5, 6, 7, 8, 9}, read(9);
    store.load_rows(0, keys, rows.data());
    store.read_rows(0, keys, read.data());
    EXPECT_EQ(rows, read);
    EXPECT_EQ(store.keys(0), keys);
    std::vector<float> matrix(40000), copy(40000);
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i);
    store.load_all(2, matrix.data());
    store.read_all(2, copy.data());
    EXPECT_EQ(matrix, copy);
  });
  cluster.run();
}

// A trainer that comes so is told why it may not take part.
void expect_refused(ShardCluster& cluster, const RemoteOptions& options, const std::string& why) {
  cluster.spawn(options, [](RemoteStore&) { FAIL() << "connected"; });
  try {
    cluster.run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.message(), HasSubstr(why));
  }
}

TEST(ShardCluster, AnotherJobIsRefusedWithWhatDiffers) {
  ShardCluster cluster(job_with({{"type", "sgd"}, {"learning_rate", 0.1}}), {1, 1, 0});
  RemoteOptions options = cluster.options(0);
  options.hello.job["optimizer"]["learning_rate"] = 0.2;
  expect_refused(cluster, options, "optimizer.learning_rate is 0.2, not 0.1");
}

TEST(ShardCluster, AnotherVersionOfTheProtocolIsRefused) {
  ShardCluster cluster(SyntheticJob(), {1, 1, 0});
  RemoteOptions options = cluster.options(0);
  options.hello.protocol = kProtocolVersion + 1;
  expect_refused(cluster, options,
                 cat("protocol version ", kProtocolVersion + 1, ", this server speaks ", kProtocolVersion));
}

TEST(ShardCluster, ATrainerThatNeverComesIsNamed) {
  SyntheticJob job;
  job.steps = {{3}, {3}};
  ShardCluster cluster(job, {1, 1, 0});
  cluster.served().trainer_loss.timeout = 20s;
  cluster.spawn(0, [&](RemoteStore& store) { run_trainer(store, store.group(), store.run(), job, 0); });
  try {
    cluster.run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("no connection from trainer 1 of 2 for 20 s"));
  }
  EXPECT_GE(cluster.network().now(), 20s);
}

TEST(ShardCluster, ATrainerThatIsMissingIsMentionedWithinSeconds) {
  SyntheticJob job;
  job.steps = {{3}, {3}, {3}};
  ShardCluster cluster(job, {2, 1, 0});
  std::vector<std::pair<Time, std::string>> said;
  cluster.on_waiting = [&](const std::string& text) { said.emplace_back(cluster.network().now(), text); };
  cluster.start_trainer(0);
  cluster.network().at(20s, [&] { cluster.start_trainer(1); });
  cluster.network().at(50s, [&] { cluster.start_trainer(2); });
  cluster.network().run_for(51s);
  cluster.run();
  ASSERT_GE(said.size(), 3u);
  EXPECT_LE(said[0].first, 4s);
  EXPECT_EQ(said[0].second, "trainer 1, 2 of 3 is not there");
  EXPECT_EQ(said.back().second, "trainer 2 of 3 is not there");
  EXPECT_LE(said.size(), 12u) << "it is not repeated all the time";
}

// Both trainers come; then one is ended by its user.
class LeavingTrainer : public testing::Test {
 protected:
  LeavingTrainer() { job_.steps = {{50}, {50}}; }
  void run(ShardCluster& cluster) {
    cluster.spawn(0, [&](RemoteStore& store) {
      store.group().barrier();
      store.run().leave_run();
    });
    cluster.start_trainer(1);
    cluster.run();
  }
  SyntheticJob job_;
};

TEST_F(LeavingTrainer, EndsTheOthersAtOnceWithTheReason) {
  ShardCluster cluster(job_, {2, 1, 0});
  try {
    run(cluster);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("trainer 0 of 2 was ended before the run was done, at step 0"));
  }
  EXPECT_LT(cluster.network().now(), 4s);
}

TEST_F(LeavingTrainer, LetsTheOthersGoOnAtOnceWhereTheJobSaysSo) {
  job_.on_loss.go_on = true;
  ShardCluster cluster(job_, {2, 1, 0});
  run(cluster);
  EXPECT_LT(cluster.network().now(), 5s);
  EXPECT_EQ(cluster.shards()[0]->shard()->counters().trainers_given_up, 1u);
  EXPECT_GE(cluster.shards()[0]->shard()->counters().steps, 50u);
}

TEST_F(LeavingTrainer, HoldsNobodyUpWhenAnotherProcessTakesItsRankSoon) {
  ShardCluster cluster(job_, {2, 1, 0});
  const std::vector<float> calm = ShardCluster(job_, {2, 1, 0}).train();
  cluster.spawn(0, [&](RemoteStore& store) {
    store.group().barrier();
    store.run().leave_run();
  });
  cluster.start_trainer(1);
  cluster.network().at(500ms, [&] { cluster.start_trainer(0); });
  cluster.network().run_for(600ms);
  cluster.run();
  expect_same_bits(calm, cluster.weights());
}

TEST(ShardCluster, TheNextRunGoesOnFromTheWeightsOfTheLast) {
  SyntheticJob job;
  job.steps = {{4}};
  ShardCluster cluster(job, {2, 1, 1});
  const std::vector<float> first = cluster.train();
  RemoteOptions options = cluster.options(0);
  std::vector<float> before;
  cluster.spawn(options, [&](RemoteStore& store) {
    before = all_weights(store);
    run_trainer(store, store.group(), store.run(), job, 0);
  });
  cluster.run();
  expect_same_bits(first, before);
  for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, 8u);
}

TEST(ShardCluster, AServerThatDiesEndsTheTrainersWithItsName) {
  SyntheticJob job;
  job.steps = {{100000}};
  ShardCluster cluster(job, {2, 1, 0});
  cluster.network().at(50ms, [&] { cluster.hosts()[1]->crash(); });
  RemoteOptions options = cluster.options(0);
  options.server_timeout = 10s;
  cluster.spawn(options, [&](RemoteStore& store) { run_trainer(store, store.group(), store.run(), job, 0); });
  try {
    cluster.run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("server1"));
  }
  EXPECT_LT(cluster.network().now(), 60s);
}

TEST(ShardCluster, AServerThatCannotBeReachedIsNamed) {
  ShardCluster cluster(SyntheticJob(), {1, 1, 0});
  RemoteOptions options = cluster.options(0);
  options.servers = {{"server0", 9}};
  options.server_timeout = 5s;
  int waits = 0;
  options.on_waiting = [&](const std::string& text) {
    EXPECT_THAT(text, HasSubstr("server0:9"));
    ++waits;
  };
  cluster.spawn(options, [](RemoteStore&) { FAIL() << "connected"; });
  EXPECT_THROW(cluster.run(), Error);
  EXPECT_GT(waits, 2);
}

}  // namespace
}  // namespace ps
