// The suite `checkpoint`: it writes rows to checkpoints and restores them, beside what the disk can do, and
// measures how much slower a shard serves while a checkpoint is written.
#ifndef PS_BENCH_CHECKPOINT_SUITE_H_
#define PS_BENCH_CHECKPOINT_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> checkpoint_file_benchmarks();        // files.cc: write, restore, restart
std::vector<Benchmark> checkpoint_serving_benchmarks();     // serving.cc: serving during a checkpoint
std::vector<Benchmark> checkpoint_durability_benchmarks();  // durability.cc: steps with and without a log
std::vector<Benchmark> checkpoint_model_benchmarks();       // model.cc: ps-ckpt2model

// The names of the figures that have bars.
inline constexpr const char* kServingShare = "of serving alone";
inline constexpr const char* kTailMilliseconds = "p99.9 +ms";

}  // namespace ps

#endif  // PS_BENCH_CHECKPOINT_SUITE_H_
