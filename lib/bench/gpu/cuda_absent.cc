// Takes the place of cuda_gpu.cu in a build without CUDA, which has no GPUs.
#include "base/error.h"
#include "bench/gpu/open.h"

namespace ps {

OpenedGpu open_cuda_gpu(int number) {
  fail(Code::kUnavailable, "'cuda:", number,
       "': this pskit is built without CUDA; --device emulated runs the same code on the processor, slowly");
}

}  // namespace ps
