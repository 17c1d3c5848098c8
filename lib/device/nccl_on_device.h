// NcclOnDevice: the device that computes the model, as NCCL uses it.  Used by the sources that open devices,
// whose subclasses add what differs between GPUs and the emulator.  One owner thread.
#ifndef PS_DEVICE_NCCL_ON_DEVICE_H_
#define PS_DEVICE_NCCL_ON_DEVICE_H_

#include <memory>
#include <utility>

#include "collective/nccl_device.h"
#include "model/model_device.h"

namespace ps {

class NcclOnDevice : public NcclDevice {
 public:
  explicit NcclOnDevice(std::shared_ptr<ModelDevice> model) : model_(std::move(model)) {}

  void* allocate(uint64_t bytes) override { return model_->allocate(bytes); }
  void release(void* memory) noexcept override { model_->release(memory); }
  void send(void* to, const void* from, uint64_t bytes) override { model_->send(to, from, bytes); }
  void receive(void* to, const void* from, uint64_t bytes) override { model_->receive(to, from, bytes); }
  void wait() override { model_->wait(); }

 protected:
  ModelDevice& model() { return *model_; }

 private:
  const std::shared_ptr<ModelDevice> model_;
};

}  // namespace ps

#endif  // PS_DEVICE_NCCL_ON_DEVICE_H_
