// Readers and compute trainers on a simulated network, a hundred seeds a run: the weights are those of plain trainers
// with the same batches, bit for bit, whoever is killed when.
//
// So do readers with several batches on their way, one or several together; and asynchronous ones train each batch once.
//
// A seed chooses the servers and their ports, the readers and their batches, the compute trainers, and the crashes.
//
//   PS_SIM_SEED=17 sim_heter        that seed alone
//   PS_SIM_SEEDS=5000 sim_heter     more of them
#include "heter_parts.h"
#include "ps/client/ahead_store.h"
#include "seeds.h"

namespace ps {
namespace {

struct Plan : ClusterSize, HeterJob {
  explicit Plan(Random& random) : ClusterSize(random) {
    draw_optimizer(random, job);
    draw_steps(random, job, 3, 0, 6);
    computes = draw(random, 1, 2);
    crashes = draw(random, 0, 3);
    if (draw(random, 0, 1) == 1) model = with_compute(model);
  }

  int crashes;
};

// One reader in synchronous mode, or up to three in asynchronous mode.
struct AheadPlan : Plan {
  AheadPlan(Random& random, bool asynchronous) : Plan(random) {
    draw_steps(random, job, asynchronous ? 3 : 1, 1, 15);
    ahead = draw(random, 1, 6);
    job.consistency = ahead_consistency(ahead);
    job.consistency.async = asynchronous;
    if (!asynchronous) model = without_policy(model);
  }

  Plan waiting() const {
    Plan same = *this;
    same.ahead = 0;
    same.job.consistency = {};
    return same;
  }
};

// Two or three readers in synchronous mode, of one compute trainer.
struct TogetherPlan : AheadPlan {
  explicit TogetherPlan(Random& random) : AheadPlan(random, /*asynchronous=*/false) {
    const int64_t batches[] = {1, 2, 3, 8};
    ahead = batches[draw(random, 0, 3)];
    job.consistency = ahead_consistency(ahead);
    draw_steps(random, job, 2, 0, 15);
    job.steps.push_back(job.steps.front());
    for (int& steps : job.steps.back()) steps = draw(random, 0, 15);
    computes = 1;
    crashes = draw(random, 1, 4);
  }
};

class HeterCluster {
 public:
  // Without compute trainers the trainers are plain ones.
  HeterCluster(const Plan& plan, bool plain, uint64_t seed)
      : plan_(plan),
        plain_(plain),
        parts_(plan, plain, {{"optimizer", plan.job.optimizer}}),
        servers_(plan.job, plan, seed),
        random_(seed, 1) {
    servers_.served().parameters = [specs = parts_.parameters()](const DataSchema&) { return specs; };
    net().set_default_link({.latency = 1ms, .jitter = 2ms});
  }

  std::vector<float> train() {
    for (int c = 0; c < (plain_ ? 0 : plan_.computes); ++c) start_compute(c);
    for (int rank = 0; rank < plan_.job.trainers(); ++rank) start_trainer(rank);
    const auto ended = [this] { return to_come_ == 0 && net().processes_ended(); };
    if (!net().run_until(ended, net().now() + 1h)) fail(Code::kInternal, "somebody does not end");
    return weights_;
  }

  // Runs until so many steps are applied.  Then the processes of these trainers end, and do not come again.
  void train_without(const std::vector<int>& lost, uint64_t steps_before) {
    begin_and_lose(lost, steps_before);
    ASSERT_TRUE(net().run_until([this] { return net().processes_ended(); }, net().now() + 1h));
  }

  // The same, and then those of others, when more steps are applied.
  void train_without(const std::vector<int>& lost, uint64_t steps_before, const std::vector<int>& later,
                     uint64_t steps_before_later) {
    begin_and_lose(lost, steps_before);
    lose(later, steps_before_later);
    ASSERT_TRUE(net().run_until([this] { return net().processes_ended(); }, net().now() + 1h));
  }

  // Steps that were applied when this compute trainer ended.
  uint64_t steps_at_end_of_compute(int c) { return steps_at_end_.at(c); }

  void set_latency(Duration latency) { net().set_default_link({.latency = latency}); }

  // The first compute trainer is there, but does not reach the servers.
  void separate_first_compute() { block(host_of_compute(0), true); }

  // Some are killed, or their machines end, and come again.
  void plan_crashes(Time calm_time) {
    for (int i = 0; i < plan_.crashes; ++i) {
      const Time at = Time(static_cast<int64_t>(random_.below(static_cast<uint64_t>(calm_time.count()))));
      net().at(at, [this] { crash_one(); });
    }
  }

