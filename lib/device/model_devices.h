// Opens the devices on which models are trained: the emulator of this build, and GPUs.  Used by jobs.
#ifndef PS_DEVICE_MODEL_DEVICES_H_
#define PS_DEVICE_MODEL_DEVICES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "math/device.h"

namespace ps {

class CodecDevice;
class CompressionDevice;
class DgcDevice;
class ModelDevice;
class NcclDevice;
class RowDevice;

// Opens the device `emulated`, `emulated:N` or `cuda:N`; of several devices, the first.  Throws kUsage if it
// does not exist.
std::shared_ptr<ModelDevice> open_model_device(std::string_view type);

// Returns the same device in the form that networks take; `host` outlives it.
std::unique_ptr<Device> device_of(Device& host, std::shared_ptr<ModelDevice> kernels);

// Returns the same device, for Deep Gradient Compression of parameters in its memory.
std::shared_ptr<DgcDevice> dgc_device_of(std::shared_ptr<ModelDevice> model);

// Returns the same device, for stores whose exchange encodes gradients in its memory; `host` outlives it.
std::shared_ptr<CompressionDevice> compression_device_of(std::shared_ptr<ModelDevice> model, Device& host);

// Returns the same device, for NCCL, which adds in its memory.
std::shared_ptr<NcclDevice> nccl_device_of(std::shared_ptr<ModelDevice> model);

// Returns the same device, for rows that are trained in its memory beside the model, so that they need not
// leave it.  If `type`, by which the model was opened, names several devices, the others are opened too, and share the rows
// with it.
std::unique_ptr<RowDevice> row_device_of(std::shared_ptr<ModelDevice> model, std::string_view type);

// The kinds of devices: this build's emulator, and GPU number `number`.
std::shared_ptr<ModelDevice> make_emulated_model_device();
std::shared_ptr<ModelDevice> make_cuda_model_device(int number);

// The same kinds for rows, which `others` share, for compression, and for NCCL. They return null for a model on another kind of
// device.
std::unique_ptr<RowDevice> make_emulated_row_device(std::shared_ptr<ModelDevice> model, size_t others);
std::unique_ptr<RowDevice> make_cuda_row_device(std::shared_ptr<ModelDevice> model,
                                                std::span<const int> others);
std::shared_ptr<DgcDevice> make_emulated_dgc_device(std::shared_ptr<ModelDevice> model);
std::shared_ptr<DgcDevice> make_cuda_dgc_device(std::shared_ptr<ModelDevice> model);
std::shared_ptr<CodecDevice> make_emulated_codec_device(std::shared_ptr<ModelDevice> model);
std::shared_ptr<CodecDevice> make_cuda_codec_device(std::shared_ptr<ModelDevice> model);
std::shared_ptr<NcclDevice> make_emulated_nccl_device(std::shared_ptr<ModelDevice> model);
std::shared_ptr<NcclDevice> make_cuda_nccl_device(std::shared_ptr<ModelDevice> model);

}  // namespace ps

#endif  // PS_DEVICE_MODEL_DEVICES_H_
