// CompressionOnDevice: the device that computes the model, for exchanges that encode gradients in its memory.
// Used by strategies, through model_devices.h.  One owner thread.
#ifndef PS_DEVICE_COMPRESSION_ON_DEVICE_H_
#define PS_DEVICE_COMPRESSION_ON_DEVICE_H_

#include <memory>
#include <utility>

#include "device/dense_on_device.h"
#include "store/compression_device.h"

namespace ps {

class CompressionOnDevice final : public CompressionDevice {
 public:
  // `codecs` work on the same device as `kernels`; `host` outlives this.
  CompressionOnDevice(std::shared_ptr<ModelDevice> kernels, std::shared_ptr<CodecDevice> codecs, Device& host)
      : kernels_(std::move(kernels)), codecs_(std::move(codecs)), device_(host, kernels_) {}

  CodecDevice& codecs() override { return *codecs_; }
  std::unique_ptr<DenseThere> make_dense(LocalStore& store, int parameter) override {
    return std::make_unique<DenseOnDevice>(store, parameter, device_, *kernels_);
  }

 private:
  const std::shared_ptr<ModelDevice> kernels_;
  const std::shared_ptr<CodecDevice> codecs_;
  Device device_;
};

}  // namespace ps

#endif  // PS_DEVICE_COMPRESSION_ON_DEVICE_H_
