#include "bench/checkpoint/trained_job.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "bench/benchmark.h"
#include "bench/jobs.h"
#include "bench/synthetic.h"
#include "checkpoint/checkpoint_directory.h"
#include "job/checkpoint_states.h"
#include "job/global_batch.h"
#include "ps/wire/hello.h"

namespace ps {

namespace {

constexpr uint64_t kFullBytes = 2'000'000'000;

DataSchema make_schema() {
  DataSchema schema;
  schema.slots.push_back({.name = "features"});
  return schema;
}

}  // namespace

uint64_t checkpoint_rows(double scale) {
  return scaled_samples(scale, kFullBytes / kCheckpointRowBytes);
}

uint64_t checkpoint_key(uint64_t i) {
  return hash_key(~i);
}

// The hash gives 32 random bits for each value, which are read as a signed number.
void fill_noise(uint64_t seed, std::span<float> out) {
  for (float& value : out) {
    value = static_cast<float>(static_cast<int32_t>(hash_key(++seed))) * 0x1p-31f;
  }
}

TrainedJob::TrainedJob(uint64_t rows, int threads, CpuLevel cpu)
    : job_(memory_job("checkpoint", {embedding_model(kCheckpointWidth), adagrad(0.1, 1e-6)})),
      schema_(make_schema()),
      network_(job_.model, schema_, job_.job.seed),
      device_(threads, cpu) {
  forget();
  train(rows);
}

void TrainedJob::forget() {
  store_.reset();
  store_ = std::make_unique<LocalStore>(network_.parameters(), optimizer_plan(job_, device_.cpu()),
                                        UINT64_MAX, device_);
}

// Trains one step for each row, in groups of kAtOnce rows.
void TrainedJob::train(uint64_t rows) {
  constexpr uint64_t kAtOnce = 1 << 14;
  std::vector<KeyPlan> plans(network_.parameters().size());
  std::vector<ParameterView<float>> views;
  for (uint64_t first = 0; first < rows; first += kAtOnce) {
    std::vector<uint64_t>& keys = plans[0].keys;
    keys.resize(std::min(kAtOnce, rows - first));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = checkpoint_key(first + i);
    store_->pull(plans, PullMode::kTrain, views);
    fill_noise(first * kCheckpointWidth, {views[0].row_gradients, keys.size() * kCheckpointWidth});
    store_->push(plans, views, {.samples = 1, .pass = 0});
  }
}

std::unique_ptr<Checkpointer> TrainedJob::checkpointer(const std::string& directory,
                                                       const std::string& compression) {
  CheckpointOptions options;
  options.directory = directory;
  options.compression = compression;
  return std::make_unique<Checkpointer>(options, effective_job(job_), 1, log_);
}

// Writes the checkpoint of step 1, with the effective job and the schema, as ps-train does; ps-ckpt2model
// reads the job from it.
void TrainedJob::write(const std::string& directory, const std::string& compression) {
  auto writer = checkpointer(directory, compression);
  writer->begin_new();
  if (writer->write(1, *store_,
                    {{kJobState, effective_job(job_).dump()}, {kSchemaState, to_json(schema_).dump()}})) {
    return;
  }
  fail(Code::kInternal, "the checkpoint was not written");
}

void TrainedJob::restore(const std::string& directory) {
  checkpointer(directory, "none")->restore_newest(*store_);
}

// Goes over the rows of all partitions.  A row in a checkpoint has its weights first, then the state of
// AdaGrad, and only the weights can be read from the store; the number of rows is compared at the end.
void TrainedJob::expect_weights_of(const std::string& directory) {
  const CheckpointReader checkpoint(join_path(directory, step_folder(1)));
  std::vector<float> weights;
  uint64_t found = 0;
  for (uint32_t partition : checkpoint.partitions(kTrainedTable)) {
    auto cursor = checkpoint.rows(kTrainedTable, partition);
    while (const RowBlock* rows = cursor->next()) {
      weights.resize(rows->size() * kCheckpointWidth);
      store_->read_rows(0, rows->keys, weights.data());
      for (size_t i = 0; i < rows->size(); ++i) {
        const float* row = rows->values.data() + i * 2 * kCheckpointWidth;
        if (std::memcmp(row, &weights[i * kCheckpointWidth], kCheckpointWidth * sizeof(float)) == 0) continue;
        fail(Code::kInternal, "the weights of key ", rows->keys[i], " are not those of the table");
      }
      found += rows->size();
    }
  }
  expect_equal("rows in the checkpoint", found, store_->keys(0).size());
}

}  // namespace ps
