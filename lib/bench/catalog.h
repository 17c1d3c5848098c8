// Every benchmark there is.  Used by ps-bench.
#ifndef PS_BENCH_CATALOG_H_
#define PS_BENCH_CATALOG_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

// By suite, in the order of the manual.
std::vector<Benchmark> benchmark_catalog();

// The suites of the catalogue, each once, in its order.
std::vector<std::string> suite_names();

}  // namespace ps

#endif  // PS_BENCH_CATALOG_H_
