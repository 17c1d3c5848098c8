// Trainers that train the rows of servers of random shapes on a device (DeviceStore before RemoteLender): they end with the
// bits of trainers without one, through faults of the network and crashes of trainers, and of servers with checkpoints: a
// hundred seeds a run.
//
//   PS_SIM_SEED=17 sim_device        that seed alone
//   PS_SIM_SEEDS=5000 sim_device     more of them
#include "device/device_store.h"
#include "recovering_cluster.h"

namespace ps {
namespace {

// A batch has up to 40 keys of 300: a device of 32 rows trains it in rounds, and on one of 512 all rows have a place.
struct Plan : RecoveryPlan {
  Plan(Random& random, int fewest) : RecoveryPlan(random) {
    draw_rule(random, job);
    job.small = true;
    draw_steps(random, job, 1, fewest, fewest + 8);
    const char* const kDevices[] = {"emulated", "emulated", "emulated:0,emulated:1",
                                    "emulated:0,emulated:1,emulated:2"};
    job.device = DeviceOptions{
        .type = kDevices[draw(random, 0, 3)], .rows = 32 << draw(random, 0, 4), .window = draw(random, 0, 5)};
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

// The time is that of the simulated network alone: nobody computes.  Dense parameters wait for a round trip a step.
TEST(DeviceBeforeServers, RowsOfComingBatchesComeWhileOthersAreTrained) {
  SyntheticJob job;
  job.small = true;
  job.steps = {{60}};
  auto time_of = [&job](int64_t rows, int64_t window) {
    SyntheticJob own = job;
    own.device = DeviceOptions{.type = "emulated", .rows = rows, .window = window};
    ShardCluster cluster(own, {.servers = 2});
    cluster.network().set_default_link({.latency = 10ms});
    expect_same_bits(train_locally(job), cluster.train());
    return to_seconds(cluster.network().now());
  };
  const double without = time_of(128, 0), three = time_of(128, 3);
  std::printf("60 steps, a round trip of 20 ms: %.2f s, 3 batches ahead %.2f s\n", without, three);
  EXPECT_GT(without, 60 * 0.04) << "two round trips a step";
  EXPECT_LT(three, 0.7 * without);
}

// Rows that no server had before are made by the first batch that uses them.
TEST(DeviceBeforeServers, RowsOfTheNextBatchAreOnTheDeviceBeforeItIsPulled) {
  SyntheticJob job;
  job.small = true;
  job.steps = {{30}};
  job.device = DeviceOptions{.type = "emulated", .rows = 160, .window = 3};
  ShardCluster cluster(job, {.servers = 2});
  cluster.network().set_default_link(RecoveringCluster::link());
  cluster.spawn(0, [&](RemoteStore& remote) {
    with_store(remote, job, [&](ParameterStore& store) {
      const auto count = [&](const char* name) {
        return dynamic_cast<DeviceStore&>(store).counters().at(name).get<int64_t>();
      };
      int64_t step = 0;
      train_pass(store, job, 0, 0, 0, step);
      const int64_t fetched = count("rows_fetched"), early = count("rows_early");
      train_pass(store, job, 0, 0, 0, step);
      EXPECT_GT(count("rows_fetched") - fetched, 100);
      EXPECT_GT(count("rows_early") - early, (count("rows_fetched") - fetched) / 2);
      remote.run().end_run();
    });
  });
  cluster.run();
}

TEST(DeviceBeforeServers, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  expect_crashes_to_change_nothing(20, [](Random& random) { return Plan(random, 2); });
}

}  // namespace
}  // namespace ps
