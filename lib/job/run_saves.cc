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

// The folder of one process: a rank that is started again writes another one.
std::string trainer_id(const Job& job, const RunOptions& options) {
  if (!has_servers(job)) return "";
  char id[48];
  std::snprintf(id, sizeof id, "trainer-%d-%llx", options.rank,
                static_cast<unsigned long long>(options.generation));
  return id;
}

// The manifest in the folder of a checkpoint; nothing when there is none.
std::optional<Manifest> manifest_of(const std::string& checkpoint) {
  constexpr uint64_t kMaxBytes = 256 << 20;
  const std::string path = join_path(checkpoint, kManifestFile);
  if (!exists(path)) return std::nullopt;
  return decode_manifest(read_file(path, kMaxBytes), path);
}

}  // namespace

// A model that is being made from a checkpoint of the servers.  Their answer may arrive after it was given
// up.
struct RunSaves::Making {
  ~Making() {
    made.reset();
    if (!copies.empty()) system_files().remove(copies);
  }

  // True when there is something to do.
  bool can_go_on() const {
    return checkpoint && (folder.empty() || (!made && (taken || not_taken)) || (made && made->over(0)));
  }

  std::string name;                           // by which the saver was elected
  int64_t pass = -1;                          // -1: in the midst of one
  bool asked = false;                         // by a signal
  int tries = 1;                              // to get the files
  bool resumed = false;                       // in place of a process that may have been killed saving it
  std::optional<AskedCheckpoint> checkpoint;  // nothing: the servers have not answered yet
  std::string folder_name, folder;            // of the model; empty: not begun
  std::string copies;                         // directory of the servers' checkpoint, where it is copied
  bool taken = false;                         // all are; or not:
  std::optional<Error> not_taken;
  std::unique_ptr<CheckpointSave> made;  // null: not begun
};

RunSaves::RunSaves(const Job& job, const RunOptions& options, Strategy& strategy, EtcdClient* etcd,
                   const std::vector<ParameterSpec>& parameters, std::shared_ptr<const Vocabulary> vocabulary,
                   Log& log)
    : job_(job),
      strategy_(strategy),
      parameters_(parameters),
      vocabulary_(std::move(vocabulary)),
      log_(log),
      trainer_id_(trainer_id(job, options)),
      generation_(options.generation) {
  if (etcd != nullptr) in_etcd_.emplace(*etcd);
}

RunSaves::~RunSaves() = default;

void check_no_models(const std::string& save_dir) {
  if (save_dir.empty() || !is_directory(save_dir)) return;
  for (const std::string& name : list_directory(save_dir)) {
    const std::string folder = join_path(save_dir, name);
    const bool named = name.starts_with("pass-") || step_of_folder(name);
    if (!named || !(exists(join_path(folder, kModelFile)) || exists(join_path(folder, kManifestFile))))
      continue;
    fail(Code::kUsage, "train.save_dir: ", quote(save_dir), " holds models of an earlier run, as ",
         quote(name),
         ": name another folder with --save-dir, or take them away; --resume goes on with that run");
  }
}

void RunSaves::prepare() const {
  if (can_save()) make_directories(job_.train.save_dir);
}

void RunSaves::check() const {
  if (num_failed_ == 0) return;
  fail(Code::kUnavailable, num_failed_, " of ", num_passes_,
       " models could not be saved; the first: ", first_failure_);
}

bool RunSaves::save(const std::string& name) {
  finish();
  if (!can_save() || !elect(name, SaveStage::kBegin)) return false;
  save_now(name);
  return true;
}

bool RunSaves::save_pass(int pass) {
  const std::string name = pass_directory(pass);
  if (!can_save()) return false;
  finish();
  if (making_) give_up(Error(Code::kExhausted, "the pass has ended, and its model is saved"));
  if (!elect(name, SaveStage::kBegin)) return false;
  ++num_passes_;
  const ServerCheckpoints* servers = strategy_.run().checkpoints();
  if (servers != nullptr && servers->begun_pass() == pass && ask_servers(name, pass)) return false;
  save_now(name);
  return true;
}

void RunSaves::take_up(int64_t pass) {
  if (pass < 0 || !job_.train.saves_after(pass)) return;
  const std::string name = pass_directory(static_cast<int>(pass));
  if (elect(name, SaveStage::kBegin) && ask_servers(name, pass)) making_->resumed = true;
}

