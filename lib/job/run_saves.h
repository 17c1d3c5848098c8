// RunSaves: the models that a run saves: after its passes, when it is stopped, and when a signal asks for one.
// Used by run_job.
//
// A model is saved in one of two ways: row by row, as long as nothing changes the rows, or from a checkpoint of
// the servers, while the job goes on.  A process without servers writes it as DIR/pass-00000/. With servers,
// the elected trainer writes DIR/<trainer id>/pass-00000/, a folder that no other process ever writes.  When
// that folder is complete, the trainer makes DIR/pass-00000/ with links to it.
#ifndef PS_JOB_RUN_SAVES_H_
#define PS_JOB_RUN_SAVES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lock_file.h"
#include "base/log.h"
#include "data/vocabulary.h"
#include "job/checkpoint_save.h"
#include "job/job.h"
#include "job/pass_models.h"
#include "job/run_options.h"
#include "membership/etcd_save_records.h"
#include "model/calibration.h"
#include "optim/parameter.h"
#include "store/run_control.h"
#include "strategy/strategy.h"

namespace ps {

// Elects the trainer that saves a model.  The first server elects, and so knows that a pass is being saved.
// With etcd (else null) its records are asked first, since they outlive that server.  If only one of the two
// can be reached, its answer counts.  A trainer that etcd elects and the first server refuses gives its record
// in etcd back.
Saver elect_saver(SaveRecords* in_etcd, const Candidate& candidate, RunControl& run, SaveStage stage,
                  const std::string& name, Log& log);

// One owner thread.  Its arguments outlive it.
class RunSaves {
 public:
  // `etcd` may be null.
  RunSaves(const Job& job, const RunOptions& options, Strategy& strategy, EtcdClient* etcd,
           const std::vector<ParameterSpec>& parameters, std::shared_ptr<const Vocabulary> vocabulary,
           PassModels& models, Log& log);

  // Makes the folder of all models, so that errors with it are known before the work and not after it.  Without servers
  // it is claimed, since two runs that save to one folder would replace each other's models: throws kFenced if another
  // process has it, and has not ended within a few seconds, and kUsage as check_no_models does.
  void prepare();

  // Saves row by row as `name`.  Returns false if no folder is given, or if another trainer saves the model.
  // Throws if it cannot be written, or read from the servers.
  bool save(const std::string& name);

  // Saves the model at the end of a pass.  With servers it only begins to do so; later errors are thrown by
  // go_on or finish.
  bool save_pass(int pass);

  // Models that are saved from now on have this calibration.
  void set_calibration(const std::optional<Calibration>& calibration) { calibration_ = calibration; }

  // Makes the link `best` point to the model of this pass, which is saved or being saved.
  void link_best(int pass) const;

  // Saves the model of a pass that was over before this process started, if no process has saved it.
  void resume(int64_t pass);

  // Saves a model in the middle of a pass, named after the step of the servers.  Training goes on if it cannot
  // be written.
  void save_asked(int pass, int64_t batches);

  // go_on continues the saving, and is called repeatedly. finish waits for it, and is called before a pass or
  // training ends.
  void go_on();
  void finish();

 private:
  // A model that is being made from a checkpoint.
  struct Current {
    std::string name;              // the name for which the saver was elected
    int64_t pass = -1;             // -1: a signal has asked for it in the middle of a pass
    bool resumed = false;          // an earlier process may have been killed while it saved the model
    int tries = 1;                 // number of attempts to get the files
    std::string folder_name = {};  // name of the model's folder; empty: not begun
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
  const std::string trainer_id_;  // empty without servers
  const uint64_t generation_;     // generation of this process
  const bool begins_;             // this run goes on with no other
  std::optional<EtcdSaveRecords> in_etcd_;
  std::unique_ptr<LockFile> claim_;  // of the folder of all models; null with servers
  double renewed_ = 0;               // time of the last renewal, of monotonic_seconds

  PassModels& models_;  // models of this run and those before it

  std::optional<Current> current_;
  std::optional<Calibration> calibration_;
};

// Called before a run begins.  Throws kUsage if the folder of models contains models of another run, so that
// passes of two runs are never mixed.
void check_no_models(const std::string& save_dir);

}  // namespace ps

#endif  // PS_JOB_RUN_SAVES_H_
