// The suite `all-reduce`: it sums arrays over ranks, over TCP on the loopback device, beside Open MPI and
// Gloo.
#ifndef PS_BENCH_ALL_REDUCE_SUITE_H_
#define PS_BENCH_ALL_REDUCE_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> all_reduce_benchmarks();

// The names of the figures that have bars.
inline constexpr const char* kCallMicros = "µs a call";
inline constexpr const char* kCallTail = "p99/median";
inline constexpr const char* kBytesOff = "bytes, off the formula, %";

}  // namespace ps

#endif  // PS_BENCH_ALL_REDUCE_SUITE_H_
