// Trains the runs of a sweep, one after the other.  Used by ps-train.
#ifndef PS_JOB_TUNING_SWEEP_TRAINING_H_
#define PS_JOB_TUNING_SWEEP_TRAINING_H_

#include <functional>
#include <span>
#include <vector>

#include "base/log.h"
#include "cli/flags.h"
#include "job/job.h"
#include "job/run_options.h"
#include "job/tuning/sweep.h"

namespace ps {

struct SweepPlan {
  std::vector<SweptKey> keys;
  int folds = 1;         // 1: the job decides on which data models are measured
  int64_t samples = 0;   // number of combinations that are drawn, by the seed of the job; 0: all are trained
  bool halving = false;  // successive halving: the better half is trained anew for twice the passes
};

// Calls make(overrides) for the job of each combination of values, and trains it once for each fold.  Models
// are in the folders 000, 001, ... of its save_dir; with halving, those of a round follow those of the round
// before.  Returns sweep_result (job/tuning/sweep.h) by the train.best_by of the first job, or null if
// options.stop ended it before any run was complete.  Throws kUsage for jobs of several processes, and for data
// that cannot be read again, and the errors of training.
Json train_sweep(const SweepPlan& plan, const std::function<Job(std::span<const Override>)>& make,
                 const RunOptions& options, Log& log);

}  // namespace ps

#endif  // PS_JOB_TUNING_SWEEP_TRAINING_H_
