// The others train what lost trainers leave of a pass: every batch and every example is counted.
#include "counted_run.h"
#include "recovering_cluster.h"

namespace ps {
namespace {

class RestOfPassTest : public testing::TestWithParam<Consistency> {
 protected:
  SyntheticJob job() const {
    SyntheticJob job;
    job.consistency = GetParam();
    job.small = true;
    job.steps = {{14, 6}, {14, 6}, {9, 8}};
    return job;
  }

  Time calm_end(const ShardClusterSize& size) const {
    CountedRun calm(job(), size);
    calm.train();
    EXPECT_EQ(calm.given_up(), 0u);
    EXPECT_EQ(calm.pushed_again(), 0u);
    return calm.cluster().network().now();
  }

  uint64_t most_in_flight() const { return static_cast<uint64_t>(GetParam().staleness) + 1; }
};

// One shard has a push or has it not: then each example counts once, whatever was on its way.
TEST_P(RestOfPassTest, EachExampleIsTrainedOnceWheneverATrainerIsLost) {
  const ShardClusterSize one = {1, 1, 0};
  const Time end = calm_end(one);
  uint64_t lost = 0;
  for (int moment = 0; moment < 20; ++moment) {
    SCOPED_TRACE(cat("killed at ", moment, " of 20"));
    CountedRun run(job(), one, static_cast<uint64_t>(moment + 1));
    run.kill_at(end * moment / 20, 1);
    run.train();
    lost += run.given_up();
    EXPECT_EQ(run.num_pushed(), run.num_batches());
    EXPECT_LE(run.pushed_again(), run.given_up() * most_in_flight());
    EXPECT_EQ(run.applied_samples(), run.num_samples());
  }
  EXPECT_GE(lost, 15u) << "nearly every run was to lose a trainer";
}

// Some shards may have the last pushes of a trainer, and others not.  All give the last checkpoint one number.
TEST_P(RestOfPassTest, OnSeveralShardsOnlyWhatWasInFlightCountsTwiceOrInPart) {
  const ShardClusterSize size = {2, 1, 1};
  const Time end = calm_end(size);
  for (int moment = 0; moment < 20; ++moment) {
    SCOPED_TRACE(cat("killed at ", moment, " of 20"));
    CountedRun run(job(), size, static_cast<uint64_t>(moment + 1));
    SimNetwork& network = run.cluster().network();
    network.at(end * moment / 20, [&network, server = run.cluster().hosts().back()] {
      network.cut(network.host("trainer1"), *server);  // what is on its way to this server is lost
    });
    run.kill_at(end * moment / 20, 1);
    run.train();
    EXPECT_EQ(run.num_pushed(), run.num_batches());
    const int64_t most = static_cast<int64_t>(most_in_flight()) * 11;
    const uint64_t last_checkpoint = run.cluster().shards()[0]->shard()->steps().clock();
    for (size_t shard = 0; shard < run.cluster().shards().size(); ++shard) {
      EXPECT_NEAR(static_cast<double>(run.applied_samples(shard)), static_cast<double>(run.num_samples()),
                  static_cast<double>(most))
          << shard;
      EXPECT_EQ(run.cluster().shards()[shard]->shard()->steps().clock(), last_checkpoint) << shard;
    }
  }
}

// The second dies while it trains what the first has left, or what it has itself.
TEST_P(RestOfPassTest, SeveralMayBeLostOneAfterTheOther) {
  SyntheticJob four = job();
  four.steps.push_back({11, 7});
  uint64_t lost = 0;
  for (int moment = 0; moment < 15; ++moment) {
    SCOPED_TRACE(cat("the second is killed ", moment * 400, " ms later"));
    CountedRun run(four, {1, 1, 0}, static_cast<uint64_t>(moment + 1));
    run.kill_at(700ms, 3);
    run.kill_at(700ms + moment * 400ms, 0);
    run.train();
    lost += run.given_up();
    EXPECT_EQ(run.num_pushed(), run.num_batches());
    EXPECT_EQ(run.applied_samples(), run.num_samples());
  }
  EXPECT_GE(lost, 25u);
}

// One shard has no two parts between which it can be.
TEST_P(RestOfPassTest, ATrainerThatReturnsTakesPartAgain) {
  uint64_t returned = 0;
  for (int moment = 0; moment < 20; moment += 2) {
    for (const Duration later : {Duration(200ms), Duration(1500ms), Duration(4s)}) {
      SCOPED_TRACE(cat("killed at ", moment, " of 20, returns after ", to_seconds(later), " s"));
      CountedRun run(job(), {1, 1, 0}, static_cast<uint64_t>(moment + 1));
      run.kill_at(moment * 300ms, 1, later);
      run.train();
      returned += run.cluster().shards()[0]->shard()->counters().trainers_returned;
      EXPECT_EQ(run.num_pushed(), run.num_batches());
      EXPECT_EQ(run.applied_samples(), run.num_samples());
    }
  }
  EXPECT_GE(returned, 15u);
}

// A rank that nobody had when the others began, and that they have gone on without.
TEST_P(RestOfPassTest, ARankThatIsFreeMayBeTakenWhileTheRunGoesOn) {
  uint64_t given_up = 0;
  for (int moment = 0; moment < 20; moment += 2) {
    SCOPED_TRACE(cat("comes after ", 1500 + moment * 400, " ms"));
    CountedRun run(job(), {1, 1, 0}, static_cast<uint64_t>(moment + 1));
    ShardCluster& cluster = run.cluster();
    cluster.start_trainer(0);
    cluster.start_trainer(2);
    const Time comes = 1500ms + moment * 400ms;
    cluster.network().at(comes, [&cluster] { cluster.start_trainer(1); });
    cluster.network().run_for(comes + 1ms);
    cluster.run();
    given_up += run.given_up();
    EXPECT_EQ(run.num_pushed(), run.num_batches());
    EXPECT_EQ(run.pushed_again(), 0u);
    EXPECT_EQ(run.applied_samples(), run.num_samples());
  }
  EXPECT_GE(given_up, 9u);
}

// Servers go back to a checkpoint, or take up their logs, in the midst of what is taken over.
TEST_P(RestOfPassTest, ServersThatComeBackCountOn) {
  Totals totals;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Random random(seed, 0);
    RecoveryPlan plan(random);
    plan.job = job();
    plan.job.on_loss = {.timeout = 5s, .go_on = true};  // trainers come to servers again meanwhile
    plan.steps = draw(random, 1, 3);
    plan.durable = seed % 2 == 0;
    const ScratchFolder folder;
    RecoveringCluster cluster(plan, folder.path(), seed, totals);
    cluster.network().set_default_link({.latency = 50ms, .jitter = 10ms});
    const Time lost = 100ms * draw(random, 5, 30);
    cluster.network().at(lost, [&] { cluster.lose_trainer(1); });
    for (int crash = 0; crash < 3; ++crash) {
      const size_t server = random.below(static_cast<uint64_t>(plan.servers));
      cluster.network().at(lost + 100ms * draw(random, 5, 100), [&cluster, server] {
        cluster.crash_server(server, 300ms, RecoveringCluster::Crash::kMachine);
      });
    }
    cluster.start_trainers();
    cluster.run();
    EXPECT_EQ(applied_by(cluster.first_shard()), samples_of(plan.job));
  }
  EXPECT_GT(totals.server_crashes, 10u);
  EXPECT_GT(totals.went_back, 2u) << "trainers seldom went back: the test proves nothing";
}

INSTANTIATE_TEST_SUITE_P(Modes, RestOfPassTest,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true}));

}  // namespace
}  // namespace ps
