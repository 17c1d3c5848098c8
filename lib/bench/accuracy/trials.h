// The strategies that ps-bench accuracy sets beside each other.
#ifndef PS_BENCH_ACCURACY_TRIALS_H_
#define PS_BENCH_ACCURACY_TRIALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/json.h"

namespace ps {

// A strategy as a job names it, and the name of its row.
struct AccuracyTrial {
  std::string name;
  Json strategy;
};

// The trial with which all others are compared: every gradient is sent whole, in every step.
AccuracyTrial dense_trial();

// All others, for a training of so many steps: warm-up and intervals are set in proportion to them.  Each begins with a
// twentieth of the steps sent whole, as its paper recommends.
std::vector<AccuracyTrial> accuracy_trials(int64_t steps);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_TRIALS_H_
