// The rows of sparse parameters in objects of DeviceTable.  Used by code that makes a RowDevice; compiled for
// CUDA and for the emulator.
#ifndef PS_DEVICE_CUDA_TABLE_ROWS_H_
#define PS_DEVICE_CUDA_TABLE_ROWS_H_

#include <memory>

#include "device/row_device.h"
#include "gpu/device.h"
#include "model/model_device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

std::unique_ptr<RowDevice> make_table_device(std::unique_ptr<gpu::Device> device);

// Uses the memory and the stream of the device of a model.  Returns null for a model on another kind of device.
std::unique_ptr<RowDevice> make_table_device(std::shared_ptr<ModelDevice> model);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_TABLE_ROWS_H_
