#include "job/run_saves.h"

#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "job/agreement.h"
#include "ps/save_lease.h"
#include "train/model_file.h"

namespace ps {

namespace {

// Of one process: a rank that is started again writes another folder.
std::string trainer_id(const Job& job, const RunOptions& options) {
  if (server_addresses(job).empty()) return "";
  char id[48];
  std::snprintf(id, sizeof id, "trainer-%d-%llx", options.rank,
                static_cast<unsigned long long>(options.generation));
  return id;
}

}  // namespace

RunSaves::RunSaves(const Job& job, const RunOptions& options, ParameterHome& home,
                   const std::vector<ParameterSpec>& parameters, std::shared_ptr<const Vocabulary> vocabulary,
                   Log& log)
    : job_(job),
      home_(home),
      parameters_(parameters),
      vocabulary_(std::move(vocabulary)),
      log_(log),
      trainer_id_(trainer_id(job, options)) {}

void RunSaves::prepare() const {
  if (!job_.train.save_dir.empty()) make_directories(job_.train.save_dir);
}

void RunSaves::say_failed(const std::string& name, const std::string& why) {
  log_.error("cannot save ", name, ", training goes on: ", why);
}

void RunSaves::save_asked(int pass, int64_t batches) {
  const std::string name = batch_directory(pass, batches);
  if (job_.train.save_dir.empty()) return log_.warning("a model is asked for, but train.save_dir is empty");
  if (!asked_name_.empty()) return log_.info("A model is being made already");
  try {
    if (!ask_servers(name)) save(name, SaveStage::kAsked);
  } catch (const Error& error) {
    if (error.code() == Code::kUnavailable) throw;
    say_failed(name, error.message());
  }
}

bool RunSaves::elect(const std::string& name, SaveStage stage) {
  const Saver saver = home_.group().elect_saver(stage, name);
  if (!saver.elected) log_.info("Trainer ", saver.rank, " saves, or has saved, ", name);
  renewed_ = monotonic_seconds();
  return saver.elected;
}

bool RunSaves::save(const std::string& name, SaveStage stage) {
  if (job_.train.save_dir.empty() || !elect(name, stage)) return false;
  try {
    write(name);
    publish(name, name);
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) home_.group().elect_saver(SaveStage::kFailed, name);
    throw;
  }
  return true;
}

std::string RunSaves::begin_folder(const std::string& name) const {
  const std::string folder = join_path(join_path(job_.train.save_dir, trainer_id_), name);
  make_directories(folder);
  log_.info("Saving parameters to ", folder);
  return folder;
}

void RunSaves::write(const std::string& name) {
  const std::string folder = begin_folder(name);
  save_model(join_path(folder, kModelFile), parameters_, home_.store(),
             {{"format", "pskit"}, {"job", job_.job.name}, {"seed", std::to_string(job_.job.seed)}},
             [&] { renew(name); });
  write_beside(folder);
}

void RunSaves::write_beside(const std::string& folder) const {
  if (vocabulary_) vocabulary_->save(join_path(folder, kModelVocabulary));
  write_file(join_path(folder, kModelJob), effective_job(job_).dump(2) + "\n");
}

// Who is not the saver any more learns it at the end.
void RunSaves::renew(const std::string& name) {
  if (monotonic_seconds() - renewed_ < to_seconds(SaveLease::kLength) / 3) return;
  home_.group().elect_saver(SaveStage::kGoesOn, name);
  renewed_ = monotonic_seconds();
}

void RunSaves::publish(const std::string& name, const std::string& folder_name) {
  Group& group = home_.group();
  if (!trainer_id_.empty()) {
    const Saver saver = group.elect_saver(SaveStage::kGoesOn, name);
    if (!saver.elected) {
      return log_.warning("trainer ", saver.rank, " saves now: this model stays in ", trainer_id_);
    }
    const std::string folder = join_path(job_.train.save_dir, folder_name);
    make_directories(folder);
    for (const char* file : {kModelVocabulary, kModelJob, kModelFile}) {
      const std::string target = cat("../", trainer_id_, "/", folder_name, "/", file);
      if (exists(join_path(folder, target))) replace_link(target, join_path(folder, file));
    }
  }
  group.elect_saver(SaveStage::kDone, name);
}

// False when they write no checkpoints that this process could read.
bool RunSaves::ask_servers(const std::string& name) {
  if (job_.checkpoint.directory.empty() || home_.local() != nullptr) return false;
  if (!elect(name, SaveStage::kAsked)) return true;
  if (!home_.group().ask_checkpoint([this](const AskedCheckpoint& answer) { checkpoint_ = answer; }))
    return false;
  asked_name_ = name;
  return true;
}

void RunSaves::after_batch() {
  if (asked_name_.empty()) return;
  renew(asked_name_);
  if (checkpoint_ && !made_) begin_model();
  if (made_ && made_->over(0)) end_model();
}

void RunSaves::finish() {
  if (asked_name_.empty()) return;
  if (checkpoint_ && !made_) begin_model();
  while (made_ && !made_->over(to_seconds(SaveLease::kLength) / 3)) renew(asked_name_);
  if (made_) return end_model();
  if (!asked_name_.empty()) give_up("training has ended before the servers had a checkpoint");
}

void RunSaves::begin_model() {
  const std::string& name = checkpoint_->text;
  if (!checkpoint_->counts) return give_up(name);
  try {
    if (!name.starts_with("step-") || name.find('/') != std::string::npos) {
      fail(Code::kData, "the servers' checkpoint is called ", quote(name));
    }
    const std::string folder = begin_folder(name);
    write_beside(folder);
    made_ = std::make_unique<CheckpointSave>(join_path(job_.checkpoint.directory, name),
                                             join_path(folder, kModelFile));
  } catch (const Error& error) {
    give_up(error.message());
  }
}

void RunSaves::end_model() {
  if (made_->error()) return give_up(made_->error()->message());
  const std::string name = std::exchange(asked_name_, "");
  publish(name, checkpoint_->text);
  made_.reset();
  checkpoint_.reset();
}

void RunSaves::give_up(const std::string& why) {
  const std::string name = std::exchange(asked_name_, "");
  say_failed(name, why);
  made_.reset();
  checkpoint_.reset();
  home_.group().elect_saver(SaveStage::kFailed, name);
}

}  // namespace ps
