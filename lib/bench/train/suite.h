// The suite `train`: it times passes over data in memory.
#ifndef PS_BENCH_TRAIN_SUITE_H_
#define PS_BENCH_TRAIN_SUITE_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> train_benchmarks();

// Returns the benchmark of python3-torch on the same training as train/embedding-16; it is in
// torch_passes.cc.
Benchmark torch_benchmark(const std::string& name);

}  // namespace ps

#endif  // PS_BENCH_TRAIN_SUITE_H_
