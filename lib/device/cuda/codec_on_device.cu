#include "device/cuda/codec_on_device.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "codec/cuda/device_codec.h"
#include "codec/cuda/device_power_iteration.h"
#include "codec/cuda/device_selection.h"
#include "codec/cuda/device_sparse_codec.h"
#include "codec/sparse_vector.h"
#include "codec/threshold.h"
#include "codec/vector_kernels.h"
#include "device/cuda/power_on_device.h"
#include "math/kernels/half.h"
#include "model/cuda/gpu_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// A buffer of the device for encoded bytes.  All codecs share it: their work is on one stream, so that each has
// finished with the bytes before the next one gets them.  One owner thread, as for all classes of this file.
class CodedBytes {
 public:
  explicit CodedBytes(gpu::Stream& stream) : stream_(stream) {}

  // Returns memory of the device for this many bytes.
  char* room(uint64_t bytes) {
    if (bytes > bytes_.bytes())
      bytes_ = gpu::DeviceArray<char>(stream_.device(), static_cast<int64_t>(bytes));
    return bytes_.data();
  }
  const char* send(std::string_view bytes) { return send({&bytes, 1}); }

  // Sends parts of the same size, one behind the other.
  const char* send(std::span<const std::string_view> parts) {
    const uint64_t each = parts[0].size();
    char* const there = room(parts.size() * each);
    for (size_t n = 0; n < parts.size(); ++n) stream_.copy_to_device(there + n * each, parts[n].data(), each);
    return there;
  }

 private:
  gpu::Stream& stream_;
  gpu::DeviceArray<char> bytes_;
};

// A gradient and its residual.  Subclasses encode it in different ways.
class GradientOnDevice : public CodecThere {
 public:
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

  // The host asks for the values of an encoding only to say which one is not finite; they are scaled here
  // as the kernel scaled them.
  void get_values(std::span<float> values) override {
    PS_CHECK(std::ssize(values) == elements_);
    if (values.empty()) return;
    stream_.copy_to_host(values.data(), values_, values.size_bytes());
    stream_.synchronize();
    for (float& value : values) value *= scale_;
  }

 protected:
  GradientOnDevice(gpu::Stream& stream, const CodecFormat& format, uint64_t elements, bool has_residual)
      : stream_(stream),
        format_(format),
        elements_(static_cast<int64_t>(elements)),
        odd_(stream.device(), 1) {
    if (!has_residual || elements == 0) return;
    residual_ = gpu::DeviceArray<float>(stream.device(), elements_);
    stream_.fill(residual_.data(), 0, residual_.bytes());
  }

  gpu::Stream& stream_;
  const CodecFormat format_;
  const int64_t elements_;
  gpu::DeviceArray<float> residual_;  // no values if there is no residual
  gpu::DeviceArray<uint64_t> odd_;    // index of a sum that is not finite, or kAllFinite
  uint64_t odd_here_ = kAllFinite;
  const float* values_ = nullptr;  // values of the last encoding, in memory of the device
  float scale_ = 1;
};

// A gradient of which every value is encoded by itself, or in blocks, by kernels.  One owner thread.
class CodecOnDevice final : public GradientOnDevice {
 public:
  CodecOnDevice(gpu::Stream& stream, CodedBytes& bytes, const CodecFormat& format, uint64_t elements,
                bool keeps_residual)
      : GradientOnDevice(stream, format, elements, keeps_residual), bytes_(bytes) {}

  void begin_encode(const float* values, float scale, uint64_t step, std::string& bytes) override {
    values_ = values, scale_ = scale;
    if (elements_ == 0) return;
    char* const encoded = bytes_.room(bytes.size());
    // These bytes make kAllFinite.  Kernels lower it to the least index of a sum that is not finite.
    stream_.fill(odd_.data(), 0xff, odd_.bytes());
    encode_gradient(stream_, format_, {values, scale, residual_.data(), elements_, odd_.data(), step},
                    encoded);
    stream_.copy_to_host(bytes.data(), encoded, bytes.size());
    stream_.copy_to_host(&odd_here_, odd_.data(), odd_.bytes());
  }

  uint64_t finish_encode() override {
    stream_.synchronize();
    return odd_here_;
  }

