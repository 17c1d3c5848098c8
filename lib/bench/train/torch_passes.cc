// Times passes of python3-torch on the training of train/embedding-16.
#include <cmath>
#include <memory>

#include "base/error.h"
#include "bench/memory_file.h"
#include "bench/peers/torch.h"
#include "bench/train/cases.h"
#include "bench/train/suite.h"
#include "data/reader.h"

namespace ps {

namespace {

// Passes of torch.  All examples are sent to the script once.  A run asks for a pass, and its time holds a
// line there and one back, which is nothing beside seconds.  One owner thread.
class TorchPasses final : public Workload {
 public:
  explicit TorchPasses(const BenchSettings& settings)
      : data_(make_synthetic(kFortyRecords, settings.scale, kEmbeddingSamples)) {
    MemoryFile file(data_.bytes);
    ReaderSettings reading;
    reading.stdin_descriptor = file.rewound();
    BatchReader reader(data_.options, {"-"}, reading);
    reader.begin_pass(0);
    std::vector<uint64_t> keys;
    std::vector<float> labels;
    for (Batch batch; reader.next(batch);) {
      keys.insert(keys.end(), batch.slots[0].keys.begin(), batch.slots[0].keys.end());
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    }
    TorchTask task{.dim = data_.options.dim,
                   .width = 16,
                   .ids = kIdsOfForty,
                   .batch_size = kTrainBatchSize,
                   .threads = settings.threads,
                   .learning_rate = 0.01};
    torch_ = std::make_unique<TorchTraining>(task, keys, labels);
  }

  void run() override {
    loss_ = torch_->train_pass();
    if (passes_++ == 0) first_loss_ = loss_;
  }

  void check() override {
    bool fell = passes_ > 0 && std::isfinite(loss_) && loss_ <= first_loss_;
    if (!fell) fail(Code::kInternal, "the loss went from ", first_loss_, " to ", loss_);
  }

  Work work() const override { return data_.training(); }

  std::vector<Figure> figures() const override { return {{"first pass", first_loss_}, {"last pass", loss_}}; }

 private:
  const SyntheticData data_;
  std::unique_ptr<TorchTraining> torch_;
  int passes_ = 0;
  double loss_ = 0, first_loss_ = 0;
};

}  // namespace

Benchmark torch_benchmark(const std::string& name) {
  return {.name = name,
          .help = "EmbeddingBag with sparse gradients, and AdaGrad, of python3-torch",
          .unit = "examples",
          .make = [](const BenchSettings& settings) { return std::make_unique<TorchPasses>(settings); },
          .threaded = true,
          .limit = "limits/lines"};
}

}  // namespace ps
