// A matrix of PowerSGD in the memory of the device that computes the model.  Used by CodecDevice; compiled for
// CUDA and for the emulator.
#ifndef PS_DEVICE_CUDA_POWER_ON_DEVICE_H_
#define PS_DEVICE_CUDA_POWER_ON_DEVICE_H_

#include <memory>

#include "codec/power_iteration.h"
#include "codec/power_there.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// `stream` outlives it.  Throws kExhausted.
std::unique_ptr<PowerThere> make_power_on_device(gpu::Stream& stream, const FactorShape& shape);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_POWER_ON_DEVICE_H_
