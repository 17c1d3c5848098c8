// MemoryPasses: trains a job on data in memory, one pass at a time, by the classes that ps-train is made of.
// Used by the suites train, pull-push and gpu.
#ifndef PS_BENCH_TRAIN_MEMORY_PASSES_H_
#define PS_BENCH_TRAIN_MEMORY_PASSES_H_

#include <memory>

#include "bench/memory_file.h"
#include "bench/synthetic.h"
#include "cli/progress.h"
#include "data/reader.h"
#include "feed/reader_source.h"
#include "job/job.h"
#include "store/local_store.h"
#include "train/trainer.h"

namespace ps {

// Makes a reader that reads the data once, and makes passes over what it keeps.
std::unique_ptr<BatchReader> memory_reader(const SyntheticData& data, const MemoryFile& file, int batch_size,
                                           int threads);

// The parameters are in the store that begin() is given.  One owner thread.
class MemoryPasses {
 public:
  // `job` must outlive this.
  MemoryPasses(const Job& job, const SyntheticData& data, int batch_size, int threads, CpuLevel cpu);

  const Network<float>& network() const { return network_; }
  Network<float>& network() { return network_; }
  const DataSchema& schema() const { return reader_->schema(); }
  BatchReader& reader() { return *reader_; }
  Device& device() { return device_; }

  // Must be called once, before train and test.  The device `computes` computes the model; null: device()
  // does.
  void begin(ParameterStore& store, TrainerGroup& group, Device* computes = nullptr);

  const PassResult& train();
  double test();                                        // returns the cost of all examples
  const PassResult& result() const { return result_; }  // result of the last pass
  int passes() const { return passes_; }

 private:
  const Job& job_;
  const MemoryFile file_;
  const std::unique_ptr<BatchReader> reader_;
  Device device_;
  Network<float> network_;
  Log log_{"ps-bench", LogLevel::kError};
  Reporter reporter_{log_, ProgressMode::kOff, ""};
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<ReaderSource> source_;
  PassResult result_;
  int passes_ = 0;
};

// Trains passes with the parameters in this process.  One owner thread.
class LocalPasses {
 public:
  LocalPasses(const Job& job, const SyntheticData& data, int batch_size, int threads, CpuLevel cpu);

  MemoryPasses& passes() { return passes_; }
  const MemoryPasses& passes() const { return passes_; }

 private:
  MemoryPasses passes_;
  LocalStore store_;
  LocalGroup group_;
};

}  // namespace ps

#endif  // PS_BENCH_TRAIN_MEMORY_PASSES_H_
