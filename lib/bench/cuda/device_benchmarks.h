// Lists the benchmarks of the suite `gpu` on one device.  Used by the sources that open devices
// (bench/gpu/open.h); compiled for CUDA and for the emulator.
#ifndef PS_BENCH_CUDA_DEVICE_BENCHMARKS_H_
#define PS_BENCH_CUDA_DEVICE_BENCHMARKS_H_

#include <memory>
#include <vector>

#include "bench/benchmark.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

using SharedGpu = std::shared_ptr<gpu::Device>;

// Return the benchmarks of one source each, bench/cuda/NAME.cu.  Their workloads share the device.
std::vector<Benchmark> device_limits(const SharedGpu& device);
std::vector<Benchmark> device_look_ups(const SharedGpu& device);
std::vector<Benchmark> device_pushes(const SharedGpu& device);
std::vector<Benchmark> device_groups(const SharedGpu& device);
std::vector<Benchmark> device_products(const SharedGpu& device);
std::vector<Benchmark> device_selections(const SharedGpu& device);

// Returns the benchmarks of all functions above.
std::vector<Benchmark> device_benchmarks(const SharedGpu& device);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_BENCH_CUDA_DEVICE_BENCHMARKS_H_
