#include "job/run_saves.h"

#include <cstdio>

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

void RunSaves::save_asked(int pass, int64_t batches) {
  const std::string name = batch_directory(pass, batches);
  if (job_.train.save_dir.empty()) return log_.warning("a model is asked for, but train.save_dir is empty");
  try {
    save(name, SaveStage::kAsked);
  } catch (const Error& error) {
    if (error.code() == Code::kUnavailable) throw;
    log_.error("cannot save ", name, ", training goes on: ", error.message());
  }
}

bool RunSaves::save(const std::string& name, SaveStage stage) {
  if (job_.train.save_dir.empty()) return false;
  const Saver saver = home_.group().elect_saver(stage, name);
  if (!saver.elected) {
    log_.info("Trainer ", saver.rank, " saves, or has saved, ", name);
    return false;
  }
  renewed_ = monotonic_seconds();
  try {
    write(name);
    publish(name);
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) home_.group().elect_saver(SaveStage::kFailed, name);
    throw;
  }
  return true;
}

void RunSaves::write(const std::string& name) {
  const std::string folder = join_path(join_path(job_.train.save_dir, trainer_id_), name);
  make_directories(folder);
  log_.info("Saving parameters to ", folder);
  save_model(join_path(folder, kModelFile), parameters_, home_.store(),
             {{"format", "pskit"}, {"job", job_.job.name}, {"seed", std::to_string(job_.job.seed)}},
             [&] { renew(name); });
  if (vocabulary_) vocabulary_->save(join_path(folder, kModelVocabulary));
  write_file(join_path(folder, kModelJob), effective_job(job_).dump(2) + "\n");
}

// Who is not the saver any more learns it at the end.
void RunSaves::renew(const std::string& name) {
  if (monotonic_seconds() - renewed_ < to_seconds(SaveLease::kLength) / 3) return;
  home_.group().elect_saver(SaveStage::kGoesOn, name);
  renewed_ = monotonic_seconds();
}

void RunSaves::publish(const std::string& name) {
  Group& group = home_.group();
  if (!trainer_id_.empty()) {
    const Saver saver = group.elect_saver(SaveStage::kGoesOn, name);
    if (!saver.elected) {
      return log_.warning("trainer ", saver.rank, " saves now: this model stays in ", trainer_id_);
    }
    const std::string folder = join_path(job_.train.save_dir, name);
    make_directories(folder);
    for (const char* file : {kModelVocabulary, kModelJob, kModelFile}) {
      const std::string target = cat("../", trainer_id_, "/", name, "/", file);
      if (exists(join_path(folder, target))) replace_link(target, join_path(folder, file));
    }
  }
  group.elect_saver(SaveStage::kDone, name);
}

}  // namespace ps
