// The CUDA half of the names that device code uses, compiled by nvcc alone. gpu/emulated/gpu/device.h is the
// emulator's half, with the same names; gpu/cuda/host/gpu/device.h has those of the host, for any compiler.
#ifndef PS_GPU_CUDA_GPU_DEVICE_H_
#define PS_GPU_CUDA_GPU_DEVICE_H_

#include "gpu/cuda/host/gpu/device.h"
#include "gpu/cuda/kernel.h"
#include "gpu/cuda/launch.h"

namespace ps::gpu {

using cuda_runtime::launch;

}  // namespace ps::gpu

#endif  // PS_GPU_CUDA_GPU_DEVICE_H_
