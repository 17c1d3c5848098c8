// The suite `datagen`: it generates synthetic examples as text, as ps-datagen writes them.
#ifndef PS_BENCH_DATAGEN_SUITE_H_
#define PS_BENCH_DATAGEN_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> datagen_benchmarks();

}  // namespace ps

#endif  // PS_BENCH_DATAGEN_SUITE_H_
