// The kernels of codecs of gradients on a device.  Used by device_codec.cu alone.  A thread works on one value of a
// float format, and a warp on a block of bytes.
//
// With kError the kernels encode values + error, and set `error` to the rounding error.
//
// Template parameters of kernels say how values are read and how decoded values are stored.
#ifndef PS_CODEC_CUDA_CODEC_KERNELS_H_
#define PS_CODEC_CUDA_CODEC_KERNELS_H_

#include <cstdint>

#include "codec/kernels/row_rules.h"
#include "gpu/device.h"

namespace ps::device_codec {

inline namespace PS_GPU_NAMESPACE {

using gpu::kFullWarp;
using gpu::kWarpSize;

__device__ inline int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline uint32_t larger(uint32_t x, uint32_t y) {
  return x < y ? y : x;
}

__device__ inline void write_float(float value, char* to) {
  for (int n = 0; n < 4; ++n) to[n] = static_cast<char>(bits_of(value) >> 8 * n);
}

__device__ inline float read_float(const char* from) {
  uint32_t bits = 0;
  for (int n = 0; n < 4; ++n) bits |= static_cast<uint32_t>(static_cast<unsigned char>(from[n])) << 8 * n;
  return float_of(bits);
}

// Reads values and multiplies them first; lowers `odd` to the least index of a sum that is not finite.
struct Scaled {
  const float* values;
  float scale;
  uint64_t* odd;

  __device__ float at(int64_t i) const { return scale * values[i]; }
  __device__ void check(int64_t i, float sum) const {
    if ((bits_of(sum) & ~kSign) < kInfinity) return;
    gpu::atomic_min<gpu::Order::kRelaxed>(odd, static_cast<uint64_t>(i));
  }
};

// Stores decoded values: as they are (Set), divided, or added to the values that are there.
struct Set {
  float* values;
  __device__ void put(int64_t i, float value) const { values[i] = value; }
};
struct Divided {
  float* values;
  float divisor;
  __device__ void put(int64_t i, float value) const { values[i] = value / divisor; }
};
struct Added {
  float* values;
  __device__ void put(int64_t i, float value) const { values[i] += value; }
};

template <class Format>
using Coded = decltype(Format::encode(0.0f));

template <class Format, bool kError, class Values>
__global__ void encode_values(Values values, float* error, int64_t size, Coded<Format>* encoded) {
  const int64_t i = thread_index();
  if (i >= size) return;
  const float sum = kError ? error[i] + values.at(i) : values.at(i);
  values.check(i, sum);
  const Coded<Format> coded = Format::encode(sum);
  encoded[i] = coded;
  if constexpr (kError) error[i] = rounding_error(sum, Format::decode(coded));
}

template <class Format, class Into>
__global__ void decode_values(const Coded<Format>* encoded, int64_t size, Into into) {
  const int64_t i = thread_index();
  if (i < size) into.put(i, Format::decode(encoded[i]));
}

// Rows whose blocks of `block` values have a head of some bytes each, and then their values; the last block of a row may have
// fewer.
struct BlockRows {
  int64_t rows, cols, block;
};

// The block of a warp, in a format with these bytes of a head and of a value.
struct BlockOfWarp {
  int64_t size;           // 0: the warp has no block
  int64_t values, bytes;  // where its values and its bytes begin
  int64_t index;          // number of the block in its row

  template <class Format>
  static __device__ BlockOfWarp of(const BlockRows& rows, int64_t warp) {
    const int64_t each = (rows.cols + rows.block - 1) / rows.block;  // number of blocks of a row
    const int64_t row = warp / each, n = warp % each;
    if (row >= rows.rows) return {0, 0, 0, 0};
    const int64_t left = rows.cols - n * rows.block;
    return {left < rows.block ? left : rows.block, row * rows.cols + n * rows.block,
            row * (rows.cols * Format::kWidth + each * Format::kHead) +
                n * (rows.block * Format::kWidth + Format::kHead),
            n};
  }
};

// A format of blocks has
//
//   kHead, kWidth            bytes of a head and of a value
//   Block                    what is computed for a block from the largest size of its values, by block_of
//   write_head(block, out)
//   write(block, value, j, out)   writes value j of the block, and returns what it is decoded to
//   Scale, read_head(in), read(scale, in)
//
// int8, rounded to the nearest.
struct NearestBytes {
  static constexpr int64_t kHead = sizeof(float), kWidth = 1;
  using Block = ByteScale;
  using Scale = float;

  __device__ Block block_of(uint32_t largest, int64_t) const { return ByteScale::of_size(largest); }
  __device__ static void write_head(const Block& block, char* out) { write_float(block.scale, out); }
  __device__ static float write(const Block& block, float value, int64_t, char* out) {
    const signed char byte = block.byte_of(value);
    *out = static_cast<char>(byte);
    return block.value_of(byte);
  }
  __device__ static Scale read_head(const char* in) { return read_float(in); }
  __device__ static float read(Scale scale, const char* in) {
    return scale * static_cast<float>(static_cast<signed char>(*in));
  }
};

// A lane keeps kOwn values of a stretch in registers, so that a block of up to kStretch values is read once.
constexpr int64_t kOwn = 8, kStretch = kOwn * kWarpSize;

template <bool kError, class Format, class Values>
__global__ void encode_blocks(Values values, float* all_errors, BlockRows rows, Format format,
                              char* encoded) {
  const auto at = BlockOfWarp::of<Format>(rows, thread_index() / kWarpSize);
  if (at.size == 0) return;
  float* error = kError ? all_errors + at.values : nullptr;
  const int64_t lane = gpu::lane();
  float own[kOwn] = {};
  uint32_t largest = 0;
  for (int64_t begin = 0; begin < at.size; begin += kStretch) {
    for (int64_t n = 0; n < kOwn; ++n) {
      const int64_t j = begin + n * kWarpSize + lane;
      own[n] = 0;
      if (j >= at.size) continue;
      const float value = values.at(at.values + j);
      own[n] = kError ? error[j] + value : value;
      values.check(at.values + j, own[n]);
      largest = larger(largest, bits_of(own[n]) & ~kSign);
    }
  }
  const auto block = format.block_of(gpu::reduce_max(kFullWarp, largest), at.index);
  char* out = encoded + at.bytes;
  if (lane == 0) format.write_head(block, out);
  out += Format::kHead;
  for (int64_t begin = 0; begin < at.size; begin += kStretch) {
    for (int64_t n = 0; n < kOwn; ++n) {
      const int64_t j = begin + n * kWarpSize + lane;
      if (j >= at.size) continue;
      if (at.size > kStretch) {
        const float value = values.at(at.values + j);
        own[n] = kError ? error[j] + value : value;
      }
      const float decoded = format.write(block, own[n], j, out + j * Format::kWidth);
      if constexpr (kError) error[j] = rounding_error(own[n], decoded);
    }
  }
}

template <class Format, class Into>
__global__ void decode_blocks(const char* encoded, BlockRows rows, Into into) {
  const auto at = BlockOfWarp::of<Format>(rows, thread_index() / kWarpSize);
  if (at.size == 0) return;
  const char* in = encoded + at.bytes;
  const auto scale = Format::read_head(in);
  in += Format::kHead;
  for (int64_t j = gpu::lane(); j < at.size; j += kWarpSize) {
    into.put(at.values + j, Format::read(scale, in + j * Format::kWidth));
  }
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_codec

#endif  // PS_CODEC_CUDA_CODEC_KERNELS_H_
