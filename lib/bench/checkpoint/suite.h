// The suite `checkpoint`: rows to checkpoints and back, beside what the disk can do, and what serving loses
// while one is written.
#ifndef PS_BENCH_CHECKPOINT_SUITE_H_
#define PS_BENCH_CHECKPOINT_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> checkpoint_file_benchmarks();        // files.cc: write, restore, restart
std::vector<Benchmark> checkpoint_serving_benchmarks();     // serving.cc: pulls and pushes meanwhile
std::vector<Benchmark> checkpoint_durability_benchmarks();  // durability.cc: steps, logged and not
std::vector<Benchmark> checkpoint_model_benchmarks();       // model.cc: ps-ckpt2model

// Figures that have bars.
inline constexpr const char* kServingShare = "of serving alone";
inline constexpr const char* kTailMilliseconds = "p99.9 +ms";

}  // namespace ps

#endif  // PS_BENCH_CHECKPOINT_SUITE_H_