  // Connections of readers with compute trainers are cut.
  void plan_cuts(Time calm_time) {
    for (int i = 0; i < plan_.crashes; ++i) {
      const int rank = draw(random_, 0, plan_.job.trainers() - 1), c = draw(random_, 0, plan_.computes - 1);
      const Time at = Time(static_cast<int64_t>(random_.below(static_cast<uint64_t>(calm_time.count()))));
      net().at(at, [this, rank, c] { net().cut(host_of_trainer(rank), host_of_compute(c)); });
    }
  }

  // Connections of anybody with servers are cut.
  void plan_cuts_of_servers(Time calm_time) {
    for (int i = 0; i < plan_.crashes; ++i) {
      const bool compute = draw(random_, 0, 1) == 0;
      const int rank = draw(random_, 0, plan_.job.trainers() - 1), s = draw(random_, 0, plan_.servers - 1);
      const Time at = Time(static_cast<int64_t>(random_.below(static_cast<uint64_t>(calm_time.count()))));
      net().at(at, [this, compute, rank, s] {
        net().cut(compute ? host_of_compute(0) : host_of_trainer(rank), net().host(cat("server", s)));
      });
    }
  }

  Time now() { return net().now(); }
  int num_crashes() const { return num_crashes_; }
  int64_t num_ahead() const { return parts_.num_ahead(); }

  // Steps that the first shard has applied.
  uint64_t steps() { return servers_.shards()[0]->shard()->counters().steps; }

 private:
  SimNetwork& net() { return servers_.network(); }

  void begin_and_lose(const std::vector<int>& lost, uint64_t steps_before) {
    for (int c = 0; c < plan_.computes; ++c) start_compute(c);
    for (int rank = 0; rank < plan_.job.trainers(); ++rank) start_trainer(rank);
    lose(lost, steps_before);
  }

  void lose(const std::vector<int>& lost, uint64_t steps_before) {
    const auto reached = [&] { return servers_.shards()[0]->shard() && steps() >= steps_before; };
    ASSERT_TRUE(net().run_until(reached, net().now() + 1h));
    for (int rank : lost) ASSERT_TRUE(host_of_trainer(rank).kill()) << "trainer " << rank << " has ended";
  }

  SimHost& host_of_trainer(int rank) { return net().host(cat("trainer", rank)); }
  SimHost& host_of_compute(int c) { return net().host(cat("compute", c)); }

  RemoteOptions remote(int rank) {
    RemoteOptions options = servers_.options(rank);
    options.hello.schema = to_json(feed_schema());
    options.dense_elsewhere = !plain_;
    return options;
  }

  void start_compute(int c) {
    SimHost& host = host_of_compute(c);
    host.spawn([this, c, &host] {
      parts_.compute(
          host, [this](int rank) { return remote(rank); },
          [this] { return std::ssize(ended_) == plan_.job.trainers(); });
      steps_at_end_[c] = steps();
    });
  }

  void start_trainer(int rank) {
    SimHost& host = host_of_trainer(rank);
    host.spawn([this, rank, &host] {
      const RemoteOptions options = remote(rank);
      RemoteStore store(host, options, plan_.job.consistency, parts_.parameters());
      parts_.take_part(host, store, options, [&] {
        if (store.group().leader() == rank) weights_ = all_weights(store, parts_.parameters());
        ended_.insert(rank);
      });
    });
  }

  // Servers may hear nothing more of it some time before: what it has sent to them last is lost with it.
  void crash_one() {
    const bool compute = random_.below(3) > 0, machine = random_.below(2) == 0;
    const int number = draw(random_, 0, (compute ? plan_.computes : plan_.job.trainers()) - 1);
    if (std::ssize(ended_) > 0) return;  // it has no more to do, or only to say so
    SimHost& host = compute ? host_of_compute(number) : host_of_trainer(number);
    block(host, true);
    ++to_come_;
    net().at(net().now() + std::chrono::milliseconds(draw(random_, 0, 20)),
             [this, &host, compute, machine, number] { end_one(host, compute, machine, number); });
  }

  void end_one(SimHost& host, bool compute, bool machine, int number) {
    --to_come_;
    if (std::ssize(ended_) > 0) return block(host, false);
    if (machine) host.crash();
    for (int s = 0; s < plan_.servers; ++s) net().cut(host, net().host(cat("server", s)));
    if (!host.kill()) return block(host, false);
    ++num_crashes_, ++to_come_;
    net().at(net().now() + std::chrono::milliseconds(draw(random_, 1, 4000)), [this, &host, compute, number] {
      --to_come_;
      block(host, false);
      host.restart();
      compute ? start_compute(number) : start_trainer(number);
    });
  }

  void block(SimHost& host, bool blocked) {
    for (int s = 0; s < plan_.servers; ++s) net().block(host, net().host(cat("server", s)), blocked);
  }

