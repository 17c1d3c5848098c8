// Trainers that join a run while it goes on, and leave it: every batch and every example is counted, whoever is there.
#include <algorithm>
#include <map>

#include "counted_run.h"
#include "recovering_cluster.h"

namespace ps {
namespace {

class JoinsTest : public testing::TestWithParam<Consistency> {
 protected:
  // Two ranks begin, and two may join.
  SyntheticJob job() const {
    SyntheticJob job;
    job.consistency = GetParam();
    job.steps = {{14, 6}, {14, 6}, {9, 8}, {12, 5}};
    job.joining = 2;
    return job;
  }

  static void start_at(CountedRun& run, Time moment, int rank) {
    ShardCluster& cluster = run.cluster();
    cluster.network().at(moment, [&cluster, rank] { cluster.start_trainer(rank); });
  }

  // Also those that came after the run, to which there was nothing left to do.
  static uint64_t joined(CountedRun& run) {
    return run.cluster().shards()[0]->shard()->counters().trainers_joined;
  }

  static void expect_all_trained(CountedRun& run) {
    EXPECT_EQ(run.num_pushed(), run.num_batches());
    for (size_t shard = 0; shard < run.cluster().shards().size(); ++shard)
      EXPECT_EQ(run.applied_samples(shard), run.num_samples()) << shard;
  }

  Time calm_end(const ShardClusterSize& size) const {
    CountedRun calm(job(), size);
    calm.train();
    return calm.cluster().network().now();
  }
};

TEST_P(JoinsTest, ThoseThatBeginTrainTheSharesOfThoseThatNeverCome) {
  for (const ShardClusterSize& size : {ShardClusterSize{1, 1, 0}, ShardClusterSize{2, 1, 1}}) {
    CountedRun run(job(), size);
    run.train();
    EXPECT_EQ(joined(run), 0u);
    EXPECT_EQ(run.given_up(), 0u);
    EXPECT_EQ(run.pushed_again(), 0u);
    expect_all_trained(run);
  }
}

TEST_P(JoinsTest, OneThatJoinsAtAnyMomentTakesPart) {
  for (const ShardClusterSize& size : {ShardClusterSize{1, 1, 0}, ShardClusterSize{2, 1, 1}}) {
    const Time end = calm_end(size);
    uint64_t joined_in_all = 0;
    for (int moment = 0; moment < 40; ++moment) {
      SCOPED_TRACE(cat(size.servers, " servers, joins at ", moment, " of 40"));
      CountedRun run(job(), size, static_cast<uint64_t>(moment + 1));
      start_at(run, end * moment / 40, 2 + moment % 2);
      run.train();
      joined_in_all += joined(run);
      EXPECT_EQ(run.pushed_again(), 0u);
      expect_all_trained(run);
    }
    EXPECT_GE(joined_in_all, 35u);
  }
}

TEST_P(JoinsTest, TwoThatJoinMakeTheRunShorter) {
  const Time alone = calm_end({1, 1, 0});
  CountedRun run(job(), {1, 1, 0});
  start_at(run, 200ms, 3);
  start_at(run, 300ms, 2);
  run.train();
  EXPECT_EQ(joined(run), 2u);
  expect_all_trained(run);
  EXPECT_LT(run.cluster().network().now(), alone);
}

// It trains some batches of its share in the first pass, or none; the others train the rest.
TEST_P(JoinsTest, OneThatLeavesIsWaitedForByNobody) {
  for (int batches = 0; batches < 6; ++batches) {
    SCOPED_TRACE(cat("leaves after ", batches, " batches"));
    CountedRun run(job(), {2, 1, 1}, static_cast<uint64_t>(batches + 1));
    SyntheticJob part = run.job();
    part.steps[2][0] = batches;
    Time left{};
    run.cluster().network().at(1500ms, [&] {
      run.cluster().spawn(2, [&](RemoteStore& remote) {
        ASSERT_TRUE(remote.run().position().resumed);
        train_strand(remote, part, {{2, 4, 0, 1}, 0, 0}, 0);
        remote.finish_pushes();
        remote.run().leave_run();
        left = run.cluster().network().now();
      });
    });
    run.train();
    EXPECT_EQ(joined(run), 1u);
    EXPECT_EQ(run.given_up(), 1u);
    EXPECT_GT(left, Time());
    EXPECT_EQ(run.pushed_again(), 0u);
    expect_all_trained(run);
  }
}

// One shard has a push or has it not: each example counts once, whoever dies.
TEST_P(JoinsTest, TrainersThatJoinAndDieAtAnyMomentLoseNothingAndCountNothingTwice) {
  uint64_t joined_in_all = 0, given_up = 0;
  const Time end = calm_end({1, 1, 0});
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 1);
    const auto moment = [&] { return end * draw(random, 0, 90) / 100; };
    CountedRun run(job(), {1, 1, 0}, seed);
    for (int rank : {2, 3}) start_at(run, moment(), rank);
    for (int crash = draw(random, 1, 4); crash > 0; --crash) {
      const Duration later =
          draw(random, 0, 1) == 0 ? Duration(7200s) : Duration(100ms * draw(random, 1, 40));
      run.kill_at(moment(), draw(random, 1, 3), later);
    }
    run.train();
    joined_in_all += joined(run);
    given_up += run.given_up();
    expect_all_trained(run);
  });
  if (!many) return;
  EXPECT_GT(joined_in_all, 150u);
  EXPECT_GT(given_up, 60u);
}

