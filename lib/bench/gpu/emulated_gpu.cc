#include "bench/cuda/device_benchmarks.h"
#include "bench/gpu/open.h"

namespace ps {

OpenedGpu open_emulated_gpu() {
  auto device = std::make_shared<gpu::Device>(gpu::emulated::EmulatorOptions());
  return {device->description(), device_benchmarks(device)};
}

}  // namespace ps