  const Plan plan_;
  const bool plain_;
  HeterParts parts_;
  ShardCluster servers_;
  Random random_;
  std::set<int> ended_;                   // trainers
  std::map<int, uint64_t> steps_at_end_;  // by compute trainer
  int to_come_ = 0, num_crashes_ = 0;
  std::vector<float> weights_;
};

TEST(Heter, WhoeverCrashesTheWeightsAreThoseOfPlainTrainers) {
  int crashes = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random);
    const std::vector<float> expected = HeterCluster(plan, /*plain=*/true, seed).train();
    HeterCluster calm(plan, /*plain=*/false, seed);
    expect_same_bits(expected, calm.train());
    HeterCluster crashed(plan, /*plain=*/false, seed);
    crashed.plan_crashes(calm.now());
    expect_same_bits(expected, crashed.train());
    crashes += crashed.num_crashes();
  });
  std::printf("%s\n", cat("crashes ", crashes).c_str());
  if (!many) return;
  EXPECT_GT(crashes, 50);
}

// Sums over all seeds.
struct SeenAhead {
  int crashes = 0;
  int64_t batches = 0;  // that were ahead
};

// A cluster with readers ahead trains the weights of a plain one, undisturbed and with crashes and cuts.
void compare_with_plain(const AheadPlan& plan, uint64_t seed, bool cuts_servers, SeenAhead& seen) {
  const std::vector<float> expected = HeterCluster(plan.waiting(), /*plain=*/true, seed).train();
  HeterCluster calm(plan, /*plain=*/false, seed);
  expect_same_bits(expected, calm.train());
  seen.batches += calm.num_ahead();
  HeterCluster crashed(plan, /*plain=*/false, seed);
  crashed.plan_crashes(calm.now());
  crashed.plan_cuts(calm.now());
  if (cuts_servers) crashed.plan_cuts_of_servers(calm.now());
  expect_same_bits(expected, crashed.train());
  seen.crashes += crashed.num_crashes();
}

TEST(Heter, SeveralBatchesOfAReaderAreOnTheirWayAndTheWeightsAreThoseOfAPlainTrainer) {
  SeenAhead seen;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    compare_with_plain(AheadPlan(random, /*asynchronous=*/false), seed, /*cuts_servers=*/false, seen);
  });
  std::printf("%s\n", cat("batches ahead ", seen.batches, ", crashes ", seen.crashes).c_str());
  if (!many) return;
  EXPECT_GT(seen.crashes, 50);
  EXPECT_GT(seen.batches, 300);
}

TEST(Heter, SeveralReadersAreAheadTogetherAndTheWeightsAreThoseOfPlainTrainers) {
  SeenAhead seen;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    compare_with_plain(TogetherPlan(random), seed, /*cuts_servers=*/true, seen);
  });
  std::printf("%s\n", cat("batches ahead ", seen.batches, ", crashes ", seen.crashes).c_str());
  if (!many) return;
  EXPECT_GT(seen.crashes, 80);
  EXPECT_GT(seen.batches, 800);
}

TEST(Heter, AsynchronousReadersHaveSeveralBatchesOnTheirWayAndEachIsTrainedOnce) {
  int crashes = 0;
  int64_t ahead = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const AheadPlan plan(random, /*asynchronous=*/true);
    uint64_t batches = 0;
    for (const std::vector<int>& passes : plan.job.steps) {
      for (int steps : passes) batches += static_cast<uint64_t>(steps);
    }
    HeterCluster calm(plan, /*plain=*/false, seed), crashed(plan, /*plain=*/false, seed);
    calm.train();
    EXPECT_EQ(calm.steps(), batches);
    ahead += calm.num_ahead();
    crashed.plan_crashes(calm.now());
    crashed.plan_cuts(calm.now());
    crashed.train();
    EXPECT_EQ(crashed.steps(), batches);
    crashes += crashed.num_crashes();
  });
  std::printf("%s\n", cat("batches ahead ", ahead, ", crashes ", crashes).c_str());
  if (!many) return;
  EXPECT_GT(crashes, 50);
  EXPECT_GT(ahead, 500);
}

// The time is that of the simulated network alone: nobody computes.
TEST(Heter, StepsOfAReaderAheadDoNotWaitForRoundTrips) {
  constexpr uint64_t kAnySeed = 1;
  constexpr int kSteps = 200;
  Random random(kAnySeed, 0);
  for (const bool asynchronous : {false, true}) {
    AheadPlan plan(random, asynchronous);
    plan.job.steps = {{kSteps}};
    plan.ahead = 8;
    plan.job.consistency.ahead = ahead_consistency(8).ahead;
    Plan waiting = plan.waiting();
    waiting.job.consistency.async = asynchronous;
    HeterCluster waits(waiting, /*plain=*/false, kAnySeed), ahead(plan, /*plain=*/false, kAnySeed);
    for (HeterCluster* each : {&waits, &ahead}) each->set_latency(10ms), each->train();
    const double slow = to_seconds(waits.now()), fast = to_seconds(ahead.now());
    std::printf("%d steps, a round trip of 20 ms, %s: %.2f s, 8 ahead %.2f s\n", kSteps,
                asynchronous ? "asynchronous" : "synchronous", slow, fast);
    EXPECT_GT(slow, kSteps * 2 * 0.02) << "two round trips a step";
    EXPECT_LT(fast, slow / 4);
  }
}

