// Shards that apply steps in slices of a few rows, with time in between in which others ask, and servers and trainers that
// crash: the job ends with the bits of steps that are applied at once, and undisturbed.
//
//   PS_SIM_SEED=17 sim_slices        that seed alone
//   PS_SIM_SEEDS=5000 sim_slices     more of them
#include "recovering_cluster.h"

namespace ps {
namespace {

RecoveryPlan draw_plan(Random& random) {
  RecoveryPlan plan(random);
  draw_optimizer(random, plan.job);
  plan.job.small = true;
  draw_steps(random, plan.job, 3, 2, 8);
  plan.steps = draw(random, 1, 4);
  plan.durable = draw(random, 0, 1) == 0;
  plan.job.types.state_chunk_bytes = draw(random, 0, 1) == 1 ? 200 : 2000;
  plan.limits.slice_work = static_cast<uint64_t>(draw(random, 1, 200));
  plan.limits.slice_rest = std::chrono::microseconds(draw(random, 0, 500));
  return plan;
}

TEST(Slices, GiveTheBitsOfStepsAtOnceWhoeverCrashes) {
  expect_crashes_to_change_nothing(20, draw_plan);
}

// Every push is applied once in the modes in which bits depend on the order of arrival; so it is with readers beside it.
TEST(Slices, ApplyEveryPushOnceInEveryMode) {
  many_seeds_pass([](uint64_t seed) {
    Random random(seed, 5);
    SyntheticJob job;
    job.small = true;
    job.steps = {{5, 4}, {3, 5}, {4, 4}};
    job.consistency.async = seed % 2 == 0;
    job.consistency.staleness = job.consistency.async ? 0 : 2;
    if (draw(random, 0, 1) == 0) job.optimizer["clip_global_norm"] = 0.5;
    ShardClusterSize size{.servers = 2, .ports = 1};
    size.limits.slice_work = static_cast<uint64_t>(draw(random, 1, 100));
    size.limits.slice_rest = std::chrono::microseconds(draw(random, 0, 300));
    ShardCluster cluster(job, size, seed);
    cluster.train();
    const uint64_t steps = job.consistency.async ? 25 : 5 + 5;
    for (const auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, steps);
  });
}

}  // namespace
}  // namespace ps
