// Reads a line for each kernel, "NAME REGISTERS STATIC_SHARED_BYTES", and computes by NVIDIA's own header how much of a
// multiprocessor of compute capability 9.0 its threads fill.  Ends with 1 if a kernel fills less than half, or less than the
// list below says, and names it.
// Used by nvcc_test.sh.
#include <cuda_occupancy.h>

#include <climits>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "codec/cuda/selection_state.h"
#include "table/cuda/step_kernels.h"

namespace {

constexpr int kMaxThreads = 2048;  // of a multiprocessor

// The figures of compute capability 9.0, as CUDA's programming guide has them.
cudaOccDeviceProp device() {
  cudaOccDeviceProp device;
  device.computeMajor = 9;
  device.computeMinor = 0;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = kMaxThreads;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerBlockOptin = 227 << 10;
  device.sharedMemPerMultiprocessor = 228 << 10;
  device.reservedSharedMemPerBlock = 1 << 10;
  device.numSms = 132;
  return device;
}

constexpr int kLeast = 50;  // percent

// How kernels are launched that have shared memory of a size for their blocks.  Names begin so.
struct Launch {
  const char* name;
  int threads;
  size_t dynamic_bytes = 0;
  int least = kLeast;
};

// Long runs of keys are added up by one warp of a block, for which the others have tiles copied to shared memory: it is the
// tiles on their way that hide the time of memory there, and not other warps.
constexpr int kLeastWithTiles = 12;

const Launch kLaunches[] = {
    {"step_long_runs", ps::device_table::kStepThreads, ps::device_table::kStepBytes, kLeastWithTiles},
    {"step_group_long_runs", ps::device_table::kStepThreads, ps::device_table::kStepBytes, kLeastWithTiles},
    {"search_sample", ps::device_selection::kThreads},
    {"search_all", ps::device_selection::kThreads},
    {"search_collected", ps::device_selection::kThreads},
};

// Threads that are active at the same time, in percent of the most.
int occupancy(int registers, size_t static_bytes, int threads, size_t dynamic_bytes) {
  const cudaOccDeviceProp properties = device();
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = registers;
  kernel.sharedSizeBytes = static_bytes;
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = dynamic_bytes;
  kernel.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &kernel, &state, threads,
                                              dynamic_bytes) != CUDA_OCC_SUCCESS) {
    return 0;
  }
  return result.activeBlocksPerMultiprocessor * threads * 100 / kMaxThreads;
}

// Kernels that are not listed may be launched with any blocks that this project has.
std::vector<Launch> launches_of(const std::string& name) {
  for (const Launch& launch : kLaunches) {
    if (name.starts_with(launch.name)) return {launch};
  }
  return {{"", 32}, {"", 128}, {"", 256}, {"", 1024}};
}

}  // namespace

int main() {
  int kernels = 0, faults = 0;
  std::string name;
  for (int registers, static_bytes; std::cin >> name >> registers >> static_bytes; ++kernels) {
    for (const Launch& launch : launches_of(name)) {
      const size_t of_kernel = static_cast<size_t>(static_bytes);
      const int percent = occupancy(registers, of_kernel, launch.threads, launch.dynamic_bytes);
      if (percent >= launch.least) continue;
      ++faults;
      std::printf("%s: blocks of %d threads with %d registers each and %zu bytes fill %d %%, expected %d\n",
                  name.c_str(), launch.threads, registers, of_kernel + launch.dynamic_bytes, percent,
                  launch.least);
    }
  }
  if (faults == 0)
    std::printf("%d kernels fill half of a multiprocessor, or as much as they have to\n", kernels);
  return faults > 0 || kernels == 0;
}
