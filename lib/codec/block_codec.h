// BlockCodec: the base of codecs that encode each block of values on its own, in a number of bytes that depends
// on the number of values alone.  Used by the codecs fp16, bf16, int8, one_bit and shared_scale_int.
//
//   bytes := block[ceil(n / size)]      the last one may have fewer values
#ifndef PS_CODEC_BLOCK_CODEC_H_
#define PS_CODEC_BLOCK_CODEC_H_

#include "codec/codec.h"

namespace ps {

// One owner thread, except for decode, as Codec says.
class BlockCodec : public Codec {
 public:
  void decode(std::string_view bytes, std::span<float> values) const final;

 protected:
  struct Block {
    uint64_t step, index;
  };

  BlockCodec(const CodecTarget& target, bool keeps_residual, int64_t block_size)
      : Codec(target, keeps_residual), block_size_(block_size), decoded_(static_cast<size_t>(block_size)) {}

  // Returns the bytes of a block of n values, n <= block_size.
  virtual int64_t encoded_bytes(int64_t n) const = 0;

  // out [encoded_bytes(n)] <- values [n], which must be finite.  Throws kData.
  virtual void encode_block(const float* values, int64_t n, Block block, char* out) const = 0;

  // values [n] <- in [encoded_bytes(n)].  Throws kCorrupt.
  virtual void decode_block(const char* in, int64_t n, float* values) const = 0;

  // Throws kCorrupt for a block that decode_block refuses.
  virtual void check_block(const char* in, int64_t n) const { (void)in, (void)n; }

  // Throws kData for a block that encode_block refuses to make of finite values.
  virtual void check_encoded_block(const char* in, int64_t n) const { (void)in, (void)n; }

  int64_t block_size() const { return block_size_; }

 private:
  void encode_values(const Encoding& in, std::string& bytes) final;
  int64_t bytes_of(int64_t n) const final;
  void check(std::string_view bytes, int64_t n) const final;
  void check_encoded(std::string_view bytes, int64_t n) const final;
  void check_size(std::string_view bytes, int64_t n) const;

  const int64_t block_size_;
  std::vector<float> decoded_;  // owner thread: the decoded values of one block
};

}  // namespace ps

#endif  // PS_CODEC_BLOCK_CODEC_H_
