// Deep Gradient Compression of parameters in the memory of the device that computes the model.  Used by the
// sources that open devices; compiled for CUDA and for the emulator.
#ifndef PS_DEVICE_CUDA_DGC_ON_DEVICE_H_
#define PS_DEVICE_CUDA_DGC_ON_DEVICE_H_

#include <memory>

#include "codec/dgc_there.h"
#include "gpu/device.h"
#include "model/model_device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// Makes the device for compression; its work is queued behind that of the model.  Returns null if the device is
// of the other kind.
std::shared_ptr<DgcDevice> make_dgc_on_device(std::shared_ptr<ModelDevice> model);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_DGC_ON_DEVICE_H_
