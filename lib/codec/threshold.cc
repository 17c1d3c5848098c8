// Threshold: Strom, "Scalable distributed DNN training using commodity GPU cloud computing", Interspeech
// 2015.  A value whose size is at least tau is sent as tau or -tau; the residual keeps the rest.
//
//   bytes := element:u32[k]      index x 2 + 1 for -tau, ascending
//
// decoded + residual differs from the sum by one rounding where the sum is more than twice tau.
#include "codec/threshold.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "codec/entries.h"
#include "codec/sparse_vector.h"
#include "codec/vector_kernels.h"

namespace ps {

namespace {

struct ThresholdOptions : FeedbackOptions {
  double tau = 0.001;

  static const ObjectSpec<ThresholdOptions>& spec() {
    static const ObjectSpec<ThresholdOptions> spec = [] {
      ObjectSpec<ThresholdOptions> s;
      s.field("tau", &ThresholdOptions::tau, "size from which on a value is sent, as this size")
          .at_least(1e-30)
          .at_most(1e30);
      add_feedback_field(s);
      return s;
    }();
    return spec;
  }
};

// Calls body(index, value) for each element.  Throws kCorrupt.
// Indices must ascend, so that each value is set once, and be below `size`, since `values` ends there.
template <class Body>
void for_elements(float tau, std::string_view bytes, uint64_t size, Body&& body) {
  if (bytes.size() % sizeof(uint32_t) != 0)
    fail(Code::kCorrupt, "encoded gradient: ", bytes.size(), " bytes");
  ByteReader in(bytes);
  uint64_t next = 0;
  while (in.remaining() > 0) {
    const uint32_t element = in.get<uint32_t>(), index = element >> 1;
    if (index < next || index >= size) fail(Code::kCorrupt, "encoded gradient: index ", index);
    body(index, (element & 1) != 0 ? -tau : tau);
    next = uint64_t{index} + 1;
  }
}

class ThresholdCodec final : public Codec {
 public:
  ThresholdCodec(const ThresholdOptions& options, const CodecTarget& target)
      : Codec(target, options.error_feedback), tau_(static_cast<float>(options.tau)) {}

  void decode(std::string_view bytes, std::span<float> values) const override {
    std::fill(values.begin(), values.end(), 0.0f);
    for_elements(tau_, bytes, values.size(), [&](uint32_t index, float value) { values[index] = value; });
  }

  std::optional<CodecFormat> format_there() const override {
    return CodecFormat{.kind = CodecFormat::Kind::kFromSize, .tau = tau_};
  }

 private:
  // Works in chunks, whose found values are encoded and taken out of the residual at once.  The bits of
  // positive floats have the order of the floats, so those of tau_ are the least size to collect.
  void encode_values(const Encoding& in, std::string& bytes) override {
    PS_CHECK(in.values.size() <= kMaxSparseSize);
    const std::span<const float> sums = add_residual(in);
    bytes.clear();
    for (size_t begin = 0; begin < sums.size(); begin += kChunk) {
      const int64_t n = static_cast<int64_t>(std::min<size_t>(kChunk, sums.size() - begin));
      found_.index.resize(static_cast<size_t>(n));
      found_.value.resize(static_cast<size_t>(n));
      const auto count = static_cast<size_t>(
          kernels().collect(sums.data() + begin, n, static_cast<uint32_t>(begin),
                            std::bit_cast<uint32_t>(tau_), {found_.index.data(), found_.value.data()}));
      found_.index.resize(count);
      found_.value.resize(count);
      encode_threshold(tau_, found_, bytes);
      if (in.residual == nullptr) continue;
      for (size_t i = 0; i < count; ++i) in.residual[found_.index[i]] -= found_.value[i];
    }
  }

  static constexpr size_t kChunk = 1 << 16;  // values of one call of the kernel

  const float tau_;
  SparseVector found_;
};

}  // namespace

void encode_threshold(float tau, SparseVector& found, std::string& bytes) {
  for (size_t i = 0; i < found.size(); ++i) {
    const bool negative = found.value[i] < 0;
    put(bytes, found.index[i] << 1 | (negative ? 1u : 0u));
    found.value[i] = negative ? -tau : tau;
  }
}

void decode_threshold(float tau, std::string_view bytes, uint64_t size, SparseVector& sparse) {
  sparse.clear();
  for_elements(tau, bytes, size, [&](uint32_t index, float value) {
    sparse.index.push_back(index);
    sparse.value.push_back(value);
  });
}

constinit const CodecEntry kThresholdCodec = codec_entry<ThresholdCodec, ThresholdOptions>(
    "threshold",
    "Values of at least a size, sent as this size with their sign and index in 32 bits. It needs error "
    "feedback to converge.");

}  // namespace ps
