// The list of all benchmarks.  Used by ps-bench.
#ifndef PS_BENCH_CATALOG_H_
#define PS_BENCH_CATALOG_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

// Returns all benchmarks by suite, in the order of the manual.
std::vector<Benchmark> benchmark_catalog();

// Returns the names of the suites, each once, in the order of the catalogue.
std::vector<std::string> suite_names();

}  // namespace ps

#endif  // PS_BENCH_CATALOG_H_
