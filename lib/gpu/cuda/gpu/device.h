// The CUDA half of the names that device code uses, compiled by nvcc alone. gpu/emulated/gpu/device.h is the
// emulator's half, with the same names.
#ifndef PS_GPU_CUDA_GPU_DEVICE_H_
#define PS_GPU_CUDA_GPU_DEVICE_H_

#include "gpu/cuda/device.h"
#include "gpu/cuda/kernel.h"
#include "gpu/shape.h"

#define PS_GPU_NAMESPACE on_cuda

namespace ps::gpu {

using cuda_runtime::Device;
using cuda_runtime::DeviceArray;
using cuda_runtime::Event;
using cuda_runtime::launch;
using cuda_runtime::Stream;

}  // namespace ps::gpu

#endif  // PS_GPU_CUDA_GPU_DEVICE_H_
