// The suite `pull-push`: it pulls rows from servers and pushes gradients to them, as a trainer does, over TCP
// on the loopback device or over a slower link.
#ifndef PS_BENCH_PULL_PUSH_SUITE_H_
#define PS_BENCH_PULL_PUSH_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> exchange_benchmarks();  // exchanges.cc: many rows at a time
std::vector<Benchmark> redis_benchmarks();     // redis.cc: a peer
std::vector<Benchmark> latency_benchmarks();   // latency.cc: one row at a time, and none
std::vector<Benchmark> served_training();      // training.cc: passes of jobs
std::vector<Benchmark> shard_holds();          // shard_holds.cc: how long requests wait for a shard

// The names of the figures that have bars.
inline constexpr const char* kWireShare = "wire B, of 8 + 4 x width";
inline constexpr const char* kMicroseconds = "µs";
inline constexpr const char* kLongestHold = "longest hold ms";
inline constexpr const char* kWaitingPercent = "waiting %";
inline constexpr const char* kCheckShare = "check, of a push";
inline constexpr const char* kIdlePercent = "idle CPU %";

}  // namespace ps

#endif  // PS_BENCH_PULL_PUSH_SUITE_H_
