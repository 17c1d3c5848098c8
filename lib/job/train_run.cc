#include "job/train_run.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/spec.h"
#include "data/reader.h"
#include "job/fingerprint.h"
#include "job/run_checkpoints.h"
#include "job/run_rest.h"
#include "job/run_saves.h"
#include "job/run_validation.h"
#include "job/start_weights.h"
#include "job/task_run.h"
#include "ps/client/shard_links.h"
#include "train/model_file.h"

namespace ps {

namespace {

// Trains: all passes, with validation, models and checkpoints, and the data of lost trainers.  One owner thread.
class TrainRun final : TaskRun {
 public:
  // `models` has the models of this run and of the process's earlier runs.
  TrainRun(const Job& job, const RunOptions& options, ServerFinder& servers, PassModels& models, Log& log)
      : TaskRun(job, options, servers, log), models_(models) {}

  bool train();

 private:
  bool train_whole();
  bool train_or_leave(Json& result);
  bool train_passes(Json& result);
  void open_validation();
  bool was_finished() const;
  void start_checkpoints(Json& result);
  void write_checkpoint(const Json& result);
  void after_batch(bool stopping, const Json& result);
  void end_finished();
  void test_pass(int pass, Json& result);
  void save_interrupted(int pass, int64_t batches);
  void report_rows(Json& pass);

  PassModels& models_;
  Input test_input_;
  std::unique_ptr<RunValidation> validation_;    // null: the job has no validation data
  std::unique_ptr<RunCheckpoints> checkpoints_;  // null: this process writes no checkpoints
  std::unique_ptr<RunSaves> saves_;              // saves models of training
  std::unique_ptr<RunRest> rest_;                // the data of lost trainers that this one takes over

