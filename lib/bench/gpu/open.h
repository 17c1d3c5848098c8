// Opens a device of either kind with the benchmarks of the suite `gpu`.  Used by bench/gpu/suite.cc.
#ifndef PS_BENCH_GPU_OPEN_H_
#define PS_BENCH_GPU_OPEN_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

// A device that has been opened.
struct OpenedGpu {
  std::string description;
  std::vector<Benchmark> benchmarks;
};

// Return the same benchmarks, on this build's emulator and on GPU number `number`.  The latter throws
// kUnavailable where there is no such GPU.
OpenedGpu open_emulated_gpu();
OpenedGpu open_cuda_gpu(int number);

}  // namespace ps

#endif  // PS_BENCH_GPU_OPEN_H_
