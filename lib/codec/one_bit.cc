// 1-bit SGD: Seide et al., "1-bit stochastic gradient descent and its application to data-parallel
// distributed training of speech DNNs", Interspeech 2014.  Each value is encoded as its sign.  Each block has
// the mean of its non-negative values and the mean of its negative values, which minimises the error.  (In
// the paper, a block is a column.)
//
//   block := positive:f32 negative:f32 words:u32[16 ceil(n / 512)]
//   bit i / 16 of word i mod 16 of a group of 512 is value i of the group, 1 when it is negative; others are 0
//
// decoded + residual differs from the sum by one rounding, since a mean may be far from a value.
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "codec/block_codec.h"
#include "codec/entries.h"
#include "codec/vector_kernels.h"

namespace ps {

namespace {

constexpr int64_t kMaxBlock = 16384, kGroupWords = 16;

struct OneBitOptions : FeedbackOptions {
  int64_t block = 2048;

  static const ObjectSpec<OneBitOptions>& spec() {
    static const ObjectSpec<OneBitOptions> spec = [] {
      ObjectSpec<OneBitOptions> s;
      s.field("block", &OneBitOptions::block, "values that share two means, a multiple of 512")
          .at_least(kSignGroup)
          .at_most(kMaxBlock);
      add_feedback_field(s);
      s.check([](const OneBitOptions& options, std::string_view path) {
        if (options.block % kSignGroup == 0) return;
        fail(Code::kUsage, json_path(path, "block"), ": ", options.block, " is not a multiple of ",
             kSignGroup);
      });
      return s;
    }();
    return spec;
  }
};

using Words = std::array<uint32_t, kMaxBlock / 32>;

class OneBitCodec final : public BlockCodec {
 public:
  OneBitCodec(const OneBitOptions& options, const CodecTarget& target)
      : BlockCodec(target, options.error_feedback, options.block) {}

  std::optional<CodecFormat> format_there() const override {
    return CodecFormat{.kind = CodecFormat::Kind::kOneBit, .block = block_size()};
  }

 private:
  static bool is_finite(const SignBlock& block) {
    return std::isfinite(block.positive) && std::isfinite(block.negative);
  }

  static SignBlock read(const char* in) {
    SignBlock block;
    std::memcpy(&block, in, sizeof block);
    return block;
  }

  static int64_t word_bytes(int64_t n) {
    return (n + kSignGroup - 1) / kSignGroup * kGroupWords * int64_t{sizeof(uint32_t)};
  }

  int64_t encoded_bytes(int64_t n) const override { return int64_t{sizeof(SignBlock)} + word_bytes(n); }

  // The words pass through an aligned array, since `out` may begin at any byte.  A mean that overflows is
  // refused here, before the block is sent.
  void encode_block(const float* values, int64_t n, Block, char* out) const override {
    Words words;
    const SignBlock block = kernels().encode_signs(values, n, words.data());
    std::memcpy(out, &block, sizeof block);
    std::memcpy(out + sizeof block, words.data(), static_cast<size_t>(word_bytes(n)));
    check_encoded_block(out, n);
  }

  // A mean of finite values may overflow in float, since its sum does.
  void check_encoded_block(const char* in, int64_t n) const override {
    if (is_finite(read(in))) return;
    fail(Code::kData, "a gradient has values that are too large for the mean of ", n, " of them");
  }

  void check_block(const char* in, int64_t) const override {
    const SignBlock block = read(in);
    if (is_finite(block)) return;
    fail(Code::kCorrupt, "encoded gradient: means ", block.positive, " and ", block.negative);
  }

  void decode_block(const char* in, int64_t n, float* values) const override {
    check_block(in, n);
    const SignBlock block = read(in);
    Words words;
    std::memcpy(words.data(), in + sizeof block, static_cast<size_t>(word_bytes(n)));
    kernels().decode_signs(words.data(), block, n, values);
  }
};

}  // namespace

constinit const CodecEntry kOneBitCodec = codec_entry<OneBitCodec, OneBitOptions>(
    "one_bit",
    "Signs, and for each block the means of its positive and its negative values. A thirtieth of the "
    "bytes. It needs error feedback to converge.");

}  // namespace ps
