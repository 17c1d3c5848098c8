#include "codec/block_codec.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

int64_t BlockCodec::bytes_of(int64_t n) const {
  const int64_t rest = n % block_size_;
  return n / block_size_ * encoded_bytes(block_size_) + (rest > 0 ? encoded_bytes(rest) : 0);
}

// Does all work on a block, sums and residual included, while the block is in the first-level cache.
void BlockCodec::encode_values(const Encoding& in, std::string& bytes) {
  const VectorKernels& kernels = this->kernels();
  const int64_t n = static_cast<int64_t>(in.values.size());
  bytes.resize(static_cast<size_t>(bytes_of(n)));
  char* out = bytes.data();
  Block block{in.step, 0};
  for (int64_t begin = 0; begin < n; begin += block_size_, ++block.index) {
    const int64_t size = std::min(block_size_, n - begin);
    const float* values = in.values.data() + begin;
    float* sums = in.residual != nullptr ? in.residual + begin : nullptr;
    // The kernel that adds finds the largest size on the way, by which infinities and NaNs are refused.
    const uint32_t largest =
        sums != nullptr ? kernels.add(values, size, sums) : kernels.largest_size(values, size);
    if (largest >= kInfiniteSize) refuse(in);
    encode_block(sums != nullptr ? sums : values, size, block, out);
    if (sums != nullptr) {
      decode_block(out, size, decoded_.data());
      kernels.subtract(decoded_.data(), size, sums);
    }
    out += encoded_bytes(size);
  }
}

void BlockCodec::check_size(std::string_view bytes, int64_t n) const {
  if (static_cast<int64_t>(bytes.size()) == bytes_of(n)) return;
  fail(Code::kCorrupt, "encoded gradient: ", bytes.size(), " bytes, expected ", bytes_of(n), " for ", n,
       " values");
}

// Goes through the blocks without decoding them, since a receiver checks the bytes of its peers before it
// uses any.
void BlockCodec::check(std::string_view bytes, int64_t n) const {
  check_size(bytes, n);
  const char* from = bytes.data();
  for (int64_t begin = 0; begin < n; begin += block_size_) {
    const int64_t size = std::min(block_size_, n - begin);
    check_block(from, size);
    from += encoded_bytes(size);
  }
}

void BlockCodec::check_encoded(std::string_view bytes, int64_t n) const {
  const char* from = bytes.data();
  for (int64_t begin = 0; begin < n; begin += block_size_) {
    const int64_t size = std::min(block_size_, n - begin);
    check_encoded_block(from, size);
    from += encoded_bytes(size);
  }
}

void BlockCodec::decode(std::string_view bytes, std::span<float> values) const {
  const int64_t n = static_cast<int64_t>(values.size());
  check_size(bytes, n);
  const char* from = bytes.data();
  for (int64_t begin = 0; begin < n; begin += block_size_) {
    const int64_t size = std::min(block_size_, n - begin);
    decode_block(from, size, values.data() + begin);
    from += encoded_bytes(size);
  }
}

}  // namespace ps
