// Trainers that pull ahead (AheadStore) of servers of random shapes: they end with the bits of trainers that wait for every
// step, through faults of the network and crashes of trainers, and of servers with checkpoints: a hundred seeds a run.
//
//   PS_SIM_SEED=17 sim_ahead        that seed alone
//   PS_SIM_SEEDS=5000 sim_ahead     more of them
#include "ps/client/ahead_store.h"

#include "recovering_cluster.h"

namespace ps {
namespace {

// How far the two directions of a link with a round trip of 20 ms are apart.
constexpr SimLink kLongLink = {.latency = 10ms};

// Every rule by which idle rows change, and state of every kind.
void draw_rule(Random& random, SyntheticJob& job) {
  const char* const kOptimizers[] = {"sgd", "momentum", "adagrad", "adam", "ftrl", "rmsprop"};
  job.optimizer = {{"type", kOptimizers[draw(random, 0, 5)]}, {"learning_rate", 0.05}};
  const bool decays = job.optimizer["type"] != "ftrl";
  if (decays && draw(random, 0, 1) == 0) job.optimizer["l2"] = 0.01;
  if (job.optimizer["type"] == "sgd" && draw(random, 0, 1) == 0) job.optimizer["l1"] = 0.01;
  if (draw(random, 0, 2) == 0) job.optimizer["schedule"] = {{"type", "poly"}, {"a", 0.01}, {"b", 0.5}};
  if (draw(random, 0, 3) == 0) job.optimizer["clip_global_norm"] = 0.5;
}

struct Plan : RecoveryPlan {
  explicit Plan(Random& random) : RecoveryPlan(random) {
    draw_rule(random, job);
    job.small = true;
    draw_steps(random, job, 1, 0, 25);
    job.consistency = ahead_consistency(draw(random, 1, 6));
    steps = draw(random, 1, 8);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 2) == 0;
  }

  SyntheticJob plain() const {
    SyntheticJob same = job;
    same.consistency = {};
    return same;
  }
};

TEST(Ahead, ATrainerThatIsAheadHasTheBitsOfOneThatWaits) {
  many_seeds_pass([](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random);
    ShardCluster cluster(plan.job, plan, seed);
    cluster.network().set_default_link(RecoveringCluster::link());
    expect_same_bits(train_locally(plan.plain()), cluster.train());
  });
}

// Its shards write no checkpoints: a process that comes goes on where the one before it has brought all shards.
TEST(Ahead, ATrainerThatDiesIsReplacedWithoutCheckpoints) {
  uint64_t kills = 0, returned = 0, faults = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random);
    ShardCluster calm(plan.job, plan, seed), cluster(plan.job, plan, seed);
    for (ShardCluster* each : {&calm, &cluster}) {
      each->network().set_default_link(RecoveringCluster::link());
    }
    const std::vector<float> expected = calm.train();
    std::vector<SimHost*> hosts = cluster.hosts();
    hosts.push_back(&cluster.network().host("trainer0"));
    SimFaults trouble(cluster.network(), hosts, {.mean_interval = 200ms, .longest = 300ms});
    for (int kill = draw(random, 1, 3); kill > 0; --kill) {
      const Time when = seconds_duration(to_seconds(calm.network().now()) * random.uniform());
      const Duration later = std::chrono::milliseconds(random.below(2000));
      const bool power_fails = random.below(3) == 0;
      cluster.network().at(
          when, [&, later, power_fails] { kills += cluster.restart_trainer(0, later, power_fails); });
    }
    expect_same_bits(expected, cluster.train());
    faults += trouble.num_faults();
    for (auto& shard : cluster.shards()) returned += shard->shard()->counters().trainers_returned;
  });
  std::printf("trainers killed %lu, ranks returned %lu, faults %lu\n", kills, returned, faults);
  if (!many) return;
  EXPECT_GT(kills, 80u);
  EXPECT_GT(returned, kills);
  EXPECT_GT(faults, 50u);
}

TEST(Ahead, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    Plan plan(random);
    plan.crashes = 3;
    expect_bits_of_undisturbed(plan, seed, random, totals);
  });
  std::printf("%s\n", cat("servers crashed ", totals.server_crashes, ", trainers crashed ",
                          totals.trainer_crashes, ", times a trainer went back ", totals.went_back)
                          .c_str());
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 40u);
  EXPECT_GT(totals.trainer_crashes, 20u);
  EXPECT_GT(totals.went_back, 20u) << "nobody ever went back: the test proves nothing";
}

// The time is that of the simulated network alone: nobody computes.
TEST(Ahead, StepsDoNotWaitForRoundTrips) {
  SyntheticJob job;
  job.small = true;
  job.steps = {{200}};
  auto time_of = [&job](const Consistency& consistency) {
    SyntheticJob own = job;
    own.consistency = consistency;
    ShardCluster cluster(own, {.servers = 2});
    cluster.network().set_default_link(kLongLink);
    expect_same_bits(train_locally(job), cluster.train());
    return to_seconds(cluster.network().now());
  };
  const double waiting = time_of({}), four = time_of(ahead_consistency(4)),
               eight = time_of(ahead_consistency(8));
  std::printf("200 steps, a round trip of 20 ms: %.2f s, 4 ahead %.2f s, 8 ahead %.2f s\n", waiting, four,
              eight);
  EXPECT_GT(waiting, 4.0) << "a round trip a step";
  EXPECT_LT(four, waiting / 2.5);
  EXPECT_LT(eight, waiting / 4);
}

// Copies are those of rows in use: of batches that are on their way, in either direction.
TEST(Ahead, RowsThatNoBatchInFlightUsesAreForgotten) {
  SyntheticJob job;
  job.steps = {{60, 60}};
  job.consistency = ahead_consistency(3);
  ShardCluster cluster(job, {.servers = 2});
  size_t most = 0, at_end = 1;
  cluster.spawn(0, [&](RemoteStore& remote) {
    with_store(remote, job, [&](ParameterStore& store) {
      AheadStore& ahead = dynamic_cast<AheadStore&>(store);
      int64_t step = 0;
      for (int64_t pass = 0; pass < 2; ++pass) {
        train_pass(store, job, 0, pass, 0, step);
        at_end = ahead.num_copies();
        most = std::max(most, at_end);
      }
      remote.run().end_run();
    });
  });
  cluster.run();
  EXPECT_EQ(at_end, 0u);
}

}  // namespace
}  // namespace ps
