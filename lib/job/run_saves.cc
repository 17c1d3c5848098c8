#include "job/run_saves.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "job/fingerprint.h"
#include "membership/save_election.h"
#include "ps/client/shard_links.h"
#include "train/model_file.h"

namespace ps {

namespace {

// Returns the name of the folder of one process.  A restarted process of the same rank has another one.
std::string trainer_id(const Job& job, const RunOptions& options) {
  if (!has_servers(job)) return "";
  char id[48];
  std::snprintf(id, sizeof id, "trainer-%d-%llx", options.rank,
                static_cast<unsigned long long>(options.generation));
  return id;
}

// Lets the next trainer that asks save the model.  A record that cannot be removed disappears with its lease.
void give_back(SaveRecords& in_etcd, const Candidate& candidate, const std::string& name) {
  try {
    elect_saver(in_etcd, candidate, SaveStage::kFailed, name);
  } catch (const Error&) {
    return;
  }
}

}  // namespace

RunSaves::RunSaves(const Job& job, const RunOptions& options, Strategy& strategy, EtcdClient* etcd,
                   const std::vector<ParameterSpec>& parameters, std::shared_ptr<const Vocabulary> vocabulary,
                   PassModels& models, Log& log)
    : job_(job),
      strategy_(strategy),
      parameters_(parameters),
      vocabulary_(std::move(vocabulary)),
      log_(log),
      trainer_id_(trainer_id(job, options)),
      generation_(options.generation),
      begins_(!options.resume && options.lost_run == 0),
      models_(models) {
  if (etcd != nullptr) in_etcd_.emplace(*etcd);
}

void check_no_models(const std::string& save_dir) {
  if (save_dir.empty() || !is_directory(save_dir)) return;
  for (const std::string& name : list_directory(save_dir)) {
    const std::string folder = join_path(save_dir, name);
    // A folder counts only with a model in it: an interrupted process may have left an empty one.
    const bool named = name.starts_with("pass-") || step_of_folder(name);
    if (!named || !(exists(join_path(folder, kModelFile)) || exists(join_path(folder, kManifestFile))))
      continue;
    fail(Code::kUsage, "train.save_dir: ", quote(save_dir), " holds models of an earlier run, as ",
         quote(name),
         ": name another folder with --save-dir, or take them away; --resume goes on with that run");
  }
}

// Trainers of servers share the folder, as each has a folder of its own in it.
void RunSaves::prepare() {
  constexpr double kSecondsToEnd = 5;  // a killed process may need a moment to end
  if (!can_save()) return;
  make_directories(job_.train.save_dir);
  if (!trainer_id_.empty()) return;
  claim_ = LockFile::claim_folder(job_.train.save_dir, kSecondsToEnd);
  if (!claim_) {
    fail(Code::kFenced, "train.save_dir: another process that runs saves its models in ",
         quote(job_.train.save_dir), ": name another folder with --save-dir");
  }
  if (begins_)
    check_no_models(job_.train.save_dir);  // the process that had the folder until now may have saved
}

bool RunSaves::save(const std::string& name) {
  finish();
  if (!can_save() || !elect(name, SaveStage::kBegin)) return false;
  save_rows(name);
  return true;
}

// Saves the model of a pass, unless another trainer is elected.  If the servers have begun a checkpoint at
// the end of this pass, the model is made from it while training goes on; otherwise all rows are read now.
bool RunSaves::save_pass(int pass) {
  const std::string name = pass_directory(pass);
  if (!can_save()) return false;
  finish();
  // finish has left it, so a signal had asked for it, and the servers have not begun its checkpoint.
  if (current_) give_up(Error(Code::kExhausted, "the pass has ended, and its model is saved"));
  if (!elect(name, SaveStage::kBegin)) {
    models_.leave(name);
    return false;
  }
  models_.begin(name);
  const ServerCheckpoints* servers = strategy_.run().checkpoints();
  const bool begun = servers != nullptr && servers->begun_pass() == pass;
  if (begun && begin_from_checkpoint({.name = name, .pass = pass})) return false;
  save_rows(name);
  models_.saved(name);
  return true;
}

void RunSaves::link_best(int pass) const {
  if (can_save()) replace_link(pass_directory(pass), join_path(job_.train.save_dir, kBestModel));
}

void RunSaves::resume(int64_t pass) {
  if (pass < 0 || !job_.train.saves_after(pass)) return;
  const std::string name = pass_directory(static_cast<int>(pass));
  if (!elect(name, SaveStage::kBegin)) return models_.leave(name);
  begin_from_checkpoint({.name = name, .pass = pass, .resumed = true});
}

// A signal goes to all trainers, and the first that asks saves.  Without servers the rows are read here; an
// error then does not end the training, except that of a server that is gone.
void RunSaves::save_asked(int pass, int64_t batches) {
  const std::string name = batch_directory(pass, batches);
  if (!can_save()) return log_.warning("a model is asked for, but train.save_dir is empty");
  if (current_) return log_.info("A model is being made already");
  if (!elect(name, SaveStage::kAsked) || begin_from_checkpoint({.name = name})) return;
  try {
    save_rows(name);
  } catch (const Error& error) {
    if (error.code() == Code::kUnavailable) throw;
    say_failed(name, error.message());
  }
}

void RunSaves::say_failed(const std::string& name, const std::string& why) {
  log_.error("cannot save ", name, ", training goes on: ", why);
}

// Asks etcd first, then the first server.  A trainer that etcd refuses is refused, and the server is not
// asked.  An etcd that cannot be reached is passed over with a warning.  A server that cannot be reached is
// passed over only if etcd has elected this trainer; without the answer of either of them its error is
// thrown.
Saver elect_saver(SaveRecords* in_etcd, const Candidate& candidate, RunControl& run, SaveStage stage,
                  const std::string& name, Log& log) {
  bool etcd_elects = false;
  try {
    if (in_etcd != nullptr) {
      const Saver saver = elect_saver(*in_etcd, candidate, stage, name);
      if (!saver.elected) return saver;
      etcd_elects = true;
    }
  } catch (const Error& error) {
    log.warning("who saves ", name, " is not asked in etcd: ", error.message());
  }
  try {
    const Saver saver = run.elect_saver(stage, name);
    const bool begins = stage == SaveStage::kBegin || stage == SaveStage::kAsked;
    if (etcd_elects && begins && !saver.elected) give_back(*in_etcd, candidate, name);
    return saver;
  } catch (const StateLost&) {
    throw;
  } catch (const WaitStopped&) {
    throw;
  } catch (const Error& error) {
    if (!etcd_elects || error.code() != Code::kUnavailable) throw;
    return {true, candidate.rank};
  }
}

Saver RunSaves::ask_saver(SaveStage stage, const std::string& name) {
  const Candidate candidate{strategy_.run().id(), strategy_.group().rank(), generation_};
  return elect_saver(in_etcd_ ? &*in_etcd_ : nullptr, candidate, strategy_.run(), stage, name, log_);
}

bool RunSaves::elect(const std::string& name, SaveStage stage) {
  const Saver saver = ask_saver(stage, name);
  if (!saver.elected) log_.info("Trainer ", saver.rank, " saves, or has saved, ", name);
  renewed_ = monotonic_seconds();
  return saver.elected;
}

// Saves the model from the store row by row, while nothing may change the store.
void RunSaves::save_rows(const std::string& name) {
  try {
    const std::string folder = begin_folder(name);
    save_model(join_path(folder, kModelFile), parameters_, strategy_.store(),
               {{"format", "pskit"}, {"job", job_.job.name}, {"seed", std::to_string(job_.job.seed)}},
               [&] { renew(name); });
    write_beside(folder);
    publish(name, name);
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) ask_saver(SaveStage::kFailed, name);
    throw;
  }
}