// Servers go back to a checkpoint, or take up their logs, and those that have joined go with the others.
TEST_P(JoinsTest, ServersThatComeBackCountOn) {
  Totals totals;
  uint64_t joined_in_all = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Random random(seed, 2);
    RecoveryPlan plan(random);
    plan.job = job();
    plan.job.small = true;
    plan.job.on_loss = {.timeout = 20s, .go_on = true};  // trainers come to servers again meanwhile
    plan.steps = draw(random, 1, 3);
    plan.durable = seed % 2 == 0;
    const ScratchFolder folder;
    RecoveringCluster cluster(plan, folder.path(), seed, totals);
    cluster.network().set_default_link({.latency = 50ms, .jitter = 10ms});
    for (int rank : {2, 3})
      cluster.again(100ms * draw(random, 1, 40), [&cluster, rank] { cluster.start_trainer(rank); });
    const Time lost = 100ms * draw(random, 10, 60);
    cluster.network().at(lost, [&cluster] { cluster.lose_trainer(2); });
    for (int crash = 0; crash < 3; ++crash) {
      const size_t server = random.below(static_cast<uint64_t>(plan.servers));
      cluster.network().at(100ms * draw(random, 5, 100), [&cluster, server] {
        cluster.crash_server(server, 300ms, RecoveringCluster::Crash::kMachine);
      });
    }
    cluster.start_trainers();
    cluster.run();
    joined_in_all += cluster.first_shard().counters().trainers_joined;
    EXPECT_EQ(applied_by(cluster.first_shard()), samples_of(plan.job));
  }
  EXPECT_GT(totals.server_crashes, 15u);
  EXPECT_GT(totals.went_back, 3u) << "trainers seldom went back: the test proves nothing";
  EXPECT_GE(joined_in_all, 8u);
}

INSTANTIATE_TEST_SUITE_P(Modes, JoinsTest,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true}));

// ---- bits

struct JoinedRun {
  uint64_t step = 0;  // the first of the trainer that joined
  std::vector<float> weights;
};

// The shards come to the step of the furthest.
JoinedRun join_after(Duration moment, const ShardClusterSize& size, uint64_t seed) {
  SyntheticJob job;
  job.steps = {{14, 6}, {14, 6}, {9, 8}};
  job.joining = 1;
  CountedRun run(job, size, seed);
  ShardCluster& cluster = run.cluster();
  cluster.network().at(moment, [&cluster] { cluster.start_trainer(2); });
  for (int rank : {0, 1}) cluster.start_trainer(rank);
  JoinedRun joined;
  std::vector<bool> seen(cluster.shards().size());
  const auto all_seen = [&] {
    for (size_t s = 0; s < seen.size(); ++s) {
      const Shard* shard = cluster.shards()[s]->shard();
      if (seen[s] || shard == nullptr || shard->roster().size() < 3) continue;
      if (shard->roster().at(2).generation == 0) continue;
      seen[s] = true;
      joined.step = std::max(joined.step, shard->steps().trainer(2).next_step);
    }
    return std::ranges::all_of(seen, [](bool each) { return each; });
  };
  EXPECT_TRUE(cluster.network().run_until(all_seen, 100s));
  cluster.run();
  joined.weights = cluster.weights();
  return joined;
}

TEST(Joins, SynchronousRunsWithTheSameJoinsAtTheSameStepsHaveTheSameBits) {
  for (const ShardClusterSize& size : {ShardClusterSize{1, 1, 0}, ShardClusterSize{2, 1, 1}}) {
    std::map<uint64_t, std::vector<float>> by_step;
    uint64_t compared = 0;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE(cat("seed ", seed));
      const JoinedRun joined = join_after(800ms * static_cast<int64_t>(1 + seed % 3), size, seed);
      const auto [first, is_new] = by_step.try_emplace(joined.step, joined.weights);
      if (is_new) continue;
      ++compared;
      expect_same_bits(first->second, joined.weights);
    }
    EXPECT_GE(compared, 10u);
    EXPECT_GE(by_step.size(), 3u);
    EXPECT_NE(by_step.begin()->second, by_step.rbegin()->second) << "when one joins makes no difference";
  }
}

}  // namespace
}  // namespace ps
