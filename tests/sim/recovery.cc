// Servers and trainers that crash, and come again, in jobs with checkpoints: a hundred seeds a run.
//
// A seed chooses the servers and their ports, the trainers and their data, the optimizer, how gradients are
// rounded, how often checkpoints are written and which of them are whole, whether pushes are logged, and which
// process is killed when.  Bytes that a server has not synced are lost with its machine.  A process that died is
// started again; all go back to the newest checkpoint, and the job ends with the bits of the undisturbed run.
//
//   PS_SIM_SEED=17 sim_recovery        that seed alone
//   PS_SIM_SEEDS=5000 sim_recovery     more of them
#include "recovering_cluster.h"

namespace ps {
namespace {

// The choices of a seed.
struct Plan : RecoveryPlan {
  // Gradients travel in the bytes of a codec instead.
  void draw_codec(Random& random) {
    const Json codecs[] = {{{"type", "int8"}, {"rounding", "stochastic"}, {"block", 8}},
                           {{"type", "shared_scale_int"}, {"chunk", 16}},
                           {{"type", "threshold"}, {"tau", 0.1}},
                           {{"type", "top_k"}, {"density", 0.2}},
                           {{"type", "low_rank"}, {"rank", 1}}};
    job.types.push = RowType::kF32;
    job.types.push_codec = codecs[draw(random, 0, 4)];
  }

  explicit Plan(Random& random) : RecoveryPlan(random) {
    draw_optimizer(random, job);
    job.small = true;
    draw_steps(random, job, 3, 2, 10);
    steps = draw(random, 1, 4);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 3) == 0;
    crashes = draw(random, 2, 5);
    job.types.push = kRowTypes[draw(random, 0, 5)];
    if (draw(random, 0, 1) == 1) job.types.error_bytes = 2000;  // of a few rows alone
    job.types.state_chunk_bytes = draw(random, 0, 1) == 1 ? 200 : 2000;
    if (draw(random, 0, 2) == 0) draw_codec(random);
  }
};

void run_seed(uint64_t seed, Totals& totals) {
  Random random(seed, 0);
  const Plan plan(random);
  expect_bits_of_undisturbed(plan, seed, random, totals);
}

TEST(Recovery, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) { run_seed(seed, totals); });
  totals.print();
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 50u);
  EXPECT_GT(totals.trainer_crashes, 30u);
  EXPECT_GT(totals.went_back, 30u) << "nobody ever went back: the test proves nothing";
  EXPECT_GT(totals.increments, 5u);
  EXPECT_GT(totals.lost_bytes, 0u) << "all was on the disk whenever a server crashed";
}

}  // namespace
}  // namespace ps
