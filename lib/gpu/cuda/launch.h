// launch for CUDA, which nvcc alone compiles.  gpu/emulated/device.h documents it.
#ifndef PS_GPU_CUDA_LAUNCH_H_
#define PS_GPU_CUDA_LAUNCH_H_

#include "gpu/cuda/device.h"

namespace ps::gpu::cuda_runtime {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), Extent grid, Extent block, uint32_t shared_bytes, Stream& stream,
            Arguments&&... arguments) {
  stream.device().use();
  constexpr uint32_t kWithoutAsking = 48 << 10;
  if (shared_bytes > kWithoutAsking) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          "cannot launch");
  }
  kernel<<<dim3(grid.x, grid.y, grid.z), dim3(block.x, block.y, block.z), shared_bytes, stream.get()>>>(
      static_cast<Parameters>(arguments)...);
  check(cudaGetLastError(), "cannot launch");
}

}  // namespace ps::gpu::cuda_runtime

#endif  // PS_GPU_CUDA_LAUNCH_H_
