// The kernels of the codec one_bit on a device: lib/codec/one_bit.cc has the format.  Used by
// device_codec.cu alone.  Half a warp encodes a block, in which each lane adds up the same values as a lane
// of the processor does.  One thread decodes a value.
#ifndef PS_CODEC_CUDA_SIGN_BLOCK_KERNELS_H_
#define PS_CODEC_CUDA_SIGN_BLOCK_KERNELS_H_

#include <cstdint>

#include "codec/cuda/codec_kernels.h"
#include "codec/kernels/sign_rules.h"
#include "codec/kernels/vector_kernels.h"
#include "gpu/device.h"

namespace ps::device_codec {

inline namespace PS_GPU_NAMESPACE {

constexpr int64_t kLanesOfBlock = 16;

// `size` values in blocks of `block`, of which the last may have fewer.
struct SignBlocks {
  int64_t size, block;

  __device__ static int64_t words_of(int64_t values) {
    return (values + kSignGroup - 1) / kSignGroup * kLanesOfBlock;
  }
  // All blocks but the last have the same bytes, a multiple of four.
  __device__ int64_t bytes_before(int64_t index) const {
    return index * static_cast<int64_t>(sizeof(SignBlock) + sizeof(uint32_t) * words_of(block));
  }
};

// Adds up the values of 16 lanes in their order, in all of them.
template <class T>
__device__ T sum_in_order(T own, unsigned first_lane) {
  T sum = 0;
  for (unsigned n = 0; n < kLanesOfBlock; ++n) sum += gpu::shuffle(kFullWarp, own, first_lane + n);
  return sum;
}

// The two halves of a warp make the same number of turns, even if one has fewer values or none.
template <bool kError, class Values>
__global__ void encode_sign_blocks(Values values, float* all_errors, SignBlocks blocks, char* encoded) {
  const int64_t index = thread_index() / kLanesOfBlock, begin = index * blocks.block;
  const unsigned lane = gpu::lane() % kLanesOfBlock, first_lane = gpu::lane() - lane;
  const int64_t left = blocks.size - begin;
  const int64_t size = left < 0 ? 0 : left < blocks.block ? left : blocks.block;
  float* const error = kError && size > 0 ? all_errors + begin : nullptr;
  char* const out = encoded + (size > 0 ? blocks.bytes_before(index) : 0);
  uint32_t* const words = reinterpret_cast<uint32_t*>(out + sizeof(SignBlock));
  float up = 0, down = 0;
  int num_negative = 0;
  for (int64_t group = 0; group < size; group += kSignGroup) {
    uint32_t word = 0;
    for (int bit = 0; bit < 32; ++bit) {
      const int64_t j = group + bit * kLanesOfBlock + lane;
      if (j >= size) break;
      const float value = values.at(begin + j);
      const float sum = kError ? error[j] + value : value;
      values.check(begin + j, sum);
      if constexpr (kError) error[j] = sum;
      const uint32_t negative = sign_of(sum);
      word |= negative << bit;
      num_negative += static_cast<int>(negative);
      up += negative != 0 ? 0 : sum;
      down += negative != 0 ? sum : 0;
    }
    words[group / kSignGroup * kLanesOfBlock + lane] = word;
  }
  const float all_up = sum_in_order(up, first_lane), all_down = sum_in_order(down, first_lane);
  const int64_t below = sum_in_order(num_negative, first_lane);
  if (size == 0) return;
  const SignBlock means{mean_of(all_up, size - below), mean_of(all_down, below)};
  if (lane == 0) *reinterpret_cast<SignBlock*>(out) = means;
  for (int64_t j = lane; kError && j < size; j += kLanesOfBlock) {
    error[j] = rounding_error(error[j], sign_of(error[j]) != 0 ? means.negative : means.positive);
  }
}

template <class Into>
__global__ void decode_sign_blocks(const char* encoded, SignBlocks blocks, Into into) {
  const int64_t i = thread_index();
  if (i >= blocks.size) return;
  const char* const in = encoded + blocks.bytes_before(i / blocks.block);
  const int64_t j = i % blocks.block, in_group = j % kSignGroup;
  const auto* const words = reinterpret_cast<const uint32_t*>(in + sizeof(SignBlock));
  const uint32_t word = words[j / kSignGroup * kLanesOfBlock + in_group % kLanesOfBlock];
  const SignBlock means = *reinterpret_cast<const SignBlock*>(in);
  into.put(i, (word >> in_group / kLanesOfBlock & 1) != 0 ? means.negative : means.positive);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_codec

#endif  // PS_CODEC_CUDA_SIGN_BLOCK_KERNELS_H_
