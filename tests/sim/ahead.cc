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

struct Plan : RecoveryPlan {
  // Passes have `fewest` steps to some more.
  Plan(Random& random, int fewest) : RecoveryPlan(random) {
    draw_rule(random, job);
    job.small = true;
    draw_steps(random, job, 1, fewest, fewest + 25);
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
    const Plan plan(random, 0);
    ShardCluster cluster(plan.job, plan, seed);
    cluster.network().set_default_link(RecoveringCluster::link());
    expect_same_bits(train_locally(plan.plain()), cluster.train());
  });
}

// Takes the trainer from one server, and some time later from the rest of the world: what it has pushed to others
// meanwhile never comes there.  Then it is started again.
void kill_while_parted(ShardCluster& cluster, SimHost& server, Duration later, uint64_t& kills) {
  constexpr Duration kParted = 40ms;
  SimNetwork& network = cluster.network();
  SimHost& trainer = network.host("trainer0");
  network.block(trainer, server, true);
  network.at(network.now() + kParted, [&cluster, &network, &trainer, &server, &kills, later] {
    network.cut(trainer, server);
    kills += cluster.restart_trainer(0, later, /*power_fails=*/true);
    network.block(trainer, server, false);
  });
}

// Its shards write no checkpoints: a process that comes goes on where all shards can come to.
TEST(Ahead, ATrainerThatDiesIsReplacedWithoutCheckpoints) {
  uint64_t kills = 0, returned = 0, faults = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random, 20);
    ShardCluster calm(plan.job, plan, seed), cluster(plan.job, plan, seed);
    for (ShardCluster* each : {&calm, &cluster}) {
      each->network().set_default_link(RecoveringCluster::link());
    }
    const std::vector<float> expected = calm.train();
    std::vector<SimHost*> hosts = cluster.hosts();
    hosts.push_back(&cluster.network().host("trainer0"));
    SimFaults trouble(cluster.network(), hosts, {.mean_interval = 200ms, .longest = 300ms});
    for (int kill = draw(random, 1, 3); kill > 0; --kill) {
      const Time when = seconds_duration(to_seconds(calm.network().now()) * (0.2 + random.uniform()));
      const Duration later = std::chrono::milliseconds(random.below(2000));
      const bool parted = random.below(2) == 0;
      SimHost& server =
          cluster.network().host(cat("server", random.below(static_cast<uint64_t>(plan.servers))));
      cluster.network().at(when, [&, later, parted] {
        if (parted) return kill_while_parted(cluster, server, later, kills);
        kills += cluster.restart_trainer(0, later);
      });
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
  expect_crashes_to_change_nothing(20, [](Random& random) { return Plan(random, 0); });
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
  job.optimizer["clip_global_norm"] = 0.5;
  const double clips = time_of({}), four_clip = time_of(ahead_consistency(4));
  std::printf("clipped by norm: %.2f s, 4 ahead %.2f s\n", clips, four_clip);
  EXPECT_GT(clips, 8.0) << "two round trips a step";
  EXPECT_LT(four_clip, clips / 1.8);
}

// The weights of a step need the gradients of all trainers in the step before: their way to the servers, and the weights' way
// back, are a round trip, whatever rows come early.  Trainers that wait for every step wait for no more.
TEST(Ahead, StepsOfSeveralPlainTrainersWaitForOneRoundTripAsTheyHaveTo) {
  constexpr int kFew = 20, kMany = 50;
  const auto seconds = [](int steps) {
    SyntheticJob job;
    job.small = true;
    job.steps = {{steps}, {steps}, {steps}};
    ShardCluster cluster(job, {.servers = 2});
    cluster.network().set_default_link(kLongLink);
    cluster.train();
    return to_seconds(cluster.network().now());
  };
  const double round_trips = (seconds(kMany) - seconds(kFew)) / (kMany - kFew) / 0.02;
  std::printf("round trips that a step of 3 trainers waits for: %.2f\n", round_trips);
  EXPECT_GT(round_trips, 0.99);
  EXPECT_LT(round_trips, 1.05);
}

// One trainer of two servers, three batches ahead, with the store of its copies.
struct Copies {
  explicit Copies(const SyntheticJob& job, RemoteStore& remote)
      : specs(job.parameters()),
        local(specs, job.plan(), UINT64_MAX, device),
        store(specs, static_cast<size_t>(job.consistency.ahead) / 2, remote, local) {}

  std::vector<ParameterSpec> specs;
  Device device{1, best_cpu_level()};
  LocalStore local;
  AheadStore store;
};

SyntheticJob job_of_copies() {
  SyntheticJob job;
  job.optimizer = {{"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", 0.1}, {"l2", 0.01}};
  job.optimizer["average"] = Json::object();
  job.small = true;
  job.steps = {{30}};
  job.consistency = ahead_consistency(3);
  return job;
}

TEST(Ahead, RowsThatNoBatchInFlightUsesAreForgotten) {
  const SyntheticJob job = job_of_copies();
  ShardCluster cluster(job, {.servers = 2});
  cluster.network().set_default_link(kLongLink);
  cluster.spawn(0, [&](RemoteStore& remote) {
    Copies copies(job, remote);
    int64_t step = 0;
    for (int pass = 0; pass < 2; ++pass) {
      train_pass(copies.store, job, 0, 0, 0, step);
      EXPECT_TRUE(copies.local.keys(0).empty());
      EXPECT_GT(copies.store.keys(0).size(), 100u) << "the servers have them";
    }
    remote.run().end_run();
  });
  cluster.run();
}

// Tests read averages of the weights, which the servers make.
TEST(Ahead, ReadingMidwayIsAsOfTheLastPushAndDisturbsNothing) {
  const SyntheticJob job = job_of_copies();
  Device device(1, best_cpu_level());
  LocalStore alone(job.parameters(), job.plan(), UINT64_MAX, device);
  ShardCluster cluster(job, {.servers = 2});
  cluster.network().set_default_link(kLongLink);
  cluster.spawn(0, [&](RemoteStore& remote) {
    Copies copies(job, remote);
    std::vector<ParameterView<float>> views;
    const auto train = [&](ParameterStore& store, int64_t step) {
      const SyntheticBatch batch = job.batch(0, step);
      store.pull(batch.plans, PullMode::kTrain, views);
      batch.fill(0, step, copies.specs, views);
      store.push(batch.plans, views, {batch.samples, 0});
    };
    int64_t told = 0;
    for (int64_t step = 0; step < job.steps[0][0]; ++step) {
      for (; told < std::min<int64_t>(step + 4, job.steps[0][0]); ++told) {
        copies.store.look_ahead(job.batch(0, told).plans);
      }
      train(copies.store, step);
      train(alone, step);
      if (step % 3 != 0) continue;
      const SyntheticBatch read = job.batch(0, step + 1);
      std::vector<ParameterView<float>> theirs, ours;
      copies.store.pull(read.plans, PullMode::kRead, theirs);
      alone.pull(read.plans, PullMode::kRead, ours);
      for (size_t n = 0; n < read.plans[0].keys.size(); ++n) {
        ASSERT_EQ(std::memcmp(theirs[0].rows[n], ours[0].rows[n], 3 * sizeof(float)), 0) << step;
      }
      expect_same_bits(all_weights(alone, job.small), all_weights(copies.store, job.small));
    }
    copies.store.end_pass(0);
    expect_same_bits(all_weights(alone, job.small), all_weights(copies.store, job.small));
    remote.run().end_run();
  });
  cluster.run();
}

}  // namespace
}  // namespace ps
