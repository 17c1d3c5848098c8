#include <utility>
#include <vector>

#include "device/cuda/codec_on_device.h"
#include "device/cuda/dgc_on_device.h"
#include "device/cuda/divided_device.h"
#include "device/cuda/table_rows.h"
#include "device/model_devices.h"
#include "device/nccl_on_device.h"
#include "device/row_device.h"
#include "model/cuda/gpu_kernels.h"

namespace ps {

namespace {

// Threads run in the order of lanes, which is fastest; the tests of device code use other orders.
std::unique_ptr<gpu::Device> make_device() {
  return std::make_unique<gpu::Device>(gpu::emulated::EmulatorOptions());
}

std::vector<std::shared_ptr<gpu::Device>> make_devices(size_t count) {
  std::vector<std::shared_ptr<gpu::Device>> devices(count);
  for (auto& device : devices) device = make_device();
  return devices;
}

// An emulated device does its work while the host waits for it.
class NcclOnEmulated final : public NcclOnDevice {
 public:
  using NcclOnDevice::NcclOnDevice;
  void* stream() override { return nullptr; }
  bool is_done() override {
    model().wait();
    return true;
  }
};

}  // namespace

std::unique_ptr<RowDevice> make_emulated_device() {
  return make_table_device(make_device());
}

std::unique_ptr<RowDevice> make_emulated_devices(size_t count) {
  return make_divided_device(make_devices(count));
}

std::unique_ptr<RowDevice> make_emulated_row_device(std::shared_ptr<ModelDevice> model, size_t others) {
  if (others == 0 || stream_of(*model) == nullptr) return make_table_device(std::move(model));
  return make_divided_device(std::move(model), make_devices(others));
}

std::shared_ptr<ModelDevice> make_emulated_model_device() {
  return make_gpu_kernels(make_device());
}

std::shared_ptr<DgcDevice> make_emulated_dgc_device(std::shared_ptr<ModelDevice> model) {
  return make_dgc_on_device(std::move(model));
}

std::shared_ptr<CodecDevice> make_emulated_codec_device(std::shared_ptr<ModelDevice> model) {
  return make_codec_on_device(std::move(model));
}

std::shared_ptr<NcclDevice> make_emulated_nccl_device(std::shared_ptr<ModelDevice> model) {
  if (stream_of(*model) == nullptr) return nullptr;
  return std::make_shared<NcclOnEmulated>(std::move(model));
}

}  // namespace ps