// The round trips of 20 ms that a step waits for, less those of beginning and end: nobody computes.
TEST(Heter, StepsOfSeveralReadersAheadDoNotWaitForRoundTrips) {
  constexpr uint64_t kAnySeed = 1;
  constexpr int kFew = 20, kMany = 60;
  Random random(kAnySeed, 0);
  TogetherPlan plan(random);
  plan.job.optimizer = {{"type", "adam"}, {"learning_rate", 0.05}};
  const auto seconds = [&](int64_t batches, int steps) {
    TogetherPlan own = plan;
    own.ahead = batches;
    own.job.consistency = ahead_consistency(batches);
    own.job.steps = {{steps}, {steps}, {steps}};
    HeterCluster cluster(own, /*plain=*/false, kAnySeed);
    cluster.set_latency(10ms);
    cluster.train();
    return to_seconds(cluster.now());
  };
  const auto round_trips = [&](int64_t batches) {
    return (seconds(batches, kMany) - seconds(batches, kFew)) / (kMany - kFew) / 0.02;
  };
  const double none = round_trips(0), two = round_trips(2), eight = round_trips(8);
  std::printf("round trips that a step of 3 readers waits for: %.2f; 2 ahead %.2f, 8 ahead %.2f\n", none, two,
              eight);
  EXPECT_GT(none, 1.9);
  EXPECT_LT(two, none / 2);
  EXPECT_LT(eight, none / 6);
}

// Readers, two unless told, each with a compute trainer of its own, who go on without each other.
Plan plan_of_lost_readers(int steps, int readers = 2) {
  Random random(5, 0);
  Plan plan(random);
  plan.job.steps.assign(static_cast<size_t>(readers), {steps});
  plan.computes = readers;
  plan.job.on_loss = {.timeout = 1s, .go_on = true};
  plan.goes_on = true;
  plan.reader_timeout = 1s;
  return plan;
}

TEST(Heter, AComputeTrainerWhoseReaderIsLostEndsWellWhileTheOthersGoOn) {
  constexpr uint64_t kSteps = 200;
  HeterCluster cluster(plan_of_lost_readers(kSteps), /*plain=*/false, 5);
  cluster.set_latency(10ms);
  cluster.train_without({1}, 20);
  EXPECT_EQ(cluster.steps(), kSteps);
  EXPECT_EQ(cluster.steps_at_end_of_compute(0), kSteps);
  EXPECT_GE(cluster.steps_at_end_of_compute(1), 20u);
  EXPECT_LT(cluster.steps_at_end_of_compute(1), kSteps);
}

TEST(Heter, ComputeTrainersWhoseReadersAreAllLostDoNotEndWell) {
  HeterCluster cluster(plan_of_lost_readers(200), /*plain=*/false, 5);
  cluster.set_latency(10ms);
  try {
    cluster.train_without({0, 1}, 20);
    FAIL() << "the compute trainers have ended well";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(),
                testing::MatchesRegex("no connection from reader [01] for 1 s; .* are gone too"));
  }
}

// A reader that the servers have given up does not go on, though they do not wait for it.
TEST(Heter, ComputeTrainersWhoseReadersAreAllLostDoNotEndWellAfterOneThatWasGivenUp) {
  HeterCluster cluster(plan_of_lost_readers(200, 3), /*plain=*/false, 5);
  cluster.set_latency(10ms);
  try {
    cluster.train_without({2}, 20, {0, 1}, 60);
    FAIL() << "the compute trainers have ended well";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(),
                testing::MatchesRegex("no connection from reader [01] for 1 s; .* are gone too"));
  }
  EXPECT_GE(cluster.steps_at_end_of_compute(2), 20u);
}

TEST(Heter, AReaderGoesOnFromAComputeTrainerThatDoesNotReachTheServers) {
  constexpr uint64_t kAnySeed = 3;
  Random random(kAnySeed, 0);
  Plan plan(random);
  plan.computes = 2;
  const std::vector<float> expected = HeterCluster(plan, /*plain=*/true, kAnySeed).train();
  HeterCluster separated(plan, /*plain=*/false, kAnySeed);
  separated.separate_first_compute();
  expect_same_bits(expected, separated.train());
  EXPECT_GT(to_seconds(separated.now()), 60) << "as long as it tries to reach them";
}

}  // namespace
}  // namespace ps
