// RunCheckpoints: what a run in one process keeps in its checkpoints, and how it goes on from one.  Used by
// run_job.
#ifndef PS_JOB_RUN_CHECKPOINTS_H_
#define PS_JOB_RUN_CHECKPOINTS_H_

#include "config/json.h"
#include "job/job.h"
#include "job/run.h"
#include "store/local_store.h"
#include "train/checkpointer.h"
#include "train/trainer.h"

namespace ps {

// One owner thread; what it is given outlives it.
class RunCheckpoints {
 public:
  RunCheckpoints(const Job& job, const RunOptions& options, const DataSchema& schema, LocalStore& store,
                 Trainer& trainer, Log& log);

  // Puts store and trainer where the newest checkpoint was, and adds the results up to there to `result`;
  // false when there is no checkpoint, and training begins anew.
  bool resume(Json& result);

  // Before training from its beginning.
  void begin_new() { checkpointer_.begin_new(); }

  // Writes a checkpoint when it is time, or when training is being stopped.
  void after_batch(bool stopping, const Json& result);
  void after_pass(const Json& result) { write(result); }
  void write(const Json& result);

  // At the end: throws why the last one could not be written, if it could not.
  void check() const;

 private:
  const Json description_;  // of job and data, for whoever reads the checkpoint
  LocalStore& store_;
  Trainer& trainer_;
  Log& log_;
  const std::string directory_;
  Checkpointer checkpointer_;
};

}  // namespace ps

#endif  // PS_JOB_RUN_CHECKPOINTS_H_
