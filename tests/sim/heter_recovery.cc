// Readers ahead of servers that write checkpoints, on a simulated network: whoever crashes, servers, compute trainers and
// readers, all go back to the last checkpoint, and the weights are those of plain trainers with the same batches, bit for bit.
// The same of a job that is killed as a whole, and goes on with other servers: one in four, and one in eight, of a hundred
// seeds a run.
//
//   PS_SIM_SEED=18 sim_heter_recovery        that seed alone
//   PS_SIM_SEEDS=5000 sim_heter_recovery     more of them
#include <algorithm>

#include "heter_parts.h"
#include "ps/client/ahead_store.h"
#include "recovering_cluster.h"

namespace ps {
namespace {

struct Plan : HeterJob {
  explicit Plan(Random& random) : cluster(random) {
    draw_optimizer(random, job);
    draw_steps(random, job, 3, 0, 15);
    for (std::vector<int>& passes : job.steps) passes[0] += 8;
    if (draw(random, 0, 1) == 1) model = with_compute(model);
    model = without_policy(model);
    const int64_t batches[] = {1, 2, 3, 8};
    ahead = batches[draw(random, 0, 3)];
    job.consistency = ahead_consistency(ahead);
    if (job.trainers() == 1) computes = draw(random, 1, 2);
    cluster.steps = draw(random, 1, 8);
    cluster.full_every = draw(random, 1, 3);
    cluster.durable = draw(random, 0, 2) == 0;
    cluster.job = job;
    cluster.own_parameters = feed_network(model.c_str()).parameters();
  }

  // Steps of the whole job that have data.
  uint64_t num_steps() const {
    int sum = 0;
    for (size_t pass = 0; pass < job.steps[0].size(); ++pass) {
      int most = 0;
      for (const std::vector<int>& passes : job.steps) most = std::max(most, passes[pass]);
      sum += most;
    }
    return static_cast<uint64_t>(sum);
  }

  // The same job of plain trainers, who wait for every step.
  Plan plain() const {
    Plan same = *this;
    same.ahead = 0;
    same.computes = 0;
    same.job.consistency = same.cluster.job.consistency = {};
    return same;
  }

  RecoveryPlan cluster;
};

struct Seen : Totals {
  int compute_crashes = 0;
  int64_t went_on = 0, batches_ahead = 0;

  void print() const {
    Totals::print();
    std::printf("%s\n", cat("compute trainers crashed ", compute_crashes, ", ranks gone on ", went_on,
                            ", batches ahead ", batches_ahead)
                            .c_str());
  }
};

class HeterRecovery {
 public:
  // `resume`: as RecoveringCluster.
  HeterRecovery(const Plan& plan, const std::string& folder, uint64_t seed, Seen& seen, bool resume = false)
      : plan_(plan),
        seen_(seen),
        parts_(plan, plan.computes == 0, {{"optimizer", plan.job.optimizer}}),
        random_(seed, 3),
        cluster_(plan_.cluster, folder, seed, seen, resume) {
    cluster_.own_body = [this](const RemoteOptions& options, SimHost& host) { take_part(options, host); };
  }
  ~HeterRecovery() { stop(); }

  void start() {
    for (int c = 0; c < plan_.computes; ++c) start_compute(c);
    cluster_.start_trainers();
  }

  void plan_crashes(int crashes, Time calm_time) {
    for (int i = 0; i < crashes; ++i) {
      net().at(seconds_duration(to_seconds(2 * calm_time) * random_.uniform()), [this] { crash_one(); });
    }
  }

  // To the end of the job.
  std::vector<float> train() {
    start();
    cluster_.run();
    seen_.batches_ahead += parts_.num_ahead();
    return weights_;
  }

  // All processes are killed when so many steps are applied.
  void kill_after(uint64_t steps) {
    start();
    const auto reached = [&] { return cluster_.steps() >= steps; };
    ASSERT_TRUE(net().run_until(reached, net().now() + 3600s)) << "it does not come to step " << steps;
    stop();
  }

  void stop() {
    for (int c = 0; c < plan_.computes; ++c) host_of_compute(c).kill();
    cluster_.stop();
  }

  SimNetwork& net() { return cluster_.network(); }

 private:
  SimHost& host_of_compute(int c) { return net().host(cat("compute", c)); }

