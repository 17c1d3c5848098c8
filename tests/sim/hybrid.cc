// Trainers that add up dense gradients among themselves, and have servers for sparse parameters: they end with the bits that
// servers alone would give, and when servers and trainers crash, all go back to a checkpoint whose halves are of one step: a
// hundred seeds a run.
//
//   PS_SIM_SEED=17 sim_hybrid        that seed alone
//   PS_SIM_SEEDS=5000 sim_hybrid     more of them
#include "strategy/hybrid_store.h"

#include "recovering_cluster.h"

namespace ps {
namespace {

struct Plan : HybridPlan {
  explicit Plan(Random& random) : HybridPlan(random, 9) {}
};

TEST(Hybrid, TrainersHaveTheBitsOfServers) {
  Totals totals;
  for (uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Random random(seed, 0);
    const Plan plan(random);
    expect_bits_of_undisturbed(plan, seed, random, totals);
  }
}

// The job of two trainers, with two steps.
struct TwoTrainers : RecoveryPlan {
  explicit TwoTrainers(Random random = Random(1, 0)) : RecoveryPlan(random) {
    hybrid = true;
    job.small = true;
    job.steps = {{2}, {2}};
  }
};

// Trainer 0 is told to end first, say, while the others wait for it.  The patience is for waits for servers.
TEST(Hybrid, ATrainerThatIsToldToEndDoesSoAtOnceWhenAnotherHasLeft) {
  for (const bool device : {false, true}) {
    SCOPED_TRACE(cat("device ", device));
    TwoTrainers plan;
    if (device) plan.job.device = DeviceOptions{.type = "emulated", .rows = 64};
    const std::vector<ParameterSpec> specs = plan.job.parameters();
    const ScratchFolder folder;
    Totals totals;
    RecoveringCluster cluster(plan, folder.path(), 1, totals);
    bool told = false, ended = false;
    cluster.told_to_end = [&] { return told; };
    cluster.stop_patience = 1h;
    cluster.hybrid_body = [&](HybridStore& store, RemoteStore&, CollectiveRun&, int rank) {
      std::vector<ParameterView<float>> views;
      const auto train = [&](int64_t step) {
        const SyntheticBatch batch = plan.job.batch(rank, step);
        store.pull(batch.plans, PullMode::kTrain, views);
        batch.fill(rank, step, specs, views);
        store.push(batch.plans, views, {batch.samples, 0});
      };
      train(0);
      if (rank == 0) return;
      told = true;
      EXPECT_THROW(train(1), WaitStopped);
      ended = true;
    };
    cluster.start_trainers();
    cluster.run();
    EXPECT_TRUE(ended);
  }
}

// The servers refuse to wait for a trainer that has left.
TEST(Hybrid, ATrainerThatIsToldToEndDoesNotFailBecauseServersMissAnother) {
  TwoTrainers plan;
  const ScratchFolder folder;
  Totals totals;
  RecoveringCluster cluster(plan, folder.path(), 1, totals);
  cluster.told_to_end = [] { return true; };
  cluster.stop_patience = 5s;
  bool ended = false;
  cluster.hybrid_body = [&](HybridStore&, RemoteStore& remote, CollectiveRun&, int rank) {
    if (rank == 0) return remote.run().leave_run();
    EXPECT_THROW(remote.group().gather(""), WaitStopped);
    ended = true;
  };
  cluster.start_trainers();
  cluster.run();
  EXPECT_TRUE(ended);
}

TEST(Hybrid, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  expect_crashes_to_change_nothing(50, [](Random& random) { return Plan(random); });
}

}  // namespace
}  // namespace ps
