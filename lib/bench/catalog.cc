#include "bench/catalog.h"

#include <iterator>

#include "bench/all_reduce/suite.h"
#include "bench/bars.h"
#include "bench/checkpoint/suite.h"
#include "bench/codec/suite.h"
#include "bench/datagen/suite.h"
#include "bench/gpu/suite.h"
#include "bench/limits/suite.h"
#include "bench/parse/suite.h"
#include "bench/process/suite.h"
#include "bench/pull_push/suite.h"
#include "bench/table/suite.h"
#include "bench/train/suite.h"

namespace ps {

namespace {

// The lists are in the order in which suites are printed; the lists of one suite stand together, since
// suite_names takes a new name for a new suite.
constexpr std::vector<Benchmark> (*kLists[])() = {
    stream_benchmarks,
    random_benchmarks,
    network_benchmarks,
    disk_benchmarks,
    hash_benchmarks,
    parser_benchmarks,
    strtod_benchmarks,
    reader_benchmarks,
    datagen_benchmarks,
    table_benchmarks,
    train_benchmarks,
    training_benchmarks,
    served_process_benchmarks,
    process_datagen_benchmarks,
    exchange_benchmarks,
    redis_benchmarks,
    latency_benchmarks,
    shard_holds,
    served_training,
    all_reduce_benchmarks,
    checkpoint_file_benchmarks,
    checkpoint_serving_benchmarks,
    checkpoint_durability_benchmarks,
    checkpoint_model_benchmarks,
    codec_benchmarks,
    selection_benchmarks,
    dgc_step_benchmarks,
    gpu_benchmarks,
};

}  // namespace

std::vector<Benchmark> benchmark_catalog() {
  std::vector<Benchmark> out;
  for (auto list : kLists) {
    std::vector<Benchmark> part = list();
    std::move(part.begin(), part.end(), std::back_inserter(out));
  }
  for (Benchmark& benchmark : out) benchmark.bars = bars_of(benchmark.name);
  return out;
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmark_catalog()) {
    if (names.empty() || names.back() != benchmark.suite()) names.push_back(benchmark.suite());
  }
  return names;
}

}  // namespace ps