  RemoteOptions remote_of_reader(int rank) const {
    RemoteOptions options;
    options.servers = cluster_.addresses();
    options.hello.rank = rank;
    options.hello.trainers = plan_.job.trainers();
    options.hello.job = {{"optimizer", plan_.job.optimizer}};
    options.hello.schema = to_json(feed_schema());
    return options;
  }

  void start_compute(int c) {
    SimHost& host = host_of_compute(c);
    host.spawn([this, &host] {
      parts_.compute(
          host, [this](int rank) { return remote_of_reader(rank); },
          [this] { return std::ssize(ended_) == plan_.job.trainers(); });
    });
  }

  void take_part(RemoteOptions options, SimHost& host) {
    const int rank = options.hello.rank;
    options.hello.schema = to_json(feed_schema());
    options.dense_elsewhere = plan_.computes > 0;
    RemoteStore store(host, options, plan_.job.consistency, parts_.parameters());
    if (!store.run().finished()) {
      seen_.went_on += options.hello.resume && store.run().position().batches > 0;
      parts_.take_part(host, store, options, [&] {
        if (store.group().leader() == rank) weights_ = all_weights(store, parts_.parameters());
      });
    }
    ended_.insert(rank);
  }

  // A compute trainer in one case of three, and else servers or readers.
  void crash_one() {
    if (random_.below(3) > 0) return cluster_.crash_some();
    const int c = draw(random_, 0, plan_.computes - 1);
    if (!host_of_compute(c).kill()) return;
    ++seen_.compute_crashes;
    cluster_.again(std::chrono::milliseconds(random_.below(3000)), [this, c] { start_compute(c); });
  }

  const Plan plan_;
  Seen& seen_;
  HeterParts parts_;
  Random random_;
  std::set<int> ended_;  // trainers
  std::vector<float> weights_;
  RecoveringCluster cluster_;
};

// Weights of plain trainers, and the time that they take, which is about that of others.
std::vector<float> train_calmly(const Plan& plan, uint64_t seed, Time& calm_time) {
  Seen none;
  const ScratchFolder folder;
  HeterRecovery calm(plan.plain(), folder.path(), seed, none);
  const std::vector<float> expected = calm.train();
  calm_time = calm.net().now();
  return expected;
}

TEST(HeterRecovery, WhoeverCrashesReadersAheadEndAsPlainTrainers) {
  constexpr int kCrashes = 3;
  Seen seen;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    if (seed % 4 != 2) return;  // for the sake of time
    Random random(seed, 0);
    const Plan plan(random);
    Time calm_time{};
    const std::vector<float> expected = train_calmly(plan, seed, calm_time);
    const ScratchFolder folder;
    HeterRecovery crashed(plan, folder.path(), seed, seen);
    crashed.plan_crashes(kCrashes, calm_time);
    expect_same_bits(expected, crashed.train());
  });
  seen.print();
  if (!many) return;
  EXPECT_GT(seen.server_crashes, 20u);
  EXPECT_GT(seen.trainer_crashes, 8u);
  EXPECT_GT(seen.compute_crashes, 6);
  EXPECT_GT(seen.went_back, 10u) << "readers seldom went back: the test proves nothing";
  EXPECT_GT(seen.batches_ahead, 500);
}

// Everything is killed at some time, and goes on with other servers.
void move_all(uint64_t seed, Seen& seen) {
  Random random(seed, 1);
  Plan plan(random);
  Time calm_time{};
  const std::vector<float> expected = train_calmly(plan, seed, calm_time);
  const ScratchFolder folder;
  const double part = 0.3 + 0.6 * random.uniform();
  HeterRecovery(plan, folder.path(), seed, seen)
      .kill_after(static_cast<uint64_t>(part * static_cast<double>(plan.num_steps())));
  static_cast<ClusterSize&>(plan.cluster) = ClusterSize(random);
  plan.cluster.durable = false;  // a push log is that of its servers
  HeterRecovery other(plan, folder.path(), seed + 1, seen, /*resume=*/true);
  expect_same_bits(expected, other.train());
}

TEST(HeterRecovery, OnOtherServersReadersAheadEndAsPlainTrainers) {
  Seen seen;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    if (seed % 8 == 0) move_all(seed, seen);
  });
  seen.print();
  if (!many) return;
  EXPECT_GT(seen.went_on, 12) << "too few went on in the midst of the run";
}

}  // namespace
}  // namespace ps
