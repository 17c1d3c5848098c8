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

struct Plan : RecoveryPlan {
  explicit Plan(Random& random) : RecoveryPlan(random) {
    hybrid = true;
    draw_optimizer(random, job);
    if (draw(random, 0, 2) == 0) job.optimizer["clip_norm"] = 0.4;
    if (draw(random, 0, 3) == 0 && job.optimizer["type"] == "momentum")
      job.optimizer["average"] = Json::object();
    job.small = true;
    draw_steps(random, job, 3, 0, 9);
    steps = draw(random, 1, 4);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 3) == 0;
  }
};

void run_seed(uint64_t seed, int crashes, Totals& totals) {
  Random random(seed, 0);
  Plan plan(random);
  plan.crashes = crashes;
  expect_bits_of_undisturbed(plan, seed, random, totals);
}

TEST(Hybrid, TrainersHaveTheBitsOfServers) {
  Totals totals;
  for (uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    run_seed(seed, 0, totals);
  }
}

TEST(Hybrid, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) { run_seed(seed, 3, totals); });
  totals.print();
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 40u);
  EXPECT_GT(totals.trainer_crashes, 20u);
  EXPECT_GT(totals.went_back, 50u) << "nobody ever went back: the test proves nothing";
}

}  // namespace
}  // namespace ps
