// TrainProcess: runs ps-train on a job, from its start to its end.  Used by the suite `process`.
#ifndef PS_BENCH_PROCESS_TRAIN_PROCESS_H_
#define PS_BENCH_PROCESS_TRAIN_PROCESS_H_

#include <string>
#include <vector>

#include "bench/process/child.h"
#include "bench/process/files.h"
#include "config/fwd.h"

namespace ps {

// The report of ps-train --json on a job, and the resources that the process used.
struct TrainRun {
  struct Pass {
    uint64_t samples = 0;
    double cost = 0, seconds = 0;
    double save_seconds = 0;  // 0: this pass was not saved
  };
  std::vector<Pass> passes;
  uint64_t rows = 0;              // number of rows of sparse parameters in the last model
  Usage usage;                    // processor time of the trainer and the server; peak of the trainer alone
  double server_cpu_seconds = 0;  // the server's share of the processor time; 0 without a server
};

// Runs ps-train on one job.  One owner thread.  Its files are removed when it is destroyed.
class TrainProcess {
 public:
  // `job` is a job file of ps-job(5) without files of data.  With `one_core` the programs run on one core.
  // Throws kUnavailable where there is no ps-train.
  TrainProcess(const BenchSettings& settings, const Json& job, bool one_core);

  // Trains, and saves models where the job says.
  void train(const std::string& data);

  // Trains through a server of one port on this machine, which starts before ps-train and ends after it.
  void train_served(const std::string& data);

  // Returns the average loss of the model of the last train() on other data.
  double test(const std::string& data) const;

  // Returns the result of the last train(), with its model read back.  Throws kInternal when there was none.
  TrainRun result() const;

  // Returns the bytes of the file of the last model.
  std::string model_bytes() const;

 private:
  Command command(const std::string& data) const;
  Command training(const std::string& data) const;
  std::string model() const;

  const std::string programs_, program_;
  const int threads_, passes_;
  const bool one_core_;
  const TemporaryFolder folder_;
  Usage usage_;
  double server_cpu_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_BENCH_PROCESS_TRAIN_PROCESS_H_
