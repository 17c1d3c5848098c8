// Seeds of simulated clusters, and what tests draw with them: a hundred seeds a run, or one or others, as
// PS_SIM_SEED and PS_SIM_SEEDS say.
#ifndef PS_TESTS_SIM_SEEDS_H_
#define PS_TESTS_SIM_SEEDS_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "base/error.h"
#include "base/random.h"
#include "cluster.h"
#include "support/environment.h"

namespace ps {

// Calls run(seed) until one fails, which is printed.  Returns whether all of a hundred or more have passed:
// so many that what is rare has come about.
template <class Run>
bool many_seeds_pass(Run&& run) {
  const int64_t one = number_from_environment("PS_SIM_SEED", 0);
  const int64_t count = one > 0 ? 1 : number_from_environment("PS_SIM_SEEDS", 100);
  const int64_t first = one > 0 ? one : 1;
  for (int64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(cat("PS_SIM_SEED=", seed));
    try {
      run(static_cast<uint64_t>(seed));
    } catch (const Error& error) {
      ADD_FAILURE() << error.message();
    }
  }
  return count >= 100 && !testing::Test::HasFailure();
}

// One of low..high.
inline int draw(Random& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<uint64_t>(high - low + 1)));
}

// Drawn of every cluster, first.
struct ClusterSize : ShardClusterSize {
  explicit ClusterSize(Random& random)
      : ShardClusterSize{
            .servers = draw(random, 1, 3), .ports = draw(random, 1, 2), .sparse_ports = draw(random, 0, 2)} {}
};

inline void draw_optimizer(Random& random, SyntheticJob& job) {
  const char* const kOptimizers[] = {"sgd", "momentum", "adam", "ftrl"};
  job.optimizer = {{"type", kOptimizers[draw(random, 0, 3)]}, {"learning_rate", 0.05}};
  if (draw(random, 0, 2) == 0) job.optimizer["clip_global_norm"] = 0.5;
}

// Every rule by which idle rows change, and state of every kind.
inline void draw_rule(Random& random, SyntheticJob& job) {
  const char* const kOptimizers[] = {"sgd", "momentum", "adagrad", "adam", "ftrl", "rmsprop"};
  job.optimizer = {{"type", kOptimizers[draw(random, 0, 5)]}, {"learning_rate", 0.05}};
  const bool decays = job.optimizer["type"] != "ftrl";
  if (decays && draw(random, 0, 1) == 0) job.optimizer["l2"] = 0.01;
  if (job.optimizer["type"] == "sgd" && draw(random, 0, 1) == 0) job.optimizer["l1"] = 0.01;
  if (draw(random, 0, 2) == 0) job.optimizer["schedule"] = {{"type", "poly"}, {"a", 0.01}, {"b", 0.5}};
  if (draw(random, 0, 3) == 0) job.optimizer["clip_global_norm"] = 0.5;
}

// Steps of up to `most_trainers` in each of up to three passes, `fewest` to `most`.
inline void draw_steps(Random& random, SyntheticJob& job, int most_trainers, int fewest, int most) {
  const int passes = draw(random, 1, 3);
  job.steps.assign(static_cast<size_t>(draw(random, 1, most_trainers)), {});
  for (std::vector<int>& trainer : job.steps) {
    for (int pass = 0; pass < passes; ++pass) trainer.push_back(draw(random, fewest, most));
  }
}

}  // namespace ps

#endif  // PS_TESTS_SIM_SEEDS_H_
