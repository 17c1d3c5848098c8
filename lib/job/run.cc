#include "job/run.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/spec.h"
#include "data/output.h"
#include "data/reader.h"
#include "feed/reader_source.h"
#include "job/class_names.h"
#include "job/compute.h"
#include "job/convert.h"
#include "job/fingerprint.h"
#include "job/importance.h"
#include "job/model_placement.h"
#include "job/run_checkpoints.h"
#include "job/run_page.h"
#include "job/run_plan.h"
#include "job/run_rest.h"
#include "job/run_saves.h"
#include "job/run_validation.h"
#include "job/start_strategy.h"
#include "job/start_weights.h"
#include "job/task_data.h"
#include "job/test_intervals.h"
#include "ps/client/shard_links.h"
#include "train/accumulated_computation.h"
#include "train/emulated_computation.h"
#include "train/model_file.h"
#include "train/trainer.h"

namespace ps {

namespace {

constexpr int kManyPasses = 2;  // with this many passes or more, readers keep the data in memory, if they fit

// One run of one job, with all its parts in the order in which they are built.  One owner thread.
class Run {
 public:
  // `models` has the models of this run and of the process's earlier runs.
  Run(const Job& job, const RunOptions& options, ServerFinder& servers, PassModels& models, Log& log)
      : job_(job),
        options_(options),
        servers_(servers),
        models_(models),
        log_(log),
        devices_{{options.threads, options.cpu}, nullptr},
        data_(job, options, log) {}

  bool train();
  bool test();
  bool predict();

 private:
  // The data of a task, and the source of their batches.
  struct Input {
    std::unique_ptr<BatchReader> reader;
    std::unique_ptr<BatchSource> source;
  };

  struct Devices {
    Device own;                     // the threads of this process
    std::unique_ptr<Device> model;  // null: the model is computed on `own`

    Device& computing() { return model ? *model : own; }
  };

  std::unique_ptr<BatchSource> make_source(BatchReader& reader) const;
  void build(const DataSchema& schema);
  void exchange_examples(const DataSchema& schema);
  ParameterStore& store() const { return reader_part_ ? reader_part_->store() : strategy().store(); }
  void resume();
  void write_checkpoint(const Json& result);
  void after_batch(bool stopping, const Json& result);
  void start_checkpoints(Json& result);
  bool was_finished() const;
  bool train_whole();
  bool train_passes(Json& result);
  bool train_or_leave(Json& result);
  void open_validation();
  void end_finished();
  void save_interrupted(int pass, int64_t batches);
  void test_pass(int pass, Json& result);
  void report_rows(Json& pass);
  void print_result(Json result);

  // Returns true for the one trainer that reports, tests and saves for all.
  bool leads() const { return options_.rank == (running_ ? strategy().group().leader() : 0); }
  bool say_plan(BatchReader& reader);
  bool measure_importance(const std::vector<std::string>& paths);
  Strategy& strategy() const { return **running_; }

  const Job& job_;
  const RunOptions& options_;
  ServerFinder& servers_;
  PassModels& models_;
  Log& log_;
  Devices devices_;
  TaskData data_;
  std::unique_ptr<Network<float>> network_;
  Input input_, test_input_;  // the readers' threads use the network, so they end before it
  Log quiet_log_{"ps-train", LogLevel::kWarning};
  std::unique_ptr<RunningStrategy> running_;
  std::unique_ptr<Computation> computation_;  // set with train.emulated_compute or train.accumulate
  std::unique_ptr<ReaderPart> reader_part_;   // set if this process is a reader
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<RunValidation> validation_;    // null: the job has no validation data
  std::unique_ptr<RunCheckpoints> checkpoints_;  // null: this process writes no checkpoints
  std::unique_ptr<RunSaves> saves_;              // saves models of training
  std::unique_ptr<RunRest> rest_;                // the data of lost trainers that this one takes over

