// RunCheckpoints: writes the checkpoints of a run without servers, and resumes from one.  Trainer 0 writes the
// parameters, which all trainers have, and the positions of all trainers.  Each trainer writes the state of its
// strategy to a file of its own.  Used by run_job.
#ifndef PS_JOB_RUN_CHECKPOINTS_H_
#define PS_JOB_RUN_CHECKPOINTS_H_

#include <memory>
#include <span>
#include <string>

#include "base/lock_file.h"
#include "config/json.h"
#include "job/job.h"
#include "job/run_options.h"
#include "store/local_store.h"
#include "strategy/strategy.h"
#include "train/checkpointer.h"
#include "train/trainer.h"

namespace ps {

// One owner thread.  Its arguments outlive it.
class RunCheckpoints {
 public:
  // `strategy` must have a local() store.
  RunCheckpoints(const Job& job, const RunOptions& options, const DataSchema& schema, Strategy& strategy,
                 Trainer& trainer, Log& log);

  // Restores store and trainer from the newest checkpoint, and adds the results up to there to `result`.
  // Returns false if there is no checkpoint, so that training begins anew.  All trainers call it; throws kUsage
  // if they see different checkpoints. resume and begin_new throw kFenced while another process has the
  // directory.
  bool resume(Json& result);

  // Called before training that does not resume.
  void begin_new();

  // Returns true if a checkpoint is due: now, or, with several trainers, after the next step.
  bool due() const { return checkpointer_.due(group_.size() > 1 ? step() + 1 : step()); }

  // Writes a checkpoint.  All trainers call it at the same step.
  void write(const Json& result);

  // Called at the end: throws the reason why the last checkpoint could not be written, if there is one.
  void check() const;

 private:
  int64_t step() const { return group_.size() > 1 ? store_.schedule().steps() : trainer_.progress().step(); }
  void claim_directory();
  void check_same_step(int64_t step);
  std::string write_own_state();
  void finish(const Json& result, std::span<const std::string> positions, std::span<const std::string> own);

  const Json description_;  // job and schema of the data, which readers of the checkpoint need
  Strategy& strategy_;
  LocalStore& store_;
  Trainer& trainer_;
  TrainerGroup& group_;
  Log& log_;
  const std::string directory_;
  std::unique_ptr<LockFile> claim_;  // the claim of the directory, which trainer 0 has
  Checkpointer checkpointer_;
};

}  // namespace ps

#endif  // PS_JOB_RUN_CHECKPOINTS_H_
