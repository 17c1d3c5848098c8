// ps-train on a job, from its start to its end.  Used by the suite `process`.
#ifndef PS_BENCH_PROCESS_TRAIN_PROCESS_H_
#define PS_BENCH_PROCESS_TRAIN_PROCESS_H_

#include <string>
#include <vector>

#include "bench/process/child.h"
#include "bench/process/files.h"
#include "config/fwd.h"

namespace ps {

// The report of ps-train --json for a job, and the resources that the process used.
struct TrainRun {
  struct Pass {
    uint64_t samples = 0;
    double cost = 0, seconds = 0;
    double save_seconds = 0;  // 0: this pass was not saved
  };
  std::vector<Pass> passes;
  uint64_t rows = 0;              // of sparse parameters in the last model
  Usage usage;                    // with a server: processor time of both, peak of the trainer
  double server_cpu_seconds = 0;  // the server's share of it; 0: there was none
};

// One owner thread; its files are gone when it is.
class TrainProcess {
 public:
  // `job` as in ps-job(5), without files; `one_core`: it is kept on one.  Throws kUnavailable where there is
  // no ps-train.
  TrainProcess(const BenchSettings& settings, const Json& job, bool one_core);

  // Trains, and saves models where the job says.
  void train(const std::string& data);

  // The same through a server of one port on this machine, which runs from before it to after it.
  void train_served(const std::string& data);

  // The average loss of the model of the last train() on other data.
  double test(const std::string& data) const;

  // Returns the result of the last train(), with its model read back.  Throws kInternal when there was none.
  TrainRun result() const;

  // The file of the last model, as it was saved.
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
