// Shards that apply steps in slices of a few rows, with time in between in which others ask, and servers and trainers that
// crash: the job ends with the bits of steps that are applied at once, and undisturbed.
//
//   PS_SIM_SEED=17 sim_slices        that seed alone
//   PS_SIM_SEEDS=5000 sim_slices     more of them
#include "config/spec.h"
#include "recovering_cluster.h"

namespace ps {
namespace {

const char* const kSlicedPolicies[] = {
    R"({"expire": {"unseen": 1, "below_score": 0.4}, "shrink_steps": 4})",
    R"({"admission": {"count": 2}, "limit": 64, "when_full": "evict", "decay": 0.5, "expire": {"unseen": 0}})",
    R"({"admission": {"probability": 0.3}, "limit": 64, "expire": {"below_score": 0.3}})",
    R"({"limit": 128, "when_full": "evict"})",
};

// Half of the jobs have a policy of rows, and half of the servers have rows on disk.
void draw_rows(Random& random, SyntheticJob& job, ShardLimits& limits) {
  static const ScratchFolder spilled;
  if (draw(random, 0, 1) == 0) {
    job.rows = RowPolicy::spec().parse(parse_json(kSlicedPolicies[draw(random, 0, 3)], "rows"), "rows");
  }
  if (draw(random, 0, 1) == 0) limits.spill = {spilled.path(), uint64_t{32} << 10};
}

RecoveryPlan draw_plan(Random& random) {
  RecoveryPlan plan(random);
  draw_optimizer(random, plan.job);
  if (plan.job.optimizer["type"] == "momentum")
    plan.job.optimizer["average"] = {{"begin_step", draw(random, 0, 4)}};
  plan.job.small = true;
  draw_steps(random, plan.job, 3, 2, 8);
  plan.steps = draw(random, 1, 4);
  plan.durable = draw(random, 0, 1) == 0;
  plan.job.types.state_chunk_bytes = draw(random, 0, 1) == 1 ? 200 : 2000;
  plan.limits.slice_work = static_cast<uint64_t>(draw(random, 1, 200));
  plan.limits.slice_rest = std::chrono::microseconds(draw(random, 0, 500));
  draw_rows(random, plan.job, plan.limits);
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
    draw_rows(random, job, size.limits);
    ShardCluster cluster(job, size, seed);
    cluster.train();
    const uint64_t steps = job.consistency.async ? 25 : 5 + 5;
    for (const auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, steps);
  });
}

}  // namespace
}  // namespace ps