std::string RunSaves::begin_folder(const std::string& name) const {
  const std::string folder = join_path(join_path(job_.train.save_dir, trainer_id_), name);
  make_directories(folder);
  log_.info("Saving parameters to ", folder);
  return folder;
}

// Writes vocabulary and job, with the calibration, beside the model.  The job names no data files, since
// another task with this job file reads data of its own.
void RunSaves::write_beside(const std::string& folder) const {
  if (vocabulary_) vocabulary_->save(join_path(folder, kModelVocabulary));
  Json job = effective_job(job_);
  job["data"]["files"] = job["data"]["test_files"] = Json::array();
  job["model"].erase("calibration");
  if (calibration_) job["model"]["calibration"] = Calibration::spec().to_json(*calibration_);
  if (!calibration_ && job_.train.calibrate != "none") {
    log_.warning("the model in ", folder,
                 " has no calibration: this process has measured no validation data since it began");
  }
  write_file(join_path(folder, kModelJob), job.dump(2) + "\n");
}

// Renews the lease of the saver.  A trainer that is not the saver any more learns it in publish.
void RunSaves::renew(const std::string& name) {
  if (monotonic_seconds() - renewed_ < to_seconds(kSaveLeaseLength) / 3) return;
  ask_saver(SaveStage::kGoesOn, name);
  renewed_ = monotonic_seconds();
}

