// The names that device code uses: for kernels, memory, streams and launches.  This is the emulator's half;
// gpu/cuda/gpu/device.h is the CUDA half.  The include path selects one.  A source that includes it is
// compiled once for each half, and so puts its definitions into the namespace ps::PS_GPU_NAMESPACE, which is
// inline in ps.
#ifndef PS_GPU_EMULATED_GPU_DEVICE_H_
#define PS_GPU_EMULATED_GPU_DEVICE_H_

#include "gpu/emulated/device.h"
#include "gpu/emulated/kernel.h"
#include "gpu/shape.h"

#define PS_GPU_NAMESPACE on_emulator

namespace ps::gpu {

using emulated::Device;
using emulated::DeviceArray;
using emulated::Event;
using emulated::Graph;
using emulated::HostArray;
using emulated::HostMemory;
using emulated::launch;
using emulated::Stream;
using emulated::Timer;

}  // namespace ps::gpu

#endif  // PS_GPU_EMULATED_GPU_DEVICE_H_
