// TrainedJob: a job with a table of many rows, each trained for one step, and its checkpoints.  Used by the
// suite `checkpoint`.
#ifndef PS_BENCH_CHECKPOINT_TRAINED_JOB_H_
#define PS_BENCH_CHECKPOINT_TRAINED_JOB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "job/job.h"
#include "model/network.h"
#include "store/local_store.h"
#include "train/checkpointer.h"

namespace ps {

// Rows of 16 weights with the state of AdaGrad; keys are any 64-bit numbers.
inline constexpr int64_t kCheckpointWidth = 16;
inline constexpr uint64_t kCheckpointRowBytes = 8 + 2 * kCheckpointWidth * sizeof(float);

// The name of the table that has these rows.
inline constexpr const char* kTrainedTable = "vectors.weight";

// Returns the number of rows: 2 GB at full size.
uint64_t checkpoint_rows(double scale);

// Returns the key of row `i`.
uint64_t checkpoint_key(uint64_t i);

// Fills `out` with a gradient as noisy as those of training, in [-1, 1).
void fill_noise(uint64_t seed, std::span<float> out);

// The store of a job, and the checkpoints of the store.  One owner thread.
class TrainedJob {
 public:
  // Makes a job with `rows` rows, and trains each once.
  TrainedJob(uint64_t rows, int threads, CpuLevel cpu);

  LocalStore& store() { return *store_; }

  // Replaces the store by one in which nothing has been trained.
  void forget();

  // Write a checkpoint, and restore the newest one, as ps-train does.  write throws kInternal when writing
  // failed.
  void write(const std::string& directory, const std::string& compression);
  void restore(const std::string& directory);

  // Throws unless the checkpoint has the weights of the store and no other rows.
  void expect_weights_of(const std::string& directory);

 private:
  void train(uint64_t rows);
  std::unique_ptr<Checkpointer> checkpointer(const std::string& directory, const std::string& compression);

  const Job job_;
  const DataSchema schema_;
  Network<float> network_;
  Device device_;
  Log log_{"ps-bench", LogLevel::kError};
  std::unique_ptr<LocalStore> store_;
};

}  // namespace ps

#endif  // PS_BENCH_CHECKPOINT_TRAINED_JOB_H_
