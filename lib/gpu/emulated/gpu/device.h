// All that code for a device uses: names of kernels, memory, streams, launches.  This is the emulator's half;
// gpu/cuda/gpu/device.h is CUDA's.  The path of includes picks one, and a source that includes it is compiled
// once for each: what it defines lies in the namespace ps::PS_GPU_NAMESPACE, inline in ps.
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
using emulated::launch;
using emulated::Stream;

}  // namespace ps::gpu

#endif  // PS_GPU_EMULATED_GPU_DEVICE_H_
