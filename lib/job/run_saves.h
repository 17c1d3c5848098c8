// RunSaves: the models that a run saves: after its passes, when it is stopped, and when it is asked to.  Used
// by run_job.
//
// Of a process without servers a model is DIR/pass-00000/.  Of trainers on servers, the one that is elected
// writes DIR/<trainer id>/pass-00000/, a folder that no other process ever writes, and when all of it is
// there, makes DIR/pass-00000/ links to it.
#ifndef PS_JOB_RUN_SAVES_H_
#define PS_JOB_RUN_SAVES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/vocabulary.h"
#include "job/job.h"
#include "job/parameter_home.h"
#include "job/run.h"
#include "model/parameter.h"

namespace ps {

// One owner thread; what it is given outlives it.
class RunSaves {
 public:
  RunSaves(const Job& job, const RunOptions& options, ParameterHome& home,
           const std::vector<ParameterSpec>& parameters, std::shared_ptr<const Vocabulary> vocabulary,
           Log& log);

  // Makes the folder of all: what is wrong with it is known before the work, not after it.
  void prepare() const;

  // Saves what the store has as `name`; false when there is nowhere to save it, or this trainer is not the
  // one that does.  Throws when it cannot be written, or read from the servers.
  bool save(const std::string& name) { return save(name, SaveStage::kBegin); }

  // The same in the midst of a pass.  Training goes on when it cannot be written.
  void save_asked(int pass, int64_t batches);

 private:
  bool save(const std::string& name, SaveStage stage);
  void write(const std::string& name);
  void publish(const std::string& name);
  void renew(const std::string& name);

  const Job& job_;
  ParameterHome& home_;
  const std::vector<ParameterSpec>& parameters_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  Log& log_;
  const std::string trainer_id_;  // empty: without servers
  double renewed_ = 0;            // seconds of the clock
};

}  // namespace ps

#endif  // PS_JOB_RUN_SAVES_H_
