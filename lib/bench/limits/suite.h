// The suite `limits`: it measures what the machine can do; the results of other suites are reported as shares
// of it.
#ifndef PS_BENCH_LIMITS_SUITE_H_
#define PS_BENCH_LIMITS_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> stream_benchmarks();   // stream.cc: memory in order, and its first touch
std::vector<Benchmark> random_benchmarks();   // random.cc: lines and rows anywhere in memory
std::vector<Benchmark> network_benchmarks();  // network.cc: TCP on the loopback device
std::vector<Benchmark> disk_benchmarks();     // disk.cc: a file in the scratch folder
std::vector<Benchmark> hash_benchmarks();     // hash.cc: checksums

}  // namespace ps

#endif  // PS_BENCH_LIMITS_SUITE_H_
