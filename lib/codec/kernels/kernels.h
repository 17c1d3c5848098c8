// The loops of codec/ that are compiled once for each level of instruction sets, as a table of functions.
#ifndef PS_CODEC_KERNELS_KERNELS_H_
#define PS_CODEC_KERNELS_KERNELS_H_

#include <cstdint>

namespace ps {

// Values of a row of int8_blocks that share a scale.
inline constexpr int64_t kRowBlock = 256;

// Encoded and decoded rows are contiguous.  Encoded rows may be at any address.
struct RowCodec {
  // encoded <- values [rows, cols]
  void (*encode)(const float* values, int64_t rows, int64_t cols, char* encoded);

  // Error feedback (Seide et al., Interspeech 2014): encodes values + error, and sets `error` [rows, cols] to
  // the rounding error, for the next call.  The error of a value that is not finite becomes zero.
  void (*encode_with_error)(const float* values, float* error, int64_t rows, int64_t cols, char* encoded);

  // values [rows, cols] <- encoded
  void (*decode)(const char* encoded, int64_t rows, int64_t cols, float* values);
};

}  // namespace ps

#endif  // PS_CODEC_KERNELS_KERNELS_H_