  void decode(std::string_view bytes, float divisor, float* values) override {
    if (elements_ == 0) return;
    decode_gradient(stream_, format_, bytes_.send(bytes), elements_, divisor, values);
  }

  // Parts whose sums are integers are sent to the device together, and one kernel adds them all.  The
  // others are decoded one after the other, each into the sum of those before it, which is the order of the
  // processor.
  void add_up(std::span<const std::string_view> parts, float* sums) override {
    PS_CHECK(!parts.empty());
    if (elements_ == 0) return;
    if (adds_parts_together(format_)) {
      const char* const all = bytes_.send(parts);
      return add_up_parts(stream_, format_, all, std::ssize(parts), std::ssize(parts[0]), elements_, sums);
    }
    set_decoded(stream_, format_, bytes_.send(parts[0]), elements_, sums);
    for (std::string_view part : parts.subspan(1))
      add_decoded(stream_, format_, bytes_.send(part), elements_, sums);
  }

 private:
  CodedBytes& bytes_;
};

// A gradient of which only selected values are sent.  They are selected from the sums of gradient and residual,
// which are stored as the residual.  Without error feedback each encoding computes the residual anew.  One
// owner thread.
class SelectionOnDevice final : public GradientOnDevice {
 public:
  SelectionOnDevice(gpu::Stream& stream, const CodecFormat& format, uint64_t elements, bool keeps_residual)
      : GradientOnDevice(stream, format, elements, /*has_residual=*/true),
        keeps_residual_(keeps_residual),
        selector_(stream.device(), format.selection),
        finder_(stream.device()),
        num_(stream.device(), 1) {
    PS_CHECK(elements <= kMaxSparseSize);
    if (format_.kind == CodecFormat::Kind::kLargest) make_room(format_.count);
  }

  // Queues the sums of gradient and residual, and the search for those to be sent.  The k largest values
  // are written at once.  Values from a size on are only counted here: their number, and so the memory for
  // them, is known when the host has waited.
  void begin_encode(const float* values, float scale, uint64_t step, std::string& bytes) override {
    values_ = values, scale_ = scale, encoded_ = &bytes;
    if (elements_ == 0) return;
    stream_.fill(odd_.data(), 0xff, odd_.bytes());
    make_sums(stream_, {values, scale, residual_.data(), elements_, keeps_residual_, odd_.data()});
    if (format_.kind == CodecFormat::Kind::kLargest) {
      selector_.select(stream_, residual_.data(), static_cast<uint64_t>(elements_), format_.count,
                       format_.seed + hash_key(step), {index_.data(), value_.data(), num_.data()});
    } else {
      finder_.count(stream_, residual_.data(), elements_, bits_of(format_.tau), num_.data());
    }
    stream_.copy_to_host(&odd_here_, odd_.data(), odd_.bytes());
    stream_.copy_to_host(&num_here_, num_.data(), num_.bytes());
  }

  // The values are rounded, or replaced by tau, while they are encoded, and before they are taken out: so
  // the residual keeps exactly the part that the peer does not get.
  uint64_t finish_encode() override {
    stream_.synchronize();
    if (odd_here_ != kAllFinite) return odd_here_;
    get_selected();
    encoded_->clear();
    if (format_.kind == CodecFormat::Kind::kLargest) {
      round_values(format_.encoding, selected_.value);
      encode_sparse(format_.encoding, selected_, *encoded_);
    } else {
      encode_threshold(format_.tau, selected_, *encoded_);
    }
    if (keeps_residual_) subtract_selected();
    return kAllFinite;
  }

  void decode(std::string_view bytes, float divisor, float* values) override {
    decode_here(bytes);
    set_dense(stream_, send_selected(), divisor, values, elements_);
    stream_.synchronize();  // the next call overwrites the sent bytes
  }

  // Adds whole arrays, zeros included, as the processor does: adding zeros turns negative zeros into positive
  // ones.
  void add_up(std::span<const std::string_view> parts, float* sums) override {
    PS_CHECK(!parts.empty());
    decode(parts[0], 1, sums);
    if (parts.size() > 1 && dense_.size() < elements_)
      dense_ = gpu::DeviceArray<float>(stream_.device(), elements_);
    for (std::string_view part : parts.subspan(1)) {
      decode(part, 1, dense_.data());
      add_dense(stream_, dense_.data(), elements_, sums);
    }
  }

