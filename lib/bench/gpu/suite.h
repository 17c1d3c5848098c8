// The suite `gpu`: a GPU, or the emulated one, its limits, and tables and products there.  Used by bench/catalog.cc and
// ps-bench.
#ifndef PS_BENCH_GPU_SUITE_H_
#define PS_BENCH_GPU_SUITE_H_

#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

// On the device that the settings name, with what is set beside it.
std::vector<Benchmark> gpu_benchmarks();

// Its parts that are no code for a device: the processor's table, and models here and there.
std::vector<Benchmark> gpu_peer_tables();
std::vector<Benchmark> gpu_training();

// Peers of benchmarks that are.
inline constexpr std::string_view kCpuFind = "gpu/find/cpu", kCpuPush = "gpu/push/adagrad/cpu";

// The figure that has a bar.
inline constexpr const char* kMillisecondsOfStep = "ms a step";

// Throws kUsage unless `device` is emulated, or cuda:N.
void check_bench_device(std::string_view device);

// Returns what the times on this device depend on: its name, its memory, and versions.  Where there is none, says why.
std::string describe_bench_device(const std::string& device);

}  // namespace ps

#endif  // PS_BENCH_GPU_SUITE_H_
