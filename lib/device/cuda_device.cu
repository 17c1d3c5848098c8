// GPUs, of a build with CUDA.  cuda_absent.cc takes the place of this source in others.
#include "base/error.h"
#include "device/cuda/codec_on_device.h"
#include "device/cuda/dgc_on_device.h"
#include "device/cuda/table_rows.h"
#include "device/model_devices.h"
#include "model/cuda/gpu_kernels.h"

namespace ps {

static std::unique_ptr<gpu::Device> open_gpu(int number) {
  try {
    return std::make_unique<gpu::Device>(number);
  } catch (const Error& error) {
    fail(Code::kUsage, "device.type: 'cuda:", number, "': ", error.message());
  }
}

std::unique_ptr<RowDevice> make_cuda_device(int number) {
  return make_table_device(open_gpu(number));
}

std::shared_ptr<ModelDevice> make_cuda_model_device(int number) {
  return make_gpu_kernels(open_gpu(number));
}

std::shared_ptr<DgcDevice> make_cuda_dgc_device(std::shared_ptr<ModelDevice> model) {
  return make_dgc_on_device(std::move(model));
}

std::shared_ptr<CodecDevice> make_cuda_codec_device(std::shared_ptr<ModelDevice> model) {
  return make_codec_on_device(std::move(model));
}

}  // namespace ps