 private:
  // selected_ <- the result of the last encoding.
  void get_selected() {
    const uint32_t num = elements_ == 0 ? 0 : num_here_;
    selected_.index.resize(num);
    selected_.value.resize(num);
    if (num == 0) return;
    if (format_.kind == CodecFormat::Kind::kFromSize) {
      make_room(num);
      finder_.write(stream_, residual_.data(), elements_, bits_of(format_.tau), index_.data(), value_.data());
    }
    stream_.copy_to_host(selected_.index.data(), index_.data(), num * sizeof(uint32_t));
    stream_.copy_to_host(selected_.value.data(), value_.data(), num * sizeof(float));
    stream_.synchronize();
  }

  // Takes the sent values out of the residual.  They are copied back to the device if they differ from the
  // selected ones.
  void subtract_selected() {
    const auto size = static_cast<uint32_t>(selected_.size());
    if (size == 0) return;
    if (format_.kind == CodecFormat::Kind::kFromSize || rounds_values(format_.encoding))
      stream_.copy_to_device(value_.data(), selected_.value.data(), size * sizeof(float));
    subtract_vector(stream_, {index_.data(), value_.data(), size}, residual_.data());
    stream_.synchronize();
  }

  void decode_here(std::string_view bytes) {
    const auto size = static_cast<uint64_t>(elements_);
    if (format_.kind == CodecFormat::Kind::kLargest) {
      decode_sparse(format_.encoding, bytes, size, selected_);
    } else {
      decode_threshold(format_.tau, bytes, size, selected_);
    }
  }

  // Sends selected_ to the device.  A vector without values needs no memory there.
  SparseThere send_selected() {
    const auto size = static_cast<uint32_t>(selected_.size());
    if (size == 0) return {nullptr, nullptr, 0};
    make_room(size);
    stream_.copy_to_device(index_.data(), selected_.index.data(), size * sizeof(uint32_t));
    stream_.copy_to_device(value_.data(), selected_.value.data(), size * sizeof(float));
    return {index_.data(), value_.data(), size};
  }

  // The arrays only grow, so that a codec soon needs no new memory.
  void make_room(uint64_t size) {
    if (static_cast<int64_t>(size) <= index_.size()) return;
    index_ = gpu::DeviceArray<uint32_t>(stream_.device(), static_cast<int64_t>(size));
    value_ = gpu::DeviceArray<float>(stream_.device(), static_cast<int64_t>(size));
  }

  const bool keeps_residual_;
  DeviceSelector selector_;
  DeviceFinder finder_;
  gpu::DeviceArray<float> dense_;  // scratch for a part that is added
  gpu::DeviceArray<uint32_t> index_, num_;
  gpu::DeviceArray<float> value_;
  uint32_t num_here_ = 0;
  SparseVector selected_;
  std::string* encoded_ = nullptr;  // output of the last begin_encode
};

// A gradient that is encoded as the product of two narrow matrices, or whole if that takes no more bytes.  The
// sums are stored as the residual, like those of a selection.  One owner thread.
class LowRankOnDevice final : public GradientOnDevice {
 public:
  LowRankOnDevice(gpu::Stream& stream, CodedBytes& bytes, const CodecFormat& format, uint64_t elements,
                  bool keeps_residual)
      : GradientOnDevice(stream, format, elements, /*has_residual=*/true),
        keeps_residual_(keeps_residual),
        bytes_(bytes),
        q_(format.shape.q_values()) {}

  std::span<float> factor() override { return q_; }

  void begin_encode(const float* values, float scale, uint64_t step, std::string& bytes) override {
    values_ = values, scale_ = scale, encoded_ = &bytes;
    if (elements_ == 0) return;
    stream_.fill(odd_.data(), 0xff, odd_.bytes());
    make_sums(stream_, {values, scale, residual_.data(), elements_, keeps_residual_, odd_.data()});
    format_.shape.pays() ? encode_factors(step, bytes) : encode_whole(bytes);
    stream_.copy_to_host(&odd_here_, odd_.data(), odd_.bytes());
  }

