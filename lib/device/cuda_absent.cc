// This file stands in for cuda_device.cu in a build without CUDA.
#include "base/error.h"
#include "codec/codec_there.h"
#include "codec/dgc_there.h"
#include "collective/nccl_device.h"
#include "device/model_devices.h"
#include "device/row_device.h"
#include "model/model_device.h"

namespace ps {

[[noreturn]] static void refuse(int number) {
  fail(Code::kUsage, "device.type: 'cuda:", number,
       "': this pskit is built without CUDA; 'emulated' runs the same code on the processor, slowly");
}

std::unique_ptr<RowDevice> make_cuda_device(int number) {
  refuse(number);
}

std::unique_ptr<RowDevice> make_cuda_devices(std::span<const int> numbers) {
  refuse(numbers.front());
}

std::shared_ptr<ModelDevice> make_cuda_model_device(int number) {
  refuse(number);
}

std::unique_ptr<RowDevice> make_cuda_row_device(std::shared_ptr<ModelDevice>, std::span<const int>) {
  return nullptr;
}

std::shared_ptr<DgcDevice> make_cuda_dgc_device(std::shared_ptr<ModelDevice>) {
  return nullptr;
}

std::shared_ptr<CodecDevice> make_cuda_codec_device(std::shared_ptr<ModelDevice>) {
  return nullptr;
}

std::shared_ptr<NcclDevice> make_cuda_nccl_device(std::shared_ptr<ModelDevice>) {
  return nullptr;
}

}  // namespace ps