// Makes the finished model visible: in a run with servers, by links from the common folder, if this trainer is
// still the saver.  The link to the model's main file comes last, since with it the model is complete.
void RunSaves::publish(const std::string& name, const std::string& folder_name) {
  if (!trainer_id_.empty()) {
    const Saver saver = ask_saver(SaveStage::kGoesOn, name);
    if (!saver.elected) {
      return log_.warning("trainer ", saver.rank, " saves now: this model stays in ", trainer_id_);
    }
    const std::string folder = join_path(job_.train.save_dir, folder_name);
    const std::string own = join_path(join_path(job_.train.save_dir, trainer_id_), folder_name);
    make_directories(folder);
    std::vector<std::string> files = list_directory(own);
    std::stable_partition(files.begin(), files.end(), [](const std::string& file) {
      return file != kModelFile && file != kManifestFile;
    });
    for (const std::string& file : files) {
      replace_link(cat("../", trainer_id_, "/", folder_name, "/", file), join_path(folder, file));
    }
  }
  ask_saver(SaveStage::kDone, name);
}

// Begins to make a model from a checkpoint; returns false if the servers give none.
bool RunSaves::begin_from_checkpoint(Current current) {
  current.save = CheckpointSave::ask(strategy_.run().checkpoints(), current.pass);
  if (!current.save) return false;
  current_ = std::move(current);
  return true;
}

// Renews the lease of the saver, and takes the next step of the model if the servers or the thread have
// brought it further.  An error ends the model that is being made.  If current_ is empty by then, the model
// was taken out of it before the error, which is thrown.
void RunSaves::go_on() {
  if (!current_) return;
  renew(current_->name);
  if (!current_->save->is_ready()) return;
  try {
    advance();
  } catch (const StateLost&) {
    throw;
  } catch (const WaitStopped&) {
    throw;
  } catch (const Error& error) {
    if (!current_) throw;
    give_up(error);
  }
}

// Waits for the model that is being made.  A model that a signal has asked for is not waited for if the servers
// have not begun it.
void RunSaves::finish() {
  constexpr double kLongest = 1;  // seconds
  while (current_ && (current_->save->checkpoint() != nullptr || !current_->asked())) {
    current_->save->wait(kLongest);
    go_on();
  }
}

