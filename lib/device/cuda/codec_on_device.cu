#include "device/cuda/codec_on_device.h"

#include <utility>

#include "base/error.h"
#include "codec/cuda/device_row_codec.h"
#include "model/cuda/gpu_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// Bytes on their way.  All work is on one stream, so that each is done with them before the next has them.
class CodedBytes {
 public:
  explicit CodedBytes(gpu::Stream& stream) : stream_(stream) {}

  char* room(uint64_t bytes) {
    if (bytes > bytes_.bytes())
      bytes_ = gpu::DeviceArray<char>(stream_.device(), static_cast<int64_t>(bytes));
    return bytes_.data();
  }
  const char* send(std::string_view bytes) {
    char* const there = room(bytes.size());
    stream_.copy_to_device(there, bytes.data(), bytes.size());
    return there;
  }

 private:
  gpu::Stream& stream_;
  gpu::DeviceArray<char> bytes_;
};

class CodecOnDevice final : public CodecThere {
 public:
  CodecOnDevice(gpu::Stream& stream, CodedBytes& bytes, const CodecFormat& format, uint64_t elements,
                bool keeps_residual)
      : stream_(stream),
        bytes_(bytes),
        format_(format),
        elements_(static_cast<int64_t>(elements)),
        odd_(stream.device(), 1) {
    if (!keeps_residual || elements == 0) return;
    residual_ = gpu::DeviceArray<float>(stream.device(), elements_);
    stream_.fill(residual_.data(), 0, residual_.bytes());
  }

  void set_residual(std::span<const float> residual) override {
    PS_CHECK(residual.size_bytes() == residual_.bytes());
    if (residual.empty()) return;
    stream_.copy_to_device(residual_.data(), residual.data(), residual.size_bytes());
    stream_.synchronize();
  }

  void get_residual(std::span<float> residual) override {
    PS_CHECK(residual.size_bytes() == residual_.bytes());
    if (residual.empty()) return;
    stream_.copy_to_host(residual.data(), residual_.data(), residual.size_bytes());
    stream_.synchronize();
  }

  void begin_encode(const float* values, float scale, std::span<char> bytes) override {
    values_ = values, scale_ = scale;
    if (elements_ == 0) return;
    char* const encoded = bytes_.room(bytes.size());
    stream_.fill(odd_.data(), 0xff, odd_.bytes());
    encode_gradient(stream_, format_, {values, scale, residual_.data(), elements_, odd_.data()}, encoded);
    stream_.copy_to_host(bytes.data(), encoded, bytes.size());
    stream_.copy_to_host(&odd_here_, odd_.data(), odd_.bytes());
  }

  uint64_t finish_encode() override {
    stream_.synchronize();
    return odd_here_;
  }

  void get_values(std::span<float> values) override {
    PS_CHECK(std::ssize(values) == elements_);
    if (values.empty()) return;
    stream_.copy_to_host(values.data(), values_, values.size_bytes());
    stream_.synchronize();
    for (float& value : values) value *= scale_;
  }

  void decode(std::string_view bytes, float divisor, float* values) override {
    if (elements_ == 0) return;
    decode_gradient(stream_, format_, bytes_.send(bytes), elements_, divisor, values);
  }

  void add_up(std::span<const std::string_view> parts, float* sums) override {
    PS_CHECK(!parts.empty());
    if (elements_ == 0) return;
    set_decoded(stream_, format_, bytes_.send(parts[0]), elements_, sums);
    for (std::string_view part : parts.subspan(1))
      add_decoded(stream_, format_, bytes_.send(part), elements_, sums);
  }

 private:
  gpu::Stream& stream_;
  CodedBytes& bytes_;
  const CodecFormat format_;
  const int64_t elements_;
  gpu::DeviceArray<float> residual_;  // of no values: there is none
  gpu::DeviceArray<uint64_t> odd_;    // index of a sum that is not finite
  uint64_t odd_here_ = kAllFinite;
  const float* values_ = nullptr;  // of the last encoding
  float scale_ = 1;
};

class CodecModelDevice final : public CodecDevice {
 public:
  CodecModelDevice(std::shared_ptr<ModelDevice> model, gpu::Stream& stream)
      : model_(std::move(model)), stream_(stream), bytes_(stream) {}
  std::unique_ptr<CodecThere> make(const CodecFormat& format, uint64_t elements,
                                   bool keeps_residual) override {
    return std::make_unique<CodecOnDevice>(stream_, bytes_, format, elements, keeps_residual);
  }
  void wait() override { stream_.synchronize(); }

 private:
  const std::shared_ptr<ModelDevice> model_;  // whose stream it is
  gpu::Stream& stream_;
  CodedBytes bytes_;
};

}  // namespace

std::shared_ptr<CodecDevice> make_codec_on_device(std::shared_ptr<ModelDevice> model) {
  gpu::Stream* const stream = stream_of(*model);
  if (stream == nullptr) return nullptr;
  return std::make_shared<CodecModelDevice>(std::move(model), *stream);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
