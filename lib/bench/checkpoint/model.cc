// Times ps-ckpt2model as a process of its own.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "bench/checkpoint/suite.h"
#include "bench/checkpoint/trained_job.h"
#include "bench/process/child.h"
#include "bench/process/files.h"
#include "bench/process/suite.h"
#include "bench/resident.h"
#include "checkpoint/safetensors.h"

namespace ps {

namespace {

// A run of ps-ckpt2model on a checkpoint.  The checkpoint is made once, compressed.  The process starts
// anew in each run, reads it and writes a model, so that the time and the peak of memory are those that a
// user sees.  One owner thread.
class ModelOfCheckpoint final : public Workload {
 public:
  explicit ModelOfCheckpoint(const BenchSettings& settings)
      : program_(join_path(settings.programs, "ps-ckpt2model")),
        rows_(checkpoint_rows(settings.scale)),
        threads_(settings.threads),
        folder_(settings.scratch) {
    if (!exists(program_)) fail(Code::kUnavailable, "there is no ", quote(program_));
    TrainedJob job(rows_, threads_, settings.cpu);
    job.write(folder_.path("checkpoints"), "zstd");
    remember(job.store());
  }

  // Begins a new peak, so that the peak of the run is the child's own.
  void prepare() override { begin_peak(); }

  void run() override {
    usage_ = run_child({.words = {program_, folder_.path("checkpoints"), "--output", folder_.path("model")},
                        .errors = folder_.path("messages"),
                        .one_core = on_one_core(threads_)});
    ran_ = true;
  }

  // samples_ has rows by their position in the order of keys, in which the model must have them: their keys
  // and weights must be there, and keys must ascend.
  void check() override {
    if (!ran_) fail(Code::kInternal, "ps-ckpt2model was not run");
    SafetensorsReader model(folder_.path("model"));
    const TensorInfo* keys = model.find(cat(kTrainedTable, ".keys"));
    const TensorInfo* weights = model.find(cat(kTrainedTable, ".rows"));
    if (keys == nullptr || weights == nullptr) fail(Code::kInternal, "the model has no table");
    expect_equal("rows in the model", static_cast<uint64_t>(keys->elements()), rows_);
    uint64_t last = 0;
    for (const auto& [position, expected] : samples_) {
      uint64_t key = 0;
      std::vector<float> row(kCheckpointWidth);
      model.read<uint64_t>(*keys, static_cast<int64_t>(position), {&key, 1});
      model.read<float>(*weights, static_cast<int64_t>(position) * kCheckpointWidth, row);
      expect_equal("key of a row", key, expected.first);
      if (row != expected.second) fail(Code::kInternal, "the weights of key ", key, " are not the table's");
      if (key < last) fail(Code::kInternal, "keys do not ascend");
      last = key;
    }
  }

  Work work() const override {
    return {.bytes = static_cast<double>(rows_ * kCheckpointRowBytes), .items = static_cast<double>(rows_)};
  }

  std::vector<Figure> figures() const override {
    return {{"CPU s", usage_.cpu_seconds},
            {kMegabytes, static_cast<double>(usage_.peak_bytes) / kBytesOfMegabyte}};
  }

 private:
  using Sample = std::pair<size_t, std::pair<uint64_t, std::vector<float>>>;

  // Remembers some rows from the whole range of keys for check().  The table itself is not kept, since the
  // peak of a child is at least what this process held.
  void remember(LocalStore& store) {
    constexpr size_t kSamples = 1000;
    const std::vector<uint64_t> keys = store.keys(0);
    const size_t step = std::max<size_t>(1, keys.size() / kSamples);
    for (size_t i = 0; i < keys.size(); i += step) {
      std::vector<float> row(kCheckpointWidth);
      store.read_rows(0, {&keys[i], 1}, row.data());
      samples_.push_back({i, {keys[i], std::move(row)}});
    }
  }

  const std::string program_;
  const uint64_t rows_;
  const int threads_;
  const TemporaryFolder folder_;
  std::vector<Sample> samples_;  // position in the model, then key and weights
  bool ran_ = false;
  Usage usage_;
};

}  // namespace

std::vector<Benchmark> checkpoint_model_benchmarks() {
  return {
      {.name = "checkpoint/model",
       .help = "ps-ckpt2model on a compressed checkpoint of 2 GB of rows",
       .unit = "B",
       .make = [](const BenchSettings& settings) { return std::make_unique<ModelOfCheckpoint>(settings); },
       .threaded = true}};
}

}  // namespace ps
