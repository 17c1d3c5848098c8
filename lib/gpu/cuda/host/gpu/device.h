// The names of the host for CUDA: memory, streams and events, without kernels and launches.  Sources that the compiler of
// the host compiles have it as gpu/device.h; the path of includes picks it.
#ifndef PS_GPU_CUDA_HOST_GPU_DEVICE_H_
#define PS_GPU_CUDA_HOST_GPU_DEVICE_H_

#include "gpu/cuda/device.h"
#include "gpu/shape.h"

#define PS_GPU_NAMESPACE on_cuda

namespace ps::gpu {

using cuda_runtime::Device;
using cuda_runtime::DeviceArray;
using cuda_runtime::Event;
using cuda_runtime::Graph;
using cuda_runtime::HostArray;
using cuda_runtime::HostMemory;
using cuda_runtime::Stream;
using cuda_runtime::Timer;

}  // namespace ps::gpu

#endif  // PS_GPU_CUDA_HOST_GPU_DEVICE_H_
