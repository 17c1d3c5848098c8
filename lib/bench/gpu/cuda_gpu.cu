// Opens GPUs in a build with CUDA.  cuda_absent.cc takes the place of this source in other builds.
#include "base/error.h"
#include "bench/cuda/device_benchmarks.h"
#include "bench/gpu/open.h"

namespace ps {

OpenedGpu open_cuda_gpu(int number) {
  try {
    auto device = std::make_shared<gpu::Device>(number);
    return {device->description(), device_benchmarks(device)};
  } catch (const Error& error) {
    fail(Code::kUnavailable, "'cuda:", number, "': ", error.message());
  }
}

}  // namespace ps
