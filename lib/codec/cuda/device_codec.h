// The codecs of gradients (codec/codec.h) on a device: those that codec/codec_there.h names, except for those that
// select values, which are in device_sparse_codec.h.  Bytes, decoded values and rounding errors are those that the
// processor makes, bit for bit.  Compiled for CUDA and for the emulator; used by code that exchanges gradients
// which lie there.
//
// The bytes of fp16 and bf16 are those of one row of codec/row_codec.h with all values, those of int8 are rows of
// `block` values, and one_bit has a format of its own, whose bytes begin at a multiple of four.
//
// An encoding reads values and residual and writes residual and bytes, each once, but for blocks of more than 256
// values of int8, which it reads twice, and for residuals of one_bit, which it writes twice.
#ifndef PS_CODEC_CUDA_DEVICE_CODEC_H_
#define PS_CODEC_CUDA_DEVICE_CODEC_H_

#include <cstdint>

#include "codec/codec_there.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// A gradient to encode: scale x values [size] + residual [size].  The residual becomes the part that the bytes
// do not hold; a null one is not added.  `odd` is lowered to the least index of a sum that is not finite.
struct GradientThere {
  const float* values;
  float scale;
  float* residual;
  int64_t size;
  uint64_t* odd;
  uint64_t step = 0;  // number of earlier encodings of the codec
};

// All functions below queue their work.  All arrays lie in the memory of the stream's device and do not overlap.
// Arrays of values are aligned like floats; encoded ones of f16 and bf16 to 2 bytes, of one_bit to 4, and others may
// begin at any byte.  The format does not select values.
// encode_gradient: encoded <- the bytes of the codec.
void encode_gradient(gpu::Stream& stream, const CodecFormat& format, const GradientThere& gradient,
                     char* encoded);

// values [size] <- decoded / divisor; sums [size] <- decoded; sums += decoded
void decode_gradient(gpu::Stream& stream, const CodecFormat& format, const char* encoded, int64_t size,
                     float divisor, float* values);
void set_decoded(gpu::Stream& stream, const CodecFormat& format, const char* encoded, int64_t size,
                 float* sums);
void add_decoded(gpu::Stream& stream, const CodecFormat& format, const char* encoded, int64_t size,
                 float* sums);

// Returns true for formats whose parts are not decoded before they are added: add_up_parts adds them.
bool adds_parts_together(const CodecFormat& format);

// sums [size] <- the sum of `num` encoded gradients of `bytes` bytes each, which lie one after the other.
void add_up_parts(gpu::Stream& stream, const CodecFormat& format, const char* parts, int64_t num,
                  int64_t bytes, int64_t size, float* sums);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_CODEC_CUDA_DEVICE_CODEC_H_