void RunSaves::save_asked(int pass, int64_t batches) {
  const std::string name = batch_directory(pass, batches);
  if (!can_save()) return log_.warning("a model is asked for, but train.save_dir is empty");
  if (making_) return log_.info("A model is being made already");
  if (!elect(name, SaveStage::kAsked) || ask_servers(name, -1)) return;
  try {
    save_now(name);
  } catch (const Error& error) {
    if (error.code() == Code::kUnavailable) throw;
    say_failed(name, error.message());
  }
}

void RunSaves::say_failed(const std::string& name, const std::string& why) {
  log_.error("cannot save ", name, ", training goes on: ", why);
}

// The first server elects, and knows from that when a pass is being saved.  Where there is etcd, its records are asked
// first, since they outlive that server; while only one of the two can be reached, its answer counts.
Saver RunSaves::ask_saver(SaveStage stage, const std::string& name) {
  bool etcd_elects = false;
  try {
    const Candidate candidate{strategy_.run().id(), strategy_.group().rank(), generation_};
    if (in_etcd_) {
      const Saver saver = ps::elect_saver(*in_etcd_, candidate, stage, name);
      if (!saver.elected) return saver;
      etcd_elects = true;
    }
  } catch (const Error& error) {
    log_.warning("who saves ", name, " is not asked in etcd: ", error.message());
  }
  try {
    return strategy_.run().elect_saver(stage, name);
  } catch (const StateLost&) {
    throw;
  } catch (const WaitStopped&) {
    throw;
  } catch (const Error& error) {
    if (!etcd_elects || error.code() != Code::kUnavailable) throw;
    return {true, strategy_.group().rank()};
  }
}

bool RunSaves::elect(const std::string& name, SaveStage stage) {
  const Saver saver = ask_saver(stage, name);
  if (!saver.elected) log_.info("Trainer ", saver.rank, " saves, or has saved, ", name);
  renewed_ = monotonic_seconds();
  return saver.elected;
}

