// Bytes with a scale for each block.
//
//   block := scale:f32 value:i8[n]      a value is scale x value; scale is the largest size of the block / 127
//
// Stochastic rounding keeps the mean of a value; its random numbers depend on (seed, key of the parameter,
// step, index).
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "codec/block_codec.h"
#include "codec/entries.h"
#include "codec/kernels/whole_rules.h"
#include "codec/row_codec.h"
#include "codec/vector_kernels.h"

namespace ps {

namespace {

struct Int8Options : FeedbackOptions {
  int64_t block = 256;
  std::string rounding = "nearest";

  static const ObjectSpec<Int8Options>& spec() {
    static const ObjectSpec<Int8Options> spec = [] {
      ObjectSpec<Int8Options> s;
      s.field("block", &Int8Options::block, "values that share a scale").at_least(1).at_most(65536);
      s.field("rounding", &Int8Options::rounding,
              "to the nearest, or up and down by chance so that the mean is right")
          .one_of({"nearest", "stochastic"});
      add_feedback_field(s);
      return s;
    }();
    return spec;
  }
};

class Int8Codec final : public BlockCodec {
 public:
  Int8Codec(const Int8Options& options, const CodecTarget& target)
      : BlockCodec(target, options.error_feedback, options.block),
        stochastic_(options.rounding == "stochastic"),
        seed_(hash_key(target.seed) ^ target.key) {}

  std::optional<CodecFormat> format_there() const override {
    using Kind = CodecFormat::Kind;
    return CodecFormat{
        .kind = stochastic_ ? Kind::kInt8Even : Kind::kInt8, .block = block_size(), .seed = seed_};
  }

 private:
  int64_t encoded_bytes(int64_t n) const override { return int64_t{sizeof(float)} + n; }

  // A block that is rounded to the nearest is a row of int8.  For stochastic rounding the random numbers
  // come from the seed, the step and the number of the block, so that they do not depend on the order of
  // work.
  void encode_block(const float* values, int64_t n, Block block, char* out) const override {
    if (!stochastic_) return row_codec(RowType::kInt8, target().cpu).encode(values, 1, n, out);
    const VectorKernels& kernels = this->kernels();
    const float scale = even_scale(kernels.largest_size(values, n));
    if (scale == 0) {
      std::memset(out, 0, static_cast<size_t>(encoded_bytes(n)));
      return;
    }
    std::memcpy(out, &scale, sizeof scale);
    const PhiloxNumbers random = philox_numbers(seed_, block.step, block.index);
    kernels.round_bytes(values, n, scale, random.numbers, reinterpret_cast<signed char*>(out + sizeof scale));
  }

  void decode_block(const char* in, int64_t n, float* values) const override {
    const float scale = read_scale(in);
    kernels().scale_bytes(reinterpret_cast<const signed char*>(in + sizeof scale), n, scale, values);
  }

  void check_block(const char* in, int64_t) const override { read_scale(in); }

  static float read_scale(const char* in) {
    float scale;
    std::memcpy(&scale, in, sizeof scale);
    if (!(scale >= 0) || !std::isfinite(scale * 127)) fail(Code::kCorrupt, "encoded gradient: scale ", scale);
    return scale;
  }

  const bool stochastic_;
  const uint64_t seed_;
};

}  // namespace

constinit const CodecEntry kInt8Codec = codec_entry<Int8Codec, Int8Options>(
    "int8", "Bytes with a scale for each block of values. A quarter of the bytes.");

}  // namespace ps
