// Clusters of random shapes under random faults, on simulated time and network: a hundred seeds a run.
//
// A seed chooses the servers and their ports, the trainers and their data, the mode and the optimizer, and
// what goes wrong when: connections are cut, hosts parted and stopped, frames delayed, damaged, doubled and
// swapped, trainers killed and started again.  Whatever it is, the job ends; in synchronous mode with the
// bits of the undisturbed run, in the others with every push applied once.
//
//   PS_SIM_SEED=17 sim_faults        that seed alone
//   PS_SIM_SEEDS=5000 sim_faults     more of them
#include "cluster.h"
#include "seeds.h"

namespace ps {
namespace {

const SimLink kLink = {.latency = 1ms, .jitter = 3ms, .bytes_per_second = 2e7, .split = true};

// The choices of a seed.
struct Plan : ClusterSize {
  SyntheticJob job;
  bool proxied;
  int kills;

  explicit Plan(Random& random) : ClusterSize(random) {
    draw_optimizer(random, job);
    const int mode = draw(random, 0, 5);
    job.consistency.async = mode == 0;
    job.consistency.staleness = mode == 1 ? draw(random, 1, 3) : 0;
    job.small = true;
    draw_steps(random, job, 4, 0, 6);
    proxied = draw(random, 0, 1) == 0;
    kills = draw(random, 0, 3);
  }

  bool synchronous() const { return !job.consistency.async && job.consistency.staleness == 0; }

  // That each shard applies.
  uint64_t expected_steps() const {
    int total = 0;
    for (size_t pass = 0; pass < job.steps[0].size(); ++pass) {
      int longest = 0, sum = 0;
      for (const std::vector<int>& trainer : job.steps) {
        longest = std::max(longest, trainer[pass]);
        sum += trainer[pass];
      }
      total += job.consistency.async ? sum : longest;
    }
    return static_cast<uint64_t>(total);
  }
};

class FaultyCluster {
 public:
  FaultyCluster(const Plan& plan, uint64_t seed)
      : plan_(plan), cluster_(plan.job, plan, seed), random_(seed, 77) {
    cluster_.network().set_default_link(kLink);
    for (int rank = 0; rank < plan.job.trainers(); ++rank) {
      hosts_.push_back(&cluster_.network().host(cat("trainer", rank)));
    }
    if (plan.proxied) {
      cluster_.put_proxies([this](ProxyDirection, const FrameHeader& header) { return fault(header); });
    }
    for (SimHost* host : cluster_.hosts()) hosts_.push_back(host);
  }

  void train(Duration calm_time) {
    SimFaults faults(cluster_.network(), hosts_, {.mean_interval = 60ms, .longest = 400ms});
    for (int kill = 0; kill < plan_.kills; ++kill) {
      const Time when = seconds_duration(to_seconds(2 * calm_time) * random_.uniform());
      cluster_.network().at(when, [this] { kill_one(); });
    }
    cluster_.train();
    num_faults_ = faults.num_faults() + cluster_.num_proxy_faults();
  }

  ShardCluster& cluster() { return cluster_; }
  uint64_t num_faults() const { return num_faults_; }
  uint64_t num_kills() const { return num_kills_; }

 private:
  // One frame in fifty.
  ProxyFault fault(const FrameHeader& header) {
    const ProxyFault::Kind kKinds[] = {ProxyFault::kCut,  ProxyFault::kHold,      ProxyFault::kDelay,
                                       ProxyFault::kFlip, ProxyFault::kDuplicate, ProxyFault::kSwap};
    if (random_.below(50) != 0) return {};
    ProxyFault fault{.kind = kKinds[random_.below(6)]};
    // A frame that is held looks like silence, which takes long to notice.
    if (fault.kind == ProxyFault::kHold && random_.below(4) != 0) fault.kind = ProxyFault::kDelay;
    fault.at_byte = random_.below(kFrameHeaderBytes + header.body_bytes);
    fault.delay = std::chrono::milliseconds(random_.below(100));
    return fault;
  }

  void kill_one() {
    const int rank = static_cast<int>(random_.below(static_cast<uint64_t>(plan_.job.trainers())));
    const Duration later = std::chrono::milliseconds(random_.below(3000));
    num_kills_ += cluster_.restart_trainer(rank, later, /*power_fails=*/random_.below(3) == 0);
  }

  const Plan& plan_;
  ShardCluster cluster_;
  Random random_;
  std::vector<SimHost*> hosts_;
  uint64_t num_faults_ = 0, num_kills_ = 0;
};

struct Totals {
  uint64_t faults = 0, kills = 0, returned = 0, pushes_repeated = 0, pulls_repeated = 0;
};

void run_seed(uint64_t seed, Totals& totals) {
  Random random(seed, 0);
  const Plan plan(random);
  ShardCluster calm(plan.job, plan, seed);
  calm.network().set_default_link(kLink);
  const std::vector<float> expected = calm.train();
  FaultyCluster faulty(plan, seed);
  faulty.train(calm.network().now());
  totals.faults += faulty.num_faults();
  totals.kills += faulty.num_kills();
  if (plan.synchronous()) expect_same_bits(expected, faulty.cluster().weights());
  for (auto& shard : faulty.cluster().shards()) {
    const ShardCounters& counters = shard->shard()->counters();
    EXPECT_EQ(counters.steps, plan.expected_steps());
    totals.returned += counters.trainers_returned;
    totals.pushes_repeated += counters.pushes_repeated;
    totals.pulls_repeated += counters.pulls_repeated;
  }
}

TEST(Faults, WhateverGoesWrongEveryJobEndsAsIfNothingHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) { run_seed(seed, totals); });
  std::printf("%s\n", cat("faults ", totals.faults, ", trainers killed ", totals.kills, ", ranks returned ",
                          totals.returned, ", pushes repeated ", totals.pushes_repeated, ", pulls repeated ",
                          totals.pulls_repeated)
                          .c_str());
  if (!many) return;
  EXPECT_GT(totals.kills, 50u);
  EXPECT_GT(totals.returned, totals.kills);
  EXPECT_GT(totals.pushes_repeated, 50u) << "no push was ever sent twice: the test proves nothing";
  EXPECT_GT(totals.pulls_repeated, 10u) << "no step was ever computed again";
}

}  // namespace
}  // namespace ps
