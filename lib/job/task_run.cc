#include "job/task_run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "feed/reader_source.h"
#include "job/fingerprint.h"
#include "job/model_placement.h"
#include "job/run_plan.h"
#include "job/run_saves.h"
#include "job/start_weights.h"
#include "train/accumulated_computation.h"
#include "train/emulated_computation.h"
#include "train/model_file.h"

namespace ps {

std::unique_ptr<BatchSource> TaskRun::make_source(BatchReader& reader) const {
  const ReaderSource::Options options{options_.threads, store().may_wait(),
                                      std::max<size_t>(1, store().looks_ahead())};
  return std::make_unique<ReaderSource>(*network_, reader, options);
}

// Builds the network, then the strategy and its connections, then reporter and trainer, and the computation
// that the options ask for.  Finally the run gets its weights: it resumes if servers tell a position, or the
// trainers that need to load weights do so while the others wait.
void TaskRun::build() {
  const DataSchema& schema = input_.reader->schema();
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
  begin_reporting();
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
  choose_computation();
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

void TaskRun::begin_reporting() {
  reporter_ = leads() ? std::make_unique<Reporter>(log_, options_.progress, options_.metrics,
                                                   options_.resume || options_.lost_run != 0)
                      : std::make_unique<Reporter>(quiet_log_, ProgressMode::kOff, "");
  if (!job_.train.log_period) reporter_->space_batches(1);
  if (options_.on_report) reporter_->on_report(options_.on_report);
  if (options_.progressive) reporter_->show_progressive();
}

// Makes the computation that the options ask for in place of that of the trainer.
void TaskRun::choose_computation() {
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
}

// Connects the trainers that shuffle together.  Without such connections each of them reads all examples.
void TaskRun::exchange_examples(const DataSchema& schema) {
  const bool together = data_.options().shuffle == "global" && job_.cluster.ranks() > 1;
  if (!together || options_.task != "train" || strategy().run().finished()) return;
  if (auto exchange = running_->exchange_examples(job_, options_, schema))
    input_.reader->exchange_through(std::move(exchange));
}

// Resumes at the position of the rank's earlier process.
void TaskRun::resume() {
  const RunPosition position = strategy().run().position();
  log_.info("Resuming in pass ", position.pass, " after ", position.pass_batches, " batches",
            position.pass_ended ? ", at its end" : "");
  trainer_->progress().resume(position, strategy().run().restored_states());
}

// Logs the plan of a dry run; returns false if this is none.
bool TaskRun::say_plan() {
  if (!options_.dry_run) return false;
  const Json tables = log_run_plan(job_, options_, *network_, *input_.reader, log_);
  if (!tables.is_null()) print_result({{"job", job_.job.name}, {"tables", tables}});
  return true;
}

void TaskRun::print_result(Json result) {
  if (options_.on_result) return options_.on_result(result);
  if (options_.json && leads()) std::printf("%s\n", result.dump().c_str());
}

}  // namespace ps
