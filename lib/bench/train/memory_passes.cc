#include "bench/train/memory_passes.h"

#include <algorithm>
#include <climits>

#include "base/memory.h"
#include "job/global_batch.h"

namespace ps {

namespace {

bool never() {
  return false;
}

}  // namespace

std::unique_ptr<BatchReader> memory_reader(const SyntheticData& data, const MemoryFile& file, int batch_size,
                                           int threads) {
  DataOptions options = data.options;
  options.batch_size = batch_size;
  ReaderSettings settings;
  settings.threads = threads;
  settings.passes = INT_MAX;
  settings.stdin_descriptor = file.rewound();
  return std::make_unique<BatchReader>(options, std::vector<std::string>{"-"}, settings);
}

MemoryPasses::MemoryPasses(const Job& job, const SyntheticData& data, int batch_size, int threads,
                           CpuLevel cpu)
    : job_(job),
      file_(data.bytes),
      reader_(memory_reader(data, file_, batch_size, threads)),
      device_(threads, cpu),
      network_(job.model, reader_->schema(), job.job.seed) {}

void MemoryPasses::begin(ParameterStore& store, TrainerGroup& group, Device* computes) {
  trainer_ = std::make_unique<Trainer>(network_, store, computes != nullptr ? *computes : device_, job_.train,
                                       group, reporter_);
  source_ = std::make_unique<ReaderSource>(
      network_, *reader_,
      ReaderSource::Options{.threads = device_.threads(),
                            .parameters_wait = store.may_wait(),
                            .ahead = std::max<size_t>(1, store.looks_ahead())});
}

const PassResult& MemoryPasses::train() {
  return result_ = trainer_->train_pass(passes_++, *source_, never);
}

double MemoryPasses::test() {
  return trainer_->test(-1, *source_, never).cost;
}

LocalPasses::LocalPasses(const Job& job, const SyntheticData& data, int batch_size, int threads, CpuLevel cpu)
    : passes_(job, data, batch_size, threads, cpu),
      store_(passes_.network().parameters(), optimizer_plan(job, cpu), available_memory_bytes(),
             passes_.device()) {
  passes_.begin(store_, group_);
}

}  // namespace ps
