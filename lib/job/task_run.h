// TaskRun: one run of a task of ps-train, with the parts that every task has, in the order in which they are built.  Used by
// run.cc, for tests and predictions, and by train_run.cc.
#ifndef PS_JOB_TASK_RUN_H_
#define PS_JOB_TASK_RUN_H_

#include <memory>

#include "base/log.h"
#include "config/json.h"
#include "feed/batch_source.h"
#include "job/compute.h"
#include "job/job.h"
#include "job/run_options.h"
#include "job/start_strategy.h"
#include "job/task_data.h"
#include "membership/server_finder.h"
#include "model/network.h"
#include "train/trainer.h"

namespace ps {

// One owner thread.
class TaskRun {
 protected:
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

  TaskRun(const Job& job, const RunOptions& options, ServerFinder& servers, Log& log)
      : job_(job),
        options_(options),
        servers_(servers),
        log_(log),
        devices_{{options.threads, options.cpu}, nullptr},
        data_(job, options, log) {}
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;
  ~TaskRun() = default;

  std::unique_ptr<BatchSource> make_source(BatchReader& reader) const;

  // Builds all parts for the data of input_, whose reader is there.
  void build();

  // Logs the plan of a dry run; returns false if this is none.
  bool say_plan();

  void print_result(Json result);

  // Returns true for the one trainer that reports, tests and saves for all.
  bool leads() const { return options_.rank == (running_ ? strategy().group().leader() : 0); }
  Strategy& strategy() const { return **running_; }

  // Returns true if this process, or all of the run, is to end.
  bool told_to_stop() { return strategy().run().stops(options_.stop()); }

  const Job& job_;
  const RunOptions& options_;
  ServerFinder& servers_;
  Log& log_;
  Devices devices_;
  TaskData data_;
  std::unique_ptr<Network<float>> network_;
  Input input_;  // the readers' threads use the network, so they end before it
  Log quiet_log_{"ps-train", LogLevel::kWarning};
  std::unique_ptr<RunningStrategy> running_;
  std::unique_ptr<Computation> computation_;  // set with train.emulated_compute or train.accumulate
  std::unique_ptr<ReaderPart> reader_part_;   // set if this process is a reader
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Trainer> trainer_;

 private:
  void exchange_examples(const DataSchema& schema);
  void begin_reporting();
  void choose_computation();
  ParameterStore& store() const { return reader_part_ ? reader_part_->store() : strategy().store(); }
  void resume();
};

}  // namespace ps

#endif  // PS_JOB_TASK_RUN_H_
