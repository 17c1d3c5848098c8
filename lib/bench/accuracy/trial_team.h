// TrialTeam: runs many trainings of one job, several at a time.  Used by ps-bench accuracy.
#ifndef PS_BENCH_ACCURACY_TRIAL_TEAM_H_
#define PS_BENCH_ACCURACY_TRIAL_TEAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/temporary_folder.h"
#include "bench/accuracy/trial_run.h"
#include "bench/accuracy/trials.h"
#include "cli/interrupts.h"

namespace ps {

// A trial with the seed of its training.
struct Training {
  AccuracyTrial trial;
  int64_t seed;
};

// Runs trainings on threads of its own.  One owner thread.  A result does not depend on the trainings beside
// it.
class TrialTeam {
 public:
  // Trains `parallel` at a time, each in a folder of its own inside `folder`.  Throws as TrialRunner does.
  TrialTeam(const AccuracyJob& job, int parallel, const std::string& programs, const TemporaryFolder& folder);

  // Checks the strategy of the trial.  Throws as TrialRunner::check does.
  void check(const AccuracyTrial& trial) const { members_.front().runner.check(trial.strategy); }

  // Runs the trainings.  Hands each result to `done` as soon as it is known, on any thread, one at a time.
  // Begins no more trainings when the user interrupts, or when one fails with kUsage.  When one fails
  // otherwise, its error is logged and the others are trained.  The first error is thrown at the end.
  using Done = std::function<void(const Training& training, const TrialResult& result)>;
  void run(const std::vector<Training>& trainings, const Interrupts& interrupts, Log& log, const Done& done);

 private:
  struct Member {
    std::unique_ptr<TemporaryFolder> folder;
    TrialRunner runner;
  };
  class Round;
  std::vector<Member> members_;  // there is at least one
};

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_TRIAL_TEAM_H_
