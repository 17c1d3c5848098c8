// RunSaves: the models that a run saves: after its passes, when it is stopped, and when it is asked to.  Used
// by run_job.
//
// A model is saved in one of two ways: row by row, as long as nothing changes the rows, or from a checkpoint of the
// servers, while the job goes on.  A process without servers writes it as DIR/pass-00000/.  On servers, the trainer that
// is elected writes DIR/<trainer id>/pass-00000/, a folder that no other process ever writes, and when all of it is
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
#include "job/pass_models.h"
#include "job/run_options.h"
#include "membership/etcd_save_records.h"
#include "optim/parameter.h"
#include "store/run_control.h"
#include "strategy/strategy.h"

namespace ps {

// Asks who saves a model.  The first server elects, and knows from that when a pass is being saved.  Where there is etcd,
// else null, its records are asked first, since they outlive that server; while only one of the two can be reached, its
// answer counts.  A trainer that etcd elects and the first server refuses gives its record in etcd back.
Saver elect_saver(SaveRecords* in_etcd, const Candidate& candidate, RunControl& run, SaveStage stage,
                  const std::string& name, Log& log);

// One owner thread; what it is given outlives it.
class RunSaves {
 public:
  // `etcd` may be null.
  RunSaves(const Job& job, const RunOptions& options, Strategy& strategy, EtcdClient* etcd,
           const std::vector<ParameterSpec>& parameters, std::shared_ptr<const Vocabulary> vocabulary,
           PassModels& models, Log& log);

  // Makes the folder of all: what is wrong with it is known before the work, not after it.
  void prepare() const;

  // Saves row by row as `name`; false when there is nowhere to save it, or this trainer is not the one that does.  Throws
  // when it cannot be written, or read from the servers.
  bool save(const std::string& name);

  // The same at the end of a pass.  With servers it only begins; an error after that is thrown by go_on or finish.
  bool save_pass(int pass);

  // Makes the link `best` to the model of this pass, which is saved or being saved.
  void link_best(int pass) const;

  // The same of a pass that was over before this process came, if nobody has saved it.
  void resume(int64_t pass);

  // The same in the midst of a pass, named after the step of the servers.  Training goes on when it cannot be
  // written.
  void save_asked(int pass, int64_t batches);

  // To be called again and again; and before a pass or training ends: waits for what has been begun.
  void go_on();
  void finish();

 private:
  // A model that is being made from a checkpoint.
  struct Current {
    std::string name;              // by which the saver was elected
    int64_t pass = -1;             // -1: in the midst of one, as a signal has asked for it
    bool resumed = false;          // in place of a process that may have been killed saving it
    int tries = 1;                 // to get the files
    std::string folder_name = {};  // of the model; empty: not begun
    std::unique_ptr<CheckpointSave> save = {};

    bool asked() const { return pass < 0; }
  };

  bool can_save() const { return !job_.train.save_dir.empty(); }
  Saver ask_saver(SaveStage stage, const std::string& name);
  bool elect(const std::string& name, SaveStage stage);
  void renew(const std::string& name);
  std::string begin_folder(const std::string& name) const;
  void write_beside(const std::string& folder) const;
  void publish(const std::string& name, const std::string& folder_name);

  void save_rows(const std::string& name);

  bool begin_from_checkpoint(Current current);
  void advance();
  void write_from_checkpoint();
  void ask_again(Error why);
  void do_without_checkpoint(const std::string& why);
  void drop_resumed();
  std::string drop();
  void give_up(const Error& error);
  void say_failed(const std::string& name, const std::string& why);

  const Job& job_;
  Strategy& strategy_;
  const std::vector<ParameterSpec>& parameters_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  Log& log_;
  const std::string trainer_id_;  // empty: without servers
  const uint64_t generation_;     // of this process
  std::optional<EtcdSaveRecords> in_etcd_;
  double renewed_ = 0;  // seconds of the clock

  PassModels& models_;  // of this run and those before it

  std::optional<Current> current_;
};

// Before a run begins: throws kUsage when models of another run are in the folder of models, so that passes of
// two runs are never mixed.
void check_no_models(const std::string& save_dir);

}  // namespace ps

#endif  // PS_JOB_RUN_SAVES_H_
