// The benchmarks of the suite `gpu` on a device of either kind.  Used by bench/gpu/suite.cc.
#ifndef PS_BENCH_GPU_OPEN_H_
#define PS_BENCH_GPU_OPEN_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

struct OpenedGpu {
  std::string description;
  std::vector<Benchmark> benchmarks;
};

// The same benchmarks, on this build's emulator and on GPU number `number`.  The latter throws kUnavailable where there
// is none.
OpenedGpu open_emulated_gpu();
OpenedGpu open_cuda_gpu(int number);

}  // namespace ps

#endif  // PS_BENCH_GPU_OPEN_H_
