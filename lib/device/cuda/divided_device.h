// Several devices as one, for the rows of sparse parameters: each has those whose keys it owns.  Results are those of one
// device.  Used by code that makes a RowDevice; compiled for CUDA and for the emulator.
#ifndef PS_DEVICE_CUDA_DIVIDED_DEVICE_H_
#define PS_DEVICE_CUDA_DIVIDED_DEVICE_H_

#include <memory>
#include <vector>

#include "device/row_device.h"
#include "gpu/device.h"
#include "model/model_device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// A capacity in rows or bytes is that of all devices together; each has an equal part of it.  There must be at least
// one device; one that is there several times has as many parts.  The values of rows are in memory of the host.
std::unique_ptr<RowDevice> make_divided_device(std::vector<std::shared_ptr<gpu::Device>> devices);

// The first device is that of a model, whose stream and memory it uses: the values of rows may be there.  Returns null for a
// model on another kind of device.
std::unique_ptr<RowDevice> make_divided_device(std::shared_ptr<ModelDevice> model,
                                               std::vector<std::shared_ptr<gpu::Device>> others);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_DIVIDED_DEVICE_H_
