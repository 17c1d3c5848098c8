// The rules of the codec one_bit (codec/one_bit.cc) for one value and for one block.  Used by the loops of the processor
// (codec/kernels/quantize.cc) and of devices (codec/cuda).
#ifndef PS_CODEC_KERNELS_SIGN_RULES_H_
#define PS_CODEC_KERNELS_SIGN_RULES_H_

#include <cstdint>

#include "math/kernels/half.h"

namespace ps {

// A zero with a minus sign counts as negative.
[[gnu::always_inline]] constexpr uint32_t sign_of(float value) {
  return bits_of(value) >> 31;
}

// Returns the mean of `count` values with this sum; 0 if there are none.
[[gnu::always_inline]] constexpr float mean_of(float sum, int64_t count) {
  return count > 0 ? sum / static_cast<float>(count) : 0;
}

}  // namespace ps

#endif  // PS_CODEC_KERNELS_SIGN_RULES_H_
