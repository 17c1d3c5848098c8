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

TEST(Hybrid, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  expect_crashes_to_change_nothing(50, [](Random& random) { return Plan(random); });
}

}  // namespace
}  // namespace ps
