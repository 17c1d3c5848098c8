// The kernels of models on a GPU, or on the emulator.  Used by code that makes a Device with memory of its own.
// Compiled for CUDA and for the emulator.
#ifndef PS_MODEL_CUDA_GPU_KERNELS_H_
#define PS_MODEL_CUDA_GPU_KERNELS_H_

#include <memory>

#include "gpu/device.h"
#include "model/model_device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

std::shared_ptr<ModelDevice> make_gpu_kernels(std::unique_ptr<gpu::Device> device);

// Returns the stream on which all work of such a device runs, for other work in its memory.  Returns null for
// another kind of device.
gpu::Stream* stream_of(ModelDevice& device);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_MODEL_CUDA_GPU_KERNELS_H_