// A model goes through two stages: the servers' checkpoint counts, and its folder is begun; then the files
// are written.  A server that was lost while its files were copied is asked again.
void RunSaves::advance() {
  if (current_->folder_name.empty()) return write_from_checkpoint();
  if (const auto& error = current_->save->copy_error()) {
    if (error->code() == Code::kUnavailable) return ask_again(*error);
    throw *error;
  }
  current_->save->check_written();
  const Current ended = std::move(*std::exchange(current_, std::nullopt));
  publish(ended.name, ended.folder_name);
  if (!ended.asked()) models_.saved(ended.name);
}

// Begins to write the model when the servers have answered.  A model that a signal has asked for gets the
// name of the checkpoint, which has the step of the servers; that of a pass keeps the name of the pass.
// Each try has a folder of its own for the copies, since files of an earlier try may still arrive.
void RunSaves::write_from_checkpoint() {
  const AskedCheckpoint& checkpoint = *current_->save->checkpoint();
  if (!checkpoint.counts && current_->resumed) return drop_resumed();
  if (!checkpoint.counts) return do_without_checkpoint(checkpoint.text);
  if (!step_of_folder(checkpoint.text)) {
    fail(Code::kData, "the servers' checkpoint is called ", quote(checkpoint.text));
  }
  current_->folder_name = current_->asked() ? checkpoint.text : current_->name;
  const std::string folder = begin_folder(current_->folder_name);
  write_beside(folder);
  current_->save->write({.folder = folder,
                         .copies = cat(folder, ".parts-", current_->tries),
                         .checkpoints = job_.checkpoint.directory,
                         .keeps_files = job_.train.load_save_parameters_in_pserver});
}

// Asks for the files again.  A server with a log that restarted during the copying still has them, or writes
// them again.
void RunSaves::ask_again(Error why) {
  constexpr int kMostTries = 10;
  Current next{.name = current_->name,
               .pass = current_->pass,
               .resumed = current_->resumed,
               .tries = current_->tries + 1};
  if (next.asked() || next.tries > kMostTries || !begin_from_checkpoint(std::move(next))) {
    return do_without_checkpoint(why.message());
  }
  log_.warning("the servers' files are asked for again: ", why.message());
}

// Ends a model whose files cannot be had.  After the last pass the servers' rows are still those of its end, so
// they are read row by row; other models fail.
void RunSaves::do_without_checkpoint(const std::string& reason) {
  const std::string why = cat("the servers' files: ", reason);
  if (current_->name == pass_directory(job_.train.passes - 1)) {
    log_.warning("rows are read one by one, without ", why);
    const std::string name = std::exchange(current_, std::nullopt)->name;
    save_rows(name);
    return models_.saved(name);
  }
  const bool asked = current_->asked();
  const std::string name = drop();
  if (!asked) models_.failed(name, why);
  say_failed(name, why);
}

// Drops the model of a resumed pass, whose files the servers do not have any more: an earlier process saved it,
// or it is lost.
void RunSaves::drop_resumed() {
  const std::string name = drop();
  const std::string folder = join_path(job_.train.save_dir, name);
  const bool saved = exists(join_path(folder, kModelFile)) || exists(join_path(folder, kManifestFile));
  if (saved) return models_.saved(name);
  if (models_.is_begun(name)) return say_failed(name, "the run has gone back to a later checkpoint");
  log_.warning("the model ", name, " is not in ", quote(job_.train.save_dir),
               ", and the servers' files of it are gone");
}

// Drops the model so that another trainer may save it; returns its name.
std::string RunSaves::drop() {
  std::string name = std::exchange(current_, std::nullopt)->name;
  ask_saver(SaveStage::kFailed, name);
  return name;
}

// Ends a model with an error.  Training goes on if a signal had asked for the model; otherwise the error is
// thrown.
void RunSaves::give_up(const Error& error) {
  const bool asked = current_->asked();
  const std::string name = drop();
  if (!asked) throw error.within(cat("cannot save ", name));
  say_failed(name, error.message());
}

}  // namespace ps
