// The CUDA half of the names that device code uses. gpu/emulated/gpu/device.h is the emulator's half, with the same
// names.  Kernels and their launches are for nvcc alone; sources of the host that have memory and streams of a GPU are
// compiled by any compiler.
#ifndef PS_GPU_CUDA_GPU_DEVICE_H_
#define PS_GPU_CUDA_GPU_DEVICE_H_

#include "gpu/cuda/device.h"
#include "gpu/shape.h"
#ifdef __CUDACC__
#include "gpu/cuda/kernel.h"
#endif

#define PS_GPU_NAMESPACE on_cuda

namespace ps::gpu {

using cuda_runtime::Device;
using cuda_runtime::DeviceArray;
using cuda_runtime::Event;
using cuda_runtime::HostArray;
using cuda_runtime::HostMemory;
using cuda_runtime::Stream;
using cuda_runtime::Timer;
#ifdef __CUDACC__
using cuda_runtime::launch;
#endif

}  // namespace ps::gpu

#endif  // PS_GPU_CUDA_GPU_DEVICE_H_
