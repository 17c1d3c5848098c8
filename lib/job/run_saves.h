// RunSaves: the models that a run saves: after its passes, when it is stopped, and when it is asked to.  Used
// by run_job.
//
// Of a process without servers a model is DIR/pass-00000/.  Of trainers on servers, the one that is elected
// writes DIR/<trainer id>/pass-00000/, a folder that no other process ever writes, and when all of it is
// there, makes DIR/pass-00000/ links to it.
#ifndef PS_JOB_RUN_SAVES_H_
#define PS_JOB_RUN_SAVES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/vocabulary.h"
#include "job/checkpoint_save.h"
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

  // The same in the midst of a pass.  Training goes on when it cannot be written.  Where servers write
  // checkpoints, nobody waits: the model is made of one that they are asked for, and named after its step.
  void save_asked(int pass, int64_t batches);

  // To be called after each batch, and at the end of training, when it waits for a model that is being made.
  void after_batch();
  void finish();

 private:
  bool save(const std::string& name, SaveStage stage);
  bool elect(const std::string& name, SaveStage stage);
  std::string begin_folder(const std::string& name) const;
  void write(const std::string& name);
  void write_beside(const std::string& folder) const;
  void publish(const std::string& name, const std::string& folder_name);
  void renew(const std::string& name);

  bool ask_servers(const std::string& name);
  void begin_model();
  void end_model();
  void give_up(const std::string& why);
  void say_failed(const std::string& name, const std::string& why);

  const Job& job_;
  ParameterHome& home_;
  const std::vector<ParameterSpec>& parameters_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  Log& log_;
  const std::string trainer_id_;  // empty: without servers
  double renewed_ = 0;            // seconds of the clock

  // Of a model that is made of a checkpoint.
  std::string asked_name_;                     // empty: none is
  std::optional<AskedCheckpoint> checkpoint_;  // nothing: the servers have not answered yet
  std::unique_ptr<CheckpointSave> made_;       // null: not begun
};

}  // namespace ps

#endif  // PS_JOB_RUN_SAVES_H_