  // Keeps the new Q on the host, where it is the start of the next step's power iteration, and where
  // checkpoints find it.  The bytes hold it behind P.
  uint64_t finish_encode() override {
    stream_.synchronize();
    if (odd_here_ == kAllFinite && format_.shape.pays())
      std::memcpy(q_.data(), encoded_->data() + format_.shape.p_values() * sizeof(float),
                  q_.size() * sizeof(float));
    return odd_here_;
  }

  // Factors are multiplied while they are written to `values`, so that the product has no memory of its
  // own.  A matrix that was sent whole is copied there and divided in place.
  void decode(std::string_view bytes, float divisor, float* values) override {
    if (elements_ == 0) return;
    if (format_.shape.pays()) return set_product(stream_, send_factors(bytes), divisor, values);
    stream_.copy_to_device(values, bytes.data(), bytes.size());
    divide_there(stream_, elements_, divisor, values);
  }

  // The first part sets the sums, and each further one is added to them, in the order of the processor.
  void add_up(std::span<const std::string_view> parts, float* sums) override {
    PS_CHECK(!parts.empty());
    if (elements_ == 0) return;
    decode(parts[0], 1, sums);
    for (std::string_view part : parts.subspan(1)) {
      if (format_.shape.pays()) {
        add_product(stream_, send_factors(part), sums);
      } else {
        add_dense(stream_, reinterpret_cast<const float*>(bytes_.send(part)), elements_, sums);
      }
    }
  }

 private:
  FactorsThere factors_in(const char* encoded) const {
    const auto* const p = reinterpret_cast<const float*>(encoded);
    return {format_.shape, p, p + format_.shape.p_values()};
  }
  FactorsThere send_factors(std::string_view bytes) { return factors_in(bytes_.send(bytes)); }

  // One power iteration: p = sums q, p is made orthonormal, q = transposed sums times p. q starts from that of
  // the last step. p and q are the encoding; their product is then taken out of the residual.
  void encode_factors(uint64_t step, std::string& bytes) {
    const FactorShape& shape = format_.shape;
    char* const encoded = bytes_.room(bytes.size());
    auto* const p = reinterpret_cast<float*>(encoded);
    float* const q = p + shape.p_values();
    warm_start(vector_kernels(CpuLevel::kBaseline), shape, format_.seed, format_.key, step, q_);
    stream_.copy_to_device(q, q_.data(), q_.size() * sizeof(float));
    multiply_there(stream_, shape, residual_.data(), q, p);
    orthogonalise_there(stream_, shape, p);
    multiply_transposed_there(stream_, shape, residual_.data(), p, q);
    stream_.copy_to_host(bytes.data(), encoded, bytes.size());
    if (keeps_residual_) subtract_product(stream_, factors_in(encoded), residual_.data());
  }

  // A matrix that is sent whole leaves nothing for the residual.
  void encode_whole(std::string& bytes) {
    stream_.copy_to_host(bytes.data(), residual_.data(), bytes.size());
    if (keeps_residual_) stream_.fill(residual_.data(), 0, residual_.bytes());
  }

  const bool keeps_residual_;
  CodedBytes& bytes_;
  std::vector<float> q_;
  const std::string* encoded_ = nullptr;  // output of the last begin_encode
};

// Makes gradients and factors on the stream of the model.  One owner thread.
class CodecModelDevice final : public CodecDevice {
 public:
  CodecModelDevice(std::shared_ptr<ModelDevice> model, gpu::Stream& stream)
      : model_(std::move(model)), stream_(stream), bytes_(stream) {}
  std::unique_ptr<CodecThere> make(const CodecFormat& format, uint64_t elements,
                                   bool keeps_residual) override {
    if (format.kind == CodecFormat::Kind::kLowRank)
      return std::make_unique<LowRankOnDevice>(stream_, bytes_, format, elements, keeps_residual);
    if (format.selects())
      return std::make_unique<SelectionOnDevice>(stream_, format, elements, keeps_residual);
    return std::make_unique<CodecOnDevice>(stream_, bytes_, format, elements, keeps_residual);
  }
  std::unique_ptr<PowerThere> make_power(const FactorShape& shape) override {
    return make_power_on_device(stream_, shape);
  }
  void wait() override { stream_.synchronize(); }

 private:
  const std::shared_ptr<ModelDevice> model_;  // keeps the stream alive
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
