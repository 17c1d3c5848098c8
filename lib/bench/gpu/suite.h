// The suite `gpu`: the limits of a GPU, or of the emulated one, and tables, products and training there.
// Used by bench/catalog.cc and ps-bench.
#ifndef PS_BENCH_GPU_SUITE_H_
#define PS_BENCH_GPU_SUITE_H_

#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

// Returns the benchmarks on the device that the settings name, and the benchmarks of the processor that they
// are compared with.
std::vector<Benchmark> gpu_benchmarks();

// Return the benchmarks that are no code for a device: the table of the processor, and models trained on
// either.
std::vector<Benchmark> gpu_peer_tables();
std::vector<Benchmark> gpu_training();

// Names of benchmarks of the processor that are peers of benchmarks on a device.
inline constexpr std::string_view kCpuFind = "gpu/find/cpu", kCpuPush = "gpu/push/adagrad/cpu";

// The name of the figure that has a bar.
inline constexpr const char* kMillisecondsOfStep = "ms a step";

// Throws kUsage unless `device` is "emulated" or "cuda:N".
void check_bench_device(std::string_view device);

// Returns the facts that times on this device depend on: its name, its memory, and versions.  Where there is
// no such device, returns the reason.
std::string describe_bench_device(const std::string& device);

}  // namespace ps

#endif  // PS_BENCH_GPU_SUITE_H_