// Reads the store row by row, while nothing may change it.
void RunSaves::save_now(const std::string& name) {
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

// Another task with this job file reads data of its own: it does not name those that were trained on.
void RunSaves::write_beside(const std::string& folder) const {
  if (vocabulary_) vocabulary_->save(join_path(folder, kModelVocabulary));
  Json job = effective_job(job_);
  job["data"]["files"] = job["data"]["test_files"] = Json::array();
  write_file(join_path(folder, kModelJob), job.dump(2) + "\n");
}

// A trainer that is not the saver any more learns it at the end.
void RunSaves::renew(const std::string& name) {
  if (monotonic_seconds() - renewed_ < to_seconds(kSaveLeaseLength) / 3) return;
  ask_saver(SaveStage::kGoesOn, name);
  renewed_ = monotonic_seconds();
}

// The model's own file comes last: with it, all is there.
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

// False when they give out no checkpoints.
bool RunSaves::ask_servers(const std::string& name, int64_t pass) {
  auto making = std::make_shared<Making>();
  making->name = name;
  making->pass = pass;
  making->asked = pass < 0;
  ServerCheckpoints* servers = strategy_.run().checkpoints();
  auto on_end = [making](const AskedCheckpoint& answer) { making->checkpoint = answer; };
  if (servers == nullptr || !servers->ask(pass, on_end)) return false;
  making_ = std::move(making);
  return true;
}

void RunSaves::go_on() {
  if (!making_) return;
  renew(making_->name);
  if (making_->can_go_on()) go_on_now();
}

// A model that a signal has asked for is not waited for where the servers have not begun it.
void RunSaves::finish() {
  constexpr double kLongest = 1;  // seconds
  while (making_ && (making_->checkpoint || !making_->asked)) {
    if (making_->made) {
      making_->made->over(kLongest);
    } else {
      strategy_.run().checkpoints()->wait([making = making_] { return making->can_go_on(); }, kLongest);
    }
    go_on();
  }
}

void RunSaves::go_on_now() {
  try {
    if (making_->folder.empty()) return begin_model();
    if (making_->made) return end_model();
    if (making_->not_taken) return ask_again(*making_->not_taken);
    make_model(join_path(making_->copies, making_->checkpoint->text));
  } catch (const StateLost&) {
    throw;
  } catch (const WaitStopped&) {
    throw;
  } catch (const Error& error) {
    if (!making_) throw;
    give_up(error);
  }
}

void RunSaves::begin_model() {
  const AskedCheckpoint& checkpoint = *making_->checkpoint;
  if (!checkpoint.counts && making_->resumed) return drop();  // it was saved then, or is lost
  if (!checkpoint.counts) return do_without_files(checkpoint.text);
  if (!step_of_folder(checkpoint.text)) {
    fail(Code::kData, "the servers' checkpoint is called ", quote(checkpoint.text));
  }
  making_->folder_name = making_->asked ? checkpoint.text : making_->name;
  making_->folder = begin_folder(making_->folder_name);
  write_beside(making_->folder);
  const std::string there = join_path(job_.checkpoint.directory, checkpoint.text);
  const std::optional<Manifest> seen = job_.checkpoint.directory.empty() ? std::nullopt : manifest_of(there);
  const bool is_it = seen && seen->generation == checkpoint.run;
  if (job_.train.load_save_parameters_in_pserver) {
    if (!is_it) fail(Code::kUnavailable, "the servers' files are not in ", quote(there));
    return seen->base ? make_model(there) : take_over_files(there, *seen);
  }
  if (is_it) return make_model(there);
  making_->copies = cat(making_->folder, ".parts-", making_->tries);
  strategy_.run().checkpoints()->copy(checkpoint, making_->copies,
                                      [making = making_](const std::optional<Error>& error) {
                                        making->not_taken = error;
                                        making->taken = !error;
                                      });
}

// A server that logs, and has come again in the midst of the copying, still has its files, or writes them
// again.
void RunSaves::ask_again(const Error& why) {
  constexpr int kMostTries = 10;
  if (why.code() != Code::kUnavailable) throw why;
  const std::shared_ptr<Making> last = making_;
  if (last->asked || last->tries == kMostTries || !ask_servers(last->name, last->pass)) {
    return do_without_files(why.message());
  }
  making_->resumed = last->resumed;
  making_->tries = last->tries + 1;
  log_.warning("the servers' files are asked for again: ", why.message());
}

// When training is over, the servers' rows still are what they were.  `why` is a copy: the text is often one of
// what is dropped here.
void RunSaves::do_without_files(std::string why) {
  const std::string name = making_->name;
  const bool asked = making_->asked;
  if (name != pass_directory(job_.train.passes - 1)) {
    drop();
    why = cat("the servers' files: ", why);
    if (!asked && num_failed_++ == 0) first_failure_ = cat(name, ": ", why);
    return say_failed(name, why);
  }
  log_.warning("the servers' files are not there, so rows are read one by one: ", why);
  making_ = nullptr;
  save_now(name);
}

// The servers have written the model; this process writes what makes it one.
void RunSaves::take_over_files(const std::string& checkpoint, const Manifest& manifest) {
  for (const FileEntry& file : manifest.files) {
    link_or_copy(join_path(checkpoint, file.path), join_path(making_->folder, file.path));
  }
  write_file(join_path(making_->folder, kManifestFile), encode_manifest(manifest));
  end_model();
}

void RunSaves::make_model(const std::string& checkpoint) {
  making_->made = std::make_unique<CheckpointSave>(
      checkpoint, join_path(making_->folder, kModelFile),
      making_->asked ? CheckpointSave::Of::kStep : CheckpointSave::Of::kPass);
}

void RunSaves::end_model() {
  if (making_->made && making_->made->error()) throw *making_->made->error();
  const std::shared_ptr<Making> ended = std::exchange(making_, nullptr);
  publish(ended->name, ended->folder_name);
}

void RunSaves::drop() {
  const std::shared_ptr<Making> dropped = std::exchange(making_, nullptr);
  ask_saver(SaveStage::kFailed, dropped->name);
}

// Training goes on without what a signal has asked for.
void RunSaves::give_up(const Error& error) {
  const std::shared_ptr<Making> ended = making_;
  drop();
  if (!ended->asked) throw error.within(cat("cannot save ", ended->name));
  say_failed(ended->name, error.message());
}

}  // namespace ps
