// Trainers that train the rows of servers of random shapes on a device (DeviceStore before RemoteLender): they end with the
// bits of trainers without one, through faults of the network and crashes of trainers, and of servers with checkpoints: a
// hundred seeds a run.
//
//   PS_SIM_SEED=17 sim_device        that seed alone
//   PS_SIM_SEEDS=5000 sim_device     more of them
#include "recovering_cluster.h"

namespace ps {
namespace {

// A batch has up to 40 keys of 300: a device of 32 rows trains it in rounds, and on one of 512 all rows have a place.
struct Plan : RecoveryPlan {
  Plan(Random& random, int fewest) : RecoveryPlan(random) {
    draw_rule(random, job);
    job.small = true;
    draw_steps(random, job, 1, fewest, fewest + 8);
    job.device = DeviceOptions{.type = "emulated", .rows = 32 << draw(random, 0, 4)};
    steps = draw(random, 1, 8);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 2) == 0;
  }

  SyntheticJob plain() const {
    SyntheticJob same = job;
    same.device.reset();
    return same;
  }
};

TEST(DeviceBeforeServers, HasTheBitsOfATrainerWithoutOneThroughFaultsOfTheNetwork) {
  uint64_t faults = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random, 3);
    ShardCluster cluster(plan.job, plan, seed);
    cluster.network().set_default_link(RecoveringCluster::link());
    std::vector<SimHost*> hosts = cluster.hosts();
    hosts.push_back(&cluster.network().host("trainer0"));
    SimFaults trouble(cluster.network(), hosts, {.mean_interval = 60ms, .longest = 300ms});
    expect_same_bits(train_locally(plan.plain()), cluster.train());
    faults += trouble.num_faults();
  });
  std::printf("faults %lu\n", faults);
  if (many) {
    EXPECT_GT(faults, 100u);
  }
}

TEST(DeviceBeforeServers, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    Plan plan(random, 2);
    plan.crashes = 3;
    expect_bits_of_undisturbed(plan, seed, random, totals);
  });
  totals.print();
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 40u);
  EXPECT_GT(totals.trainer_crashes, 20u);
  EXPECT_GT(totals.went_back, 20u) << "nobody ever went back: the test proves nothing";
}

}  // namespace
}  // namespace ps
