// Floats of 16 bits.
//
//   block := u16[n]      as codec/row_codec.h makes them
//
// If a value is too large for fp16, the residual keeps the excess, which is sent with the next gradients.
#include "codec/block_codec.h"
#include "codec/entries.h"
#include "codec/row_codec.h"

namespace ps {

namespace {

// Floats and their residuals fill half of a first-level cache of 32 KiB.
constexpr int64_t kHalvesBlock = 2048;

struct HalfOptions : FeedbackOptions {
  static const ObjectSpec<HalfOptions>& spec() {
    static const ObjectSpec<HalfOptions> spec = [] {
      ObjectSpec<HalfOptions> s;
      add_feedback_field(s);
      return s;
    }();
    return spec;
  }
};

template <RowType kType>
class HalfCodec final : public BlockCodec {
 public:
  HalfCodec(const HalfOptions& options, const CodecTarget& target)
      : BlockCodec(target, options.error_feedback, kHalvesBlock) {}

  std::optional<CodecFormat> format_there() const override {
    using Kind = CodecFormat::Kind;
    return CodecFormat{.kind = kType == RowType::kF16 ? Kind::kF16 : Kind::kBf16, .block = block_size()};
  }

 private:
  int64_t encoded_bytes(int64_t n) const override { return 2 * n; }
  void encode_block(const float* values, int64_t n, Block, char* out) const override {
    row_codec(kType, target().cpu).encode(values, 1, n, out);
  }
  void decode_block(const char* in, int64_t n, float* values) const override {
    row_codec(kType, target().cpu).decode(in, 1, n, values);
  }
};

}  // namespace

constinit const CodecEntry kFp16Codec = codec_entry<HalfCodec<RowType::kF16>, HalfOptions>(
    "fp16", "IEEE 754 binary16: 11 bits of precision, up to 65504. Half the bytes.");

constinit const CodecEntry kBf16Codec = codec_entry<HalfCodec<RowType::kBf16>, HalfOptions>(
    "bf16", "The upper half of a float: 8 bits of precision, a float's range. Half the bytes.");

}  // namespace ps