  // Asked after each batch, and while it waits for one.  Each call also tells the servers that this trainer
  // lives, and continues the models that are being made.
  const std::function<bool()> stop_ = [this] {
    running_->keep_alive();
    if (saves_) saves_->go_on();
    return told_to_stop();
  };
};

// Trains.  After any failure a reader tells its compute trainers that it ends, unless it goes back to a
// checkpoint.
bool TrainRun::train() {
  try {
    return train_whole();
  } catch (const StateLost&) {
    throw;
  } catch (const Error&) {
    if (reader_part_) reader_part_->end_run();
    throw;
  }
}

// Opens the data, builds the run, and sets up saving, checkpoints and the data of lost trainers; then trains
// all passes.  Models that servers make are finished before the results are printed, and failures to save are
// thrown last.
bool TrainRun::train_whole() {
  const double start = monotonic_seconds();
  check_validation(job_);
  input_.reader = data_.make_reader(
      job_.data.files, job_.data.shuffle, job_.train.passes,
      {.rank = options_.rank, .trainers = job_.cluster.ranks(), .accumulate = job_.train.accumulate},
      DataPart::kTraining);
  build();
  if (job_.data.validates()) open_validation();
  if (!job_.data.test_files.empty()) {
    test_input_.reader = data_.make_reader(job_.data.test_files, "none", job_.train.passes);
    test_input_.reader->check_labels([this](float label) { network_->check_label(label); });
  }
  if (say_plan()) return true;
  if (was_finished()) {
    models_.check();
    return true;
  }
  if (test_input_.reader) test_input_.source = make_source(*test_input_.reader);
  if (validation_) validation_->set_source(make_source(validation_->reader()));
  saves_ = std::make_unique<RunSaves>(job_, options_, strategy(), servers_.etcd(), network_->parameters(),
                                      data_.vocabulary(), models_, log_);
  if (leads()) saves_->prepare();
  log_.info("Training with ", options_.threads, " threads and ", cpu_level_name(options_.cpu), " kernels");
  Json result = {{"job", job_.job.name}, {"seed", job_.job.seed}, {"cpu", cpu_level_name(options_.cpu)}};
  start_checkpoints(result);
  trainer_->on_batch([&](bool stopping) { after_batch(stopping, result); });
  trainer_->on_pass_end([this] { saves_->finish(); });
  rest_ = std::make_unique<RunRest>(
      job_, data_, *network_, strategy().run(), *input_.reader,
      [this](BatchReader& reader) { return make_source(reader); }, log_);
  trainer_->on_source_end([this](int pass) { return rest_->next(pass); });
  const RunPosition position = strategy().run().position();
  if (position.resumed && leads()) saves_->resume(position.pass - 1);
  const bool finished = train_or_leave(result);
  saves_->finish();
  const Json counters = strategy().counters();
  if (reader_part_) reader_part_->describe(result);
  if (const int64_t dropped = counters.value("pushes_dropped", int64_t{0}); dropped > 0) {
    log_.warning(dropped, " pushes came later than train.strategy.max_lag allows, and were dropped");
  }
  result.update(counters);
  if (const uint64_t bytes = running_->example_bytes_sent(); bytes > 0) result["example_bytes_sent"] = bytes;
  result["peak_memory_bytes"] = peak_memory_bytes();
  result["seconds"] = monotonic_seconds() - start;
  print_result(std::move(result));
  models_.check();
  if (checkpoints_) checkpoints_->check();
  if (reader_part_) reader_part_->end_run();
  if (!finished) strategy().run().leave_run();
  return finished;
}

// Opens the part of the data that is kept for validation.
void TrainRun::open_validation() {
  if (input_.reader->may_wait()) {
    fail(Code::kUsage, "data.validation: pipes cannot be read a second time for validation: give files");
  }
  validation_ = std::make_unique<RunValidation>(
      job_.train, *network_,
      data_.make_reader(job_.data.files, "none", job_.train.passes, {0, 1}, DataPart::kValidation), log_);
  validation_->reader().check_labels([this](float label) { network_->check_label(label); });
  if (job_.train.calibrate == "none" || network_->predicts_probability()) return;
  fail(Code::kUsage, "train.calibrate: the cost ", job_.model.cost.value("type", ""),
       " predicts no probability of label 1: binary_cross_entropy and focal do");
}

// Trains all passes.  A process that fails leaves the run, so that the other trainers hear of it, unless all
// are to go back to a checkpoint.
bool TrainRun::train_or_leave(Json& result) {
  try {
    return train_passes(result);
  } catch (const StateLost&) {
    throw;
  } catch (const Error& error) {
    running_->note_error(error);
    strategy().run().leave_run();
    throw;
  }
}

// Returns true if the servers had ended the run before this process came, as after a restart at the very
// end.  A reader then has no connection to its compute trainers, but still tells them that it will not
// come.
bool TrainRun::was_finished() const {
  if (!strategy().run().finished()) return false;
  const int64_t passes = strategy().run().finished_passes();
  if (passes < job_.train.passes) {
    log_.info("The run has ended early, after ", passes, " of ", job_.train.passes,
              " passes: there is nothing left to train");
  } else {
    log_.info("All ", job_.train.passes, " passes are done: the run has ended");
  }
  if (options_.role == "reader") end_run_of_reader(job_, options_, input_.reader->schema(), *running_);
  return true;
}

// Sets up the checkpoints of a job without servers; servers write their own.  Resumes from the newest one if
// that is asked for.  `result` must stay at its address.
void TrainRun::start_checkpoints(Json& result) {
  result["passes"] = Json::array();
  if (strategy().local() == nullptr || job_.checkpoint.directory.empty()) return;
  checkpoints_ =
      std::make_unique<RunCheckpoints>(job_, options_, input_.reader->schema(), strategy(), *trainer_, log_);
  if (PeerCheckpoints* peers = strategy().run().peer_checkpoints()) {
    peers->on_checkpoint([this] { return checkpoints_->due(); },
                         [this, &result] { checkpoints_->write(result); });
  }
  if (!options_.resume) {
    checkpoints_->begin_new();
  } else if (!checkpoints_->resume(result)) {
    load_start_weights(options_, network_->parameters(), strategy().store());
  }
}

// With several trainers a checkpoint belongs to a step that all make, so there PeerCheckpoints calls write.
// A process alone writes here, and also when it is told to stop, so that it can resume at this batch.
void TrainRun::after_batch(bool stopping, const Json& result) {
  const bool alone = checkpoints_ && strategy().run().peer_checkpoints() == nullptr;
  if (alone && (stopping || checkpoints_->due())) checkpoints_->write(result);
  if (!stopping && options_.checkpoint_asked()) write_checkpoint(result);
  if (!stopping && options_.save_asked())
    saves_->save_asked(trainer_->progress().pass(), trainer_->progress().batches());
}

// Writes a checkpoint that a signal has asked for.  Servers, and several trainers without servers, write it
// after one of the next steps.
void TrainRun::write_checkpoint(const Json& result) {
  PeerCheckpoints* peers = strategy().run().peer_checkpoints();
  if (checkpoints_ && peers != nullptr) return peers->ask();
  if (checkpoints_) return checkpoints_->write(result);
  ServerCheckpoints* servers = strategy().run().checkpoints();
  auto on_end = [this](const AskedCheckpoint& answer) {
    if (answer.counts) return log_.info("The servers have written checkpoint ", answer.text);
    log_.error("the servers have not written a checkpoint: ", answer.text);
  };
  const bool asked = !job_.checkpoint.directory.empty() && servers != nullptr && servers->ask(-1, on_end);
  if (!asked) log_.warning("a checkpoint is asked for, but checkpoint.directory is empty");
}

// Ends a process without servers that resumes after its last pass; the model of that pass may not have been
// saved.
void TrainRun::end_finished() {
  log_.info("All ", job_.train.passes, " passes are done: there is nothing left to train");
  const int last = job_.train.passes - 1;
  const std::string model = join_path(job_.train.save_dir, pass_directory(last));
  if (last < 0 || job_.train.save_dir.empty() || exists(join_path(model, kModelFile))) return;
  saves_->save_pass(last);
}

// Trains pass after pass.  After each, the leader measures it on the validation data, saves and tests the
// model, and a checkpoint follows.  An interrupted pass is saved only if this trainer leads.
bool TrainRun::train_passes(Json& result) {
  if (options_.resume && strategy().local() != nullptr && trainer_->progress().pass() >= job_.train.passes)
    end_finished();
  if (validation_) validation_->restore(*trainer_, result["passes"]);
  if (validation_) validation_->share(*trainer_, strategy().group(), stop_);
  for (int pass = trainer_->progress().pass();
       pass < job_.train.passes && !(validation_ && validation_->stops()); ++pass) {
    PassResult trained = trainer_->train_pass(pass, rest_->first(pass, *input_.source), stop_);
    // The leader is the lowest rank that lives, so a rank above 0 leads only when those below it are lost.
    if (leads() && options_.rank > 0)
      log_.warning("trainers below this one are gone: it saves in their place");
    result["passes"].push_back(trained.json());
    if (input_.reader->bad_lines() > 0)
      log_.warning("skipped ", input_.reader->bad_lines(), " bad lines in pass ", pass);
    if (trained.interrupted) {
      // Other trainers may still work on this batch.  Before the leader saves, all must have it; for the others
      // it is enough that the push is on its way.
      strategy().settle(leads() ? 3 : 1);
      if (leads()) save_interrupted(pass, trained.batches);
      return false;
    }
    if (leads()) report_rows(result["passes"].back());
    const bool best =
        validation_ && validation_->end_pass(*trainer_, pass, leads(), stop_, result["passes"].back());
    const bool saves = job_.train.saves_after(pass) || (best && !job_.train.save_dir.empty());
    if (leads() && saves) {
      const double start = monotonic_seconds();
      if (validation_) saves_->set_calibration(validation_->calibration());
      if (saves_->save_pass(pass)) result["passes"].back()["save_seconds"] = monotonic_seconds() - start;
      if (best) saves_->link_best(pass);
    }
    if (test_input_.source && leads()) test_pass(pass, result);
    if (stop_()) return false;
    if (checkpoints_) checkpoints_->write(result);
  }
  saves_->finish();
  if (validation_ && leads()) validation_->report(result);
  strategy().run().end_run();
  return true;
}

// Tests the model of a pass, with its calibration, if it has one.
void TrainRun::test_pass(int pass, Json& result) {
  if (validation_) network_->calibrate(validation_->calibration());
  result["test"] = trainer_->test(pass, *test_input_.source, stop_).json();
  network_->calibrate(std::nullopt);
}

void TrainRun::save_interrupted(int pass, int64_t batches) {
  if (trainer_->progress().step() == 0) return log_.info("Nothing was trained, so that no model is saved");
  if (!strategy().store().has_all_rows())
    return log_.warning("No model is saved: rows are on devices of trainers that have ended otherwise");
  saves_->save(batch_directory(pass, batches));
}

// Reports the tables with row policies.
void TrainRun::report_rows(Json& pass) {
  for (size_t p = 0; p < network_->parameters().size(); ++p) {
    const ParameterSpec& spec = network_->parameters()[p];
    if (!spec.row_policy) continue;
    const RowReport report = strategy().store().row_report(static_cast<int>(p));
    log_.info("Rows of ", quote(spec.name), ": ", report.rows, ", waiting=", report.waiting,
              " created=", report.created, " expired=", report.expired, " evicted=", report.evicted,
              " refused=", report.refused);
    pass["rows"][spec.name] = RowReport::spec().to_json(report);
  }
}

}  // namespace

bool train_job(const Job& job, RunOptions options, ServerFinder& servers, Log& log) {
  PassModels models;
  for (;; ++options.generation) {
    try {
      return TrainRun(job, options, servers, models, log).train();
    } catch (const StateLost& lost) {
      if (!lost.checkpointed() || options.stop()) throw;
      if (reads_standard_input(job)) {
        throw lost.within("the run cannot go back, as standard input cannot be read again");
      }
      log.warning("going back to the last checkpoint: ", lost.message());
      options.lost_run = lost.run();
    }
  }
}

}  // namespace ps