  // Asked after each batch, and while it waits for one.  Each call also tells the servers that this trainer
  // lives, and continues the models that are being made.
  const std::function<bool()> stop_ = [this] {
    running_->keep_alive();
    if (saves_) saves_->go_on();
    return strategy().run().stops(options_.stop());
  };
};

std::unique_ptr<BatchSource> Run::make_source(BatchReader& reader) const {
  const ReaderSource::Options options{options_.threads, store().may_wait(),
                                      std::max<size_t>(1, store().looks_ahead())};
  return std::make_unique<ReaderSource>(*network_, reader, options);
}

// Builds the network, then the strategy and its connections, then reporter and trainer, and the computation
// that the options ask for.  Finally the run gets its weights: it resumes if servers tell a position, or the
// trainers that need to load weights do so while the others wait.
void Run::build(const DataSchema& schema) {
  network_ = std::make_unique<Network<float>>(job_.model, schema, job_.job.seed);
  if (options_.task == "train") network_->calibrate(std::nullopt);
  check_has_model(job_, options_, network_->parameters());
  if (data_.options().label_use == LabelUse::kNeeded)
    input_.reader->check_labels([this](float label) { network_->check_label(label); });
  if (options_.dry_run) return;
  ModelPlacement placement;
  devices_.model = place_model(job_, *network_, devices_.own, placement, log_);
  running_ =
      start_strategy(job_, options_, schema, network_->parameters(), servers_, devices_.own, placement, log_);
  if (find_strategy(job_.train.strategy).divides_layers) network_->divide_over(strategy().peers());
  exchange_examples(schema);
  reporter_ = leads() ? std::make_unique<Reporter>(log_, options_.progress, options_.metrics,
                                                   options_.resume || options_.lost_run != 0)
                      : std::make_unique<Reporter>(quiet_log_, ProgressMode::kOff, "");
  if (!job_.train.log_period) reporter_->space_batches(1);
  if (options_.on_report) reporter_->on_report(options_.on_report);
  if (options_.progressive) reporter_->show_progressive();
  if (options_.role == "reader" && !strategy().run().finished()) {
    reader_part_ =
        std::make_unique<ReaderPart>(job_, options_, schema, *running_, *network_, devices_.own, log_);
  }
  trainer_ = std::make_unique<Trainer>(*network_, store(), devices_.computing(), job_.train,
                                       strategy().group(), *reporter_);
  input_.source = make_source(*input_.reader);
  trainer_->on_shrink_request([this] {
    const bool asked = options_.shrink_asked();
    if (asked) log_.info("Shrinking tables after this step, as was asked");
    return asked;
  });
  const bool reads_servers = has_servers(job_) && options_.task != "train";
  if (reads_servers || strategy().run().finished()) return;
  const bool trains_alone = options_.task == "train" && options_.role == "trainer";
  if (const auto seconds = job_.train.emulated_seconds(); seconds && trains_alone) {
    log_.warning("train.emulated_compute: batches are waits, and the weights of this run mean nothing");
    const double seconds_of_step = *seconds * static_cast<double>(job_.train.accumulate);
    computation_ = std::make_unique<EmulatedComputation>(seconds_of_step, network_->parameters(),
                                                         figure_sizes(*network_));
  } else if (job_.train.accumulate > 1 && trains_alone) {
    computation_ = std::make_unique<AccumulatedComputation>(*network_, devices_.computing(),
                                                            job_.train.accumulate, job_.data.batch_size);
  }
  if (computation_) trainer_->compute_with(*computation_);
  if (reader_part_) trainer_->compute_with(reader_part_->computation());
  if (ServerCheckpoints* servers = strategy().run().checkpoints()) {
    servers->on_checkpoint([this](std::string& out) { trainer_->progress().save_figures(out); });
  }
  if (strategy().run().position().resumed) return resume();
  if (leads() && options_.task == "train" && !options_.resume && options_.lost_run == 0)
    check_no_models(job_.train.save_dir);
  // A process without servers that resumes gets its weights from a checkpoint, in start_checkpoints, and
  // loads none here.
  const bool may_resume = options_.resume && strategy().local() != nullptr;
  const bool holds_all = strategy().local() != nullptr;
  if ((leads() || holds_all) && !may_resume)
    load_start_weights(options_, network_->parameters(), strategy().store());
  strategy().group().barrier();
}

// Connects the trainers that shuffle together.  Without such connections each of them reads all examples.
void Run::exchange_examples(const DataSchema& schema) {
  const bool together = data_.options().shuffle == "global" && job_.cluster.ranks() > 1;
  if (!together || options_.task != "train" || strategy().run().finished()) return;
  if (auto exchange = running_->exchange_examples(job_, options_, schema))
    input_.reader->exchange_through(std::move(exchange));
}

// Resumes at the position of the rank's earlier process.
void Run::resume() {
  const RunPosition position = strategy().run().position();
  log_.info("Resuming in pass ", position.pass, " after ", position.pass_batches, " batches",
            position.pass_ended ? ", at its end" : "");
  trainer_->progress().resume(position, strategy().run().restored_states());
}

// Logs the plan of a dry run; returns false if this is none.
bool Run::say_plan(BatchReader& reader) {
  if (!options_.dry_run) return false;
  const Json tables = log_run_plan(job_, options_, *network_, reader, log_);
  if (!tables.is_null()) print_result({{"job", job_.job.name}, {"tables", tables}});
  return true;
}

// Trains.  After any failure a reader tells its compute trainers that it ends, unless it goes back to a
// checkpoint.
bool Run::train() {
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
bool Run::train_whole() {
  const double start = monotonic_seconds();
  check_validation(job_);
  input_.reader = data_.make_reader(
      job_.data.files, job_.data.shuffle, job_.train.passes,
      {.rank = options_.rank, .trainers = job_.cluster.ranks(), .accumulate = job_.train.accumulate},
      DataPart::kTraining);
  build(input_.reader->schema());
  if (job_.data.validates()) open_validation();
  if (!job_.data.test_files.empty()) {
    test_input_.reader = data_.make_reader(job_.data.test_files, "none", job_.train.passes);
    test_input_.reader->check_labels([this](float label) { network_->check_label(label); });
  }
  if (say_plan(*input_.reader)) return true;
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
void Run::open_validation() {
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
bool Run::train_or_leave(Json& result) {
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
bool Run::was_finished() const {
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
void Run::start_checkpoints(Json& result) {
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
void Run::after_batch(bool stopping, const Json& result) {
  const bool alone = checkpoints_ && strategy().run().peer_checkpoints() == nullptr;
  if (alone && (stopping || checkpoints_->due())) checkpoints_->write(result);
  if (!stopping && options_.checkpoint_asked()) write_checkpoint(result);
  if (!stopping && options_.save_asked())
    saves_->save_asked(trainer_->progress().pass(), trainer_->progress().batches());
}

// Writes a checkpoint that a signal has asked for.  Servers, and several trainers without servers, write it
// after one of the next steps.
void Run::write_checkpoint(const Json& result) {
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
void Run::end_finished() {
  log_.info("All ", job_.train.passes, " passes are done: there is nothing left to train");
  const int last = job_.train.passes - 1;
  const std::string model = join_path(job_.train.save_dir, pass_directory(last));
  if (last < 0 || job_.train.save_dir.empty() || exists(join_path(model, kModelFile))) return;
  saves_->save_pass(last);
}

// Trains pass after pass.  After each, the leader measures it on the validation data, saves and tests the
// model, and a checkpoint follows.  An interrupted pass is saved only if this trainer leads.
bool Run::train_passes(Json& result) {
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
void Run::test_pass(int pass, Json& result) {
  if (validation_) network_->calibrate(validation_->calibration());
  result["test"] = trainer_->test(pass, *test_input_.source, stop_).json();
  network_->calibrate(std::nullopt);
}

void Run::save_interrupted(int pass, int64_t batches) {
  if (trainer_->progress().step() == 0) return log_.info("Nothing was trained, so that no model is saved");
  if (!strategy().store().has_all_rows())
    return log_.warning("No model is saved: rows are on devices of trainers that have ended otherwise");
  saves_->save(batch_directory(pass, batches));
}

// Reports the tables with row policies.
void Run::report_rows(Json& pass) {
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

// Tests on data.test_files, or on data.files if there are none.  The measurement of importance goes through
// the data once for each slot, so that readers are told of kManyPasses, and keep the data in memory if they
// fit.
bool Run::test() {
  const double start = monotonic_seconds();
  const auto& paths = job_.data.test_files.empty() ? job_.data.files : job_.data.test_files;
  input_.reader = data_.make_reader(paths, "none", options_.importance.empty() ? 1 : kManyPasses);
  build(input_.reader->schema());
  if (say_plan(*input_.reader)) return true;
  if (!options_.importance.empty()) return measure_importance(paths);
  Json result = {{"job", job_.job.name},
                 {"seed", job_.job.seed},
                 {"cpu", cpu_level_name(options_.cpu)},
                 {"passes", Json::array()}};
  result["test"] =
      test_model(options_, job_.job.seed, *network_, *trainer_, devices_.own, *input_.source, stop_);
  result["peak_memory_bytes"] = peak_memory_bytes();
  result["seconds"] = monotonic_seconds() - start;
  print_result(std::move(result));
  return !options_.stop();
}

// Measures the importance of slots.  The data are read once for each slot, and once more; a second reader gives
// the same examples in another order.
bool Run::measure_importance(const std::vector<std::string>& paths) {
  const bool standard_input = paths.empty() || std::ranges::find(paths, "-") != paths.end();
  if (standard_input || input_.reader->may_wait()) {
    fail(Code::kUsage, "--importance: a pipe cannot be read once for each slot: give files");
  }
  test_input_.reader = data_.make_reader(paths, "window", kManyPasses);
  SwappedSlotSource swapped(*network_, *input_.reader, *test_input_.reader);
  const Json importance =
      slot_importance(*trainer_, *network_, options_.importance, *input_.source, swapped, stop_);
  const std::string text = options_.json ? importance.dump() + "\n" : importance_text(importance);
  std::fputs(text.c_str(), stdout);
  return !options_.stop();
}

// Writes a line for each example, in the order of the input.  `open` turns false when the reader of the
// output has closed it, as head(1) does; that ends the run like a stop, without an error.
bool Run::predict() {
  input_.reader = data_.make_reader(job_.data.files, "none", 1);
  build(input_.reader->schema());
  if (network_->predicts_costs() && !data_.options().labelled()) {
    fail(Code::kUsage, "data.labels: false, but what this network predicts is the cost of the label");
  }
  if (say_plan(*input_.reader)) return true;
  OutputStream output(options_.output, Compression::kNone, /*binary=*/false);
  bool open = true;
  Trainer::AppendPredictions append;  // null: numbers
  if (options_.output_format == "names") {
    append = [names = ClassNames(data_.options(), network_->prediction_cols())](
                 std::span<const float> predictions, std::string& out) { names.append(predictions, out); };
  }
  int64_t samples = trainer_->predict(
      *input_.source, [&] { return !open || stop_(); },
      [&](std::string_view lines) { open = output.write(lines); }, append);
  output.finish();
  const DataOptions& data = data_.options();
  const std::vector<std::string>& classes =
      data.csv.classes.empty() ? data.fasttext.classes : data.csv.classes;
  const bool names = !classes.empty() && !data.has_own_labels();
  log_.info("Predicted samples=", samples, !names ? "" : cat(" of classes ", join(classes, ", ")));
  return !options_.stop();
}

void Run::print_result(Json result) {
  if (options_.on_result) return options_.on_result(result);
  if (options_.json && leads()) std::printf("%s\n", result.dump().c_str());
}

// Trains.  If servers have lost state of the run, all trainers go back to the last checkpoint, and read the
// data from there again.
bool train_with_recovery(const Job& job, RunOptions options, ServerFinder& servers, Log& log) {
  PassModels models;
  for (;; ++options.generation) {
    try {
      return Run(job, options, servers, models, log).train();
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

bool run_task(const Job& job, const RunOptions& options, ServerFinder& servers, Log& log) {
  if (options.task == "train") return train_with_recovery(job, options, servers, log);
  if (options.task == "convert") return convert_data(job, options, log);
  PassModels models;
  Run run(job, options, servers, models, log);
  if (options.task == "test") return run.test();
  return run.predict();
}

}  // namespace

// Checks first that the process may have this part, before anything is opened.  Then it opens the page,
// which already shows the servers for which the process waits, and the finder of servers, which outlives
// the runs that go back to a checkpoint.
bool run_job(const Job& job, const RunOptions& asked, Log& log) {
  RunOptions options = asked;
  check_part(job, options);
  check_role(job, options);
  std::optional<RunPage> page;
  if (options.status_port && !options.dry_run) {
    page.emplace(job, options, log);
    options.on_report = [&page](const Json& report) { page->add(report); };
  }
  const ClusterOptions& cluster = job.cluster;
  ServerFinder servers({.servers = server_addresses(job),
                        .discovery = cluster.discovery,
                        .tls = options.security.etcd,
                        .num_servers = cluster.num_servers,
                        .timeout = cluster.server_timeout,
                        .stop = options.stop,
                        .on_missing = [missing = options.missing_servers](
                                          const std::string& message) { missing->note("", message); }},
                       log);
  try {
    return run_task(job, options, servers, log);
  } catch (const WaitStopped& stopped) {
    log.info(stopped.message());
    return false;
  }
}

}  // namespace ps
