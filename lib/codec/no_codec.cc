// No compression: values stay 32-bit floats.
//
//   block := f32[n]
#include <cstring>

#include "codec/block_codec.h"
#include "codec/entries.h"

namespace ps {

namespace {

constexpr int64_t kCopiedBlock = 4096;

struct NoOptions {
  static const ObjectSpec<NoOptions>& spec() {
    static const ObjectSpec<NoOptions> spec;
    return spec;
  }
};

class NoCodec final : public BlockCodec {
 public:
  NoCodec(const NoOptions&, const CodecTarget& target) : BlockCodec(target, false, kCopiedBlock) {}

 private:
  int64_t encoded_bytes(int64_t n) const override { return n * int64_t{sizeof(float)}; }
  void encode_block(const float* values, int64_t n, Block, char* out) const override {
    std::memcpy(out, values, static_cast<size_t>(n) * sizeof(float));
  }
  void decode_block(const char* in, int64_t n, float* values) const override {
    std::memcpy(values, in, static_cast<size_t>(n) * sizeof(float));
  }
};

}  // namespace

constinit const CodecEntry kNoCodec = codec_entry<NoCodec, NoOptions>("none", "Floats as they are.");

}  // namespace ps
