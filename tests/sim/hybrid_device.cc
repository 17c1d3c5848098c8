// Trainers that add up dense gradients among themselves, and of which each trains the rows of servers that it owns on a device
// (OwnedRows before DeviceStore and RemoteLender): they end with the bits that servers alone would give, also when servers and
// trainers crash: a hundred seeds a run.
//
//   PS_SIM_SEED=17 sim_hybrid_device        that seed alone
//   PS_SIM_SEEDS=5000 sim_hybrid_device     more of them
#include "config/spec.h"
#include "recovering_cluster.h"
#include "strategy/hybrid_store.h"

namespace ps {
namespace {

// 300 keys, of which a step of a trainer has up to 40; two trainers or three own about as many each.
struct Plan : HybridPlan {
  explicit Plan(Random& random) : HybridPlan(random, 5) {
    const char* const kDevices[] = {"emulated", "emulated:0,emulated:1"};
    job.device = DeviceOptions{
        .type = kDevices[draw(random, 0, 1)], .rows = 32 << draw(random, 0, 3), .window = draw(random, 0, 4)};
    const char* const kPolicies[] = {
        R"({"expire": {"unseen": 1, "below_score": 0.4}, "shrink_steps": 4})",
        R"({"admission": {"count": 2}, "limit": 64, "when_full": "evict", "decay": 0.5,
            "expire": {"unseen": 0}, "shrink_steps": 5})",
        R"({"limit": 128, "when_full": "evict", "score": {"non_click": 0, "click": 1}})",
    };
    if (draw(random, 0, 1) == 0) return;
    job.rows = RowPolicy::spec().parse(parse_json(kPolicies[draw(random, 0, 2)], "rows"), "rows");
  }
};

TEST(HybridOnDevices, TrainersHaveTheBitsOfServers) {
  Totals totals;
  uint64_t several = 0, evicted = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random);
    several += plan.job.trainers() > 1;
    expect_bits_of_undisturbed(plan, seed, random, totals, &evicted);
  });
  std::printf("jobs with several trainers %lu, rows evicted %lu\n", several, evicted);
  if (!many) return;
  EXPECT_GT(several, 40u);
  EXPECT_GT(evicted, 1000u);
}

// The last step of two trainers that end early.  Until then only the servers of a pass that has ended have all rows.
TEST(HybridOnDevices, RowsAreWithTheServersAfterTheLastStepOfARunThatEndsEarly) {
  Random random(1, 0);
  RecoveryPlan plan(random);
  plan.hybrid = true;
  plan.servers = 2;
  plan.job.small = true;
  plan.job.steps = {{3}, {3}};
  const std::vector<float> expected = ShardCluster(plan.job, {.servers = 2}).train();
  plan.job.device = DeviceOptions{.type = "emulated", .rows = 64};
  plan.job.steps = {{9}, {9}};
  const std::vector<ParameterSpec> specs = plan.job.parameters();
  const ScratchFolder folder;
  Totals totals;
  RecoveringCluster cluster(plan, folder.path(), 1, totals);
  std::vector<float> weights;
  cluster.hybrid_body = [&](HybridStore& store, RemoteStore&, CollectiveRun& run, int rank) {
    std::vector<ParameterView<float>> views;
    for (int64_t step = 0; step < 3; ++step) {
      const SyntheticBatch batch = plan.job.batch(rank, step);
      store.pull(batch.plans, PullMode::kTrain, views);
      batch.fill(rank, step, specs, views);
      run.stops(/*asked=*/step == 2 && rank == 1);
      store.push(batch.plans, views, {batch.samples, 0});
      EXPECT_EQ(run.ends(), step == 2);
      if (step < 2) {
        EXPECT_THROW(store.keys(0), Error) << "rows are on devices";
      }
    }
    if (rank == 0) weights = all_weights(store, specs);
  };
  cluster.start_trainers();
  cluster.run();
  expect_same_bits(expected, weights);
}

// The time is that of the simulated network alone: nobody computes.
TEST(HybridOnDevices, RowsOfComingBatchesComeWhileOthersAreTrained) {
  Random random(1, 0);
  RecoveryPlan plan(random);
  plan.hybrid = true;
  plan.servers = 2;
  plan.job.small = true;
  plan.job.steps = {{40}, {36}};
  const std::vector<float> expected = ShardCluster(plan.job, {.servers = 2}).train();
  const auto time_of = [&](int64_t window) {
    plan.job.device = DeviceOptions{.type = "emulated", .rows = 64, .window = window};
    const ScratchFolder folder;
    Totals totals;
    RecoveringCluster cluster(plan, folder.path(), 1, totals);
    cluster.network().set_default_link({.latency = 10ms});
    cluster.start_trainers();
    cluster.run();
    expect_same_bits(expected, cluster.weights());
    EXPECT_GT(cluster.rows_evicted(), 100u);
    return to_seconds(cluster.network().now());
  };
  const double without = time_of(0), three = time_of(3);
  std::printf("40 steps, a round trip of 20 ms: %.2f s, 3 batches ahead %.2f s\n", without, three);
  EXPECT_LT(three, without - 40 * 0.01) << "most steps wait for a round trip less";
}

TEST(HybridOnDevices, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  expect_crashes_to_change_nothing(50, [](Random& random) { return Plan(random); });
}

}  // namespace
}  // namespace ps
