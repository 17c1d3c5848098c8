#include "device/model_devices.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "codec/codec_there.h"
#include "codec/dgc_there.h"
#include "collective/nccl_device.h"
#include "device/compression_on_device.h"
#include "device/device_type.h"
#include "model/model_device.h"

namespace ps {

// The first of several devices computes the model.
std::shared_ptr<ModelDevice> open_model_device(std::string_view type) {
  check_device_type(type);
  PS_CHECK(type != "cpu");
  if (const std::optional<int> number = cuda_number(type.substr(0, type.find(',')))) {
    return make_cuda_model_device(*number);
  }
  return make_emulated_model_device();
}

std::shared_ptr<DgcDevice> dgc_device_of(std::shared_ptr<ModelDevice> model) {
  if (auto emulated = make_emulated_dgc_device(model)) return emulated;
  return make_cuda_dgc_device(std::move(model));
}

std::shared_ptr<CompressionDevice> compression_device_of(std::shared_ptr<ModelDevice> model, Device& host) {
  std::shared_ptr<CodecDevice> codecs = make_emulated_codec_device(model);
  if (codecs == nullptr) codecs = make_cuda_codec_device(model);
  return std::make_shared<CompressionOnDevice>(std::move(model), std::move(codecs), host);
}

std::shared_ptr<NcclDevice> nccl_device_of(std::shared_ptr<ModelDevice> model) {
  if (auto emulated = make_emulated_nccl_device(model)) return emulated;
  return make_cuda_nccl_device(std::move(model));
}

std::unique_ptr<RowDevice> row_device_of(std::shared_ptr<ModelDevice> model, std::string_view type) {
  const std::vector<std::string_view> all = split(type, ',');
  if (auto emulated = make_emulated_row_device(model, all.size() - 1)) return emulated;
  std::vector<int> others;
  for (size_t i = 1; i < all.size(); ++i) others.push_back(cuda_number(all[i]).value());
  return make_cuda_row_device(std::move(model), others);
}

std::unique_ptr<Device> device_of(Device& host, std::shared_ptr<ModelDevice> kernels) {
  return std::make_unique<Device>(host, std::move(kernels));
}

}  // namespace ps
