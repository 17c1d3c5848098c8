// The formats of blocks of whole numbers on a device: int8 with stochastic rounding and shared_scale_int, which
// has its own kernel for sums.  lib/codec/int8.cc and lib/codec/shared_scale.cc describe the formats.  Used by
// device_codec.cu alone.
#ifndef PS_CODEC_CUDA_WHOLE_BLOCK_KERNELS_H_
#define PS_CODEC_CUDA_WHOLE_BLOCK_KERNELS_H_

#include <cstdint>

#include "base/philox.h"
#include "codec/cuda/codec_kernels.h"
#include "codec/kernels/whole_rules.h"
#include "gpu/device.h"

namespace ps::device_codec {

inline namespace PS_GPU_NAMESPACE {

// int8 with stochastic rounding.  Bytes are decoded as NearestBytes does.
struct EvenBytes : NearestBytes {
  struct Block {
    float scale;  // 0: all values become zero
    EvenWords words;
  };

  uint64_t seed, step;

  __device__ Block block_of(uint32_t largest, int64_t index) const {
    if (largest >= kInfinity) return {0, {0, 0}};  // the host refuses the encoding
    const PhiloxNumbers random = philox_numbers(seed, step, static_cast<uint64_t>(index));
    return {even_scale(largest), EvenWords::of(random.numbers)};
  }
  __device__ static void write_head(const Block& block, char* out) { write_float(block.scale, out); }
  __device__ static float write(const Block& block, float value, int64_t j, char* out) {
    const bool some = block.scale > 0;
    const signed char byte = some ? even_byte(value, static_cast<uint32_t>(j), block.scale, block.words)
                                  : static_cast<signed char>(0);
    *out = static_cast<char>(byte);
    return block.scale * static_cast<float>(byte);
  }
};

__device__ inline void write_two(int32_t value, char* out) {
  out[0] = static_cast<char>(value);
  out[1] = static_cast<char>(value >> 8);
}

__device__ inline int32_t read_two(const char* in) {
  const auto low = static_cast<unsigned char>(in[0]);
  return static_cast<int32_t>(low) | static_cast<int32_t>(static_cast<signed char>(in[1])) * 256;
}

// Whole numbers of kBits bits with a scale that is a power of two.
template <int kBits>
struct SharedWholes {
  static constexpr int64_t kHead = 2, kWidth = kBits / 8;
  struct Block {
    int32_t exponent;
    bool finite;
  };
  using Scale = float;

  __device__ Block block_of(uint32_t largest, int64_t) const {
    return {shared_exponent(largest, kBits), largest < kInfinity};
  }
  __device__ static void write_head(const Block& block, char* out) { write_two(block.exponent, out); }
  __device__ static float write(const Block& block, float value, int64_t, char* out) {
    const Lattice lattice{power_of_two(-block.exponent), shared_bound(kBits)};
    const int32_t whole = block.finite ? lattice_point(value, lattice) : 0;
    if constexpr (kBits == 8) {
      *out = static_cast<char>(whole);
    } else {
      write_two(whole, out);
    }
    return power_of_two(block.exponent) * static_cast<float>(whole);
  }
  __device__ static int32_t whole_at(const char* in) {
    if constexpr (kBits == 8) return static_cast<signed char>(*in);
    return read_two(in);
  }
  __device__ static Scale read_head(const char* in) { return power_of_two(read_two(in)); }
  __device__ static float read(Scale scale, const char* in) {
    return scale * static_cast<float>(whole_at(in));
  }
};

// Encoded gradients that lie one after the other.
struct EncodedParts {
  const char* bytes;
  int64_t num, each;  // number of parts, and the bytes of one
};

// A thread adds up a value of all parts, as sum_shared_scale does (codec/shared_scale.h).
template <int kBits>
__global__ void add_shared(EncodedParts parts, int64_t size, int64_t chunk, float* sums) {
  using Format = SharedWholes<kBits>;
  const int64_t i = thread_index();
  if (i >= size) return;
  const char* const head = parts.bytes + i / chunk * (Format::kHead + chunk * Format::kWidth);
  const int64_t value = Format::kHead + i % chunk * Format::kWidth;
  int exponent = kLeastSharedExponent;
  for (int64_t part = 0; part < parts.num; ++part) {
    const int own = read_two(head + part * parts.each);
    exponent = exponent < own ? own : exponent;
  }
  int64_t sum = 0;
  for (int64_t part = 0; part < parts.num; ++part) {
    const char* const own = head + part * parts.each;
    sum += shared_units(Format::whole_at(own + value), read_two(own) - exponent + kSharedBits);
  }
  sums[i] = shared_sum(sum, exponent);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_codec

#endif  // PS_CODEC_CUDA_WHOLE_BLOCK_KERNELS_H_
