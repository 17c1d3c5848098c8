// Opens GPUs in a build with CUDA. cuda_absent.cc takes the place of this source in other builds.
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/codec_on_device.h"
#include "device/cuda/dgc_on_device.h"
#include "device/cuda/divided_device.h"
#include "device/cuda/table_rows.h"
#include "device/model_devices.h"
#include "device/nccl_on_device.h"
#include "model/cuda/gpu_kernels.h"

namespace ps {

namespace {

// NCCL's device on a GPU: it uses the model's stream.  One owner thread.
class NcclOnGpu final : public NcclOnDevice {
 public:
  explicit NcclOnGpu(std::shared_ptr<ModelDevice> model)
      : NcclOnDevice(std::move(model)), stream_(*stream_of(NcclOnDevice::model())) {}
  void* stream() override {
    stream_.device().use();
    return stream_.get();
  }
  bool is_done() override {
    const cudaError_t status = cudaStreamQuery(stream_.get());
    if (status == cudaErrorNotReady) return false;
    gpu::cuda_runtime::check(status, "device");
    return true;
  }

 private:
  gpu::Stream& stream_;
};

}  // namespace

static std::unique_ptr<gpu::Device> open_gpu(int number) {
  try {
    return std::make_unique<gpu::Device>(number);
  } catch (const Error& error) {
    fail(Code::kUsage, "device.type: 'cuda:", number, "': ", error.message());
  }
}

// Lets each device read the memory of all others.
static void link_all(const std::vector<std::shared_ptr<gpu::Device>>& devices) {
  for (const auto& device : devices) {
    for (const auto& other : devices) device->reach(*other);
  }
}

std::unique_ptr<RowDevice> make_cuda_device(int number) {
  return make_table_device(open_gpu(number));
}

std::unique_ptr<RowDevice> make_cuda_devices(std::span<const int> numbers) {
  std::vector<std::shared_ptr<gpu::Device>> devices;
  for (int number : numbers) devices.push_back(open_gpu(number));
  link_all(devices);
  return make_divided_device(std::move(devices));
}

std::unique_ptr<RowDevice> make_cuda_row_device(std::shared_ptr<ModelDevice> model,
                                                std::span<const int> others) {
  gpu::Stream* const stream = stream_of(*model);
  if (others.empty() || stream == nullptr) return make_table_device(std::move(model));
  std::vector<std::shared_ptr<gpu::Device>> devices;
  for (int number : others) devices.push_back(open_gpu(number));
  for (const auto& device : devices) {
    device->reach(stream->device());
    stream->device().reach(*device);
  }
  link_all(devices);
  return make_divided_device(std::move(model), std::move(devices));
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

std::shared_ptr<NcclDevice> make_cuda_nccl_device(std::shared_ptr<ModelDevice> model) {
  if (stream_of(*model) == nullptr) return nullptr;
  return std::make_shared<NcclOnGpu>(std::move(model));
}

}  // namespace ps
