// The strategies that ps-bench accuracy compares.  Used by bench/accuracy.
#ifndef PS_BENCH_ACCURACY_TRIALS_H_
#define PS_BENCH_ACCURACY_TRIALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/json.h"

namespace ps {

// A strategy as a job names it, with the name of its row.
struct AccuracyTrial {
  std::string name;
  Json strategy;
};

// Returns the trial that all others are compared with: every gradient is sent whole, in every step.
AccuracyTrial dense_trial();

// Returns all other trials, for a training of `steps` steps: warm-up and intervals are set in proportion to
// them.  Strategies that have a begin_step send gradients whole for the first twentieth of the steps, as
// their papers recommend.
std::vector<AccuracyTrial> accuracy_trials(int64_t steps);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_TRIALS_H_
