// The rules of row codecs for one value and for one row: codec/row_codec.h has their formats.  Used by the loops
// of the processor (codec/kernels/codecs.cc) and of devices (codec/cuda).
#ifndef PS_CODEC_KERNELS_ROW_RULES_H_
#define PS_CODEC_KERNELS_ROW_RULES_H_

#include <cstdint>

#include "math/kernels/half.h"

namespace ps {

inline constexpr uint32_t kQuietNan = kInfinity | 1u << 22;

// Returns the rounding error sum - rounded, or zero if it is not finite.
[[gnu::always_inline]] constexpr float rounding_error(float sum, float rounded) {
  const float difference = sum - rounded;
  return (bits_of(difference) & ~kSign) < kInfinity ? difference : 0;
}

// int8: the scale of a row, and the byte of a value.
struct ByteScale {
  float scale;      // NaN for a row with a value that is not finite
  float per_scale;  // 1 / scale; 0 for a row of zeros, or with a value that is not finite
  bool finite;

  // A row whose scale would be subnormal becomes zero, and 127 times the largest scale is finite.
  [[gnu::always_inline]] static constexpr ByteScale of_size(uint32_t largest_size) {
    constexpr float kSteps = 127, kSmallest = 0x1p-126f, kLargest = 0x1.0204060000000p+121f;
    const float largest = float_of(largest_size);
    const bool finite = largest_size < kInfinity, zero = finite && largest < kSteps * kSmallest;
    const float scale = largest / kSteps, bounded = kLargest < scale ? kLargest : scale;
    return {!finite ? float_of(kQuietNan)
            : zero  ? 0
                    : bounded,
            !finite || zero ? 0 : kSteps / largest, finite};
  }

  // The last bit of 1.5 x 2^23 has the value 1: adding it rounds to whole numbers, ties to even.
  [[gnu::always_inline]] constexpr signed char byte_of(float value) const {
    constexpr float kRounder = 0x1.8p23f;
    return static_cast<signed char>(
        static_cast<int32_t>((finite ? value : 0) * per_scale + kRounder - kRounder));
  }
  [[gnu::always_inline]] constexpr float value_of(signed char byte) const {
    return scale * static_cast<float>(byte);
  }
};

// one_bit: the sums of a row run in this many lanes, value j in lane j mod 16, and the lanes are added in order.
inline constexpr int64_t kSignLanes = 16;

[[gnu::always_inline]] constexpr uint32_t is_negative(float value) {
  return bits_of(value) > kSign ? 1 : 0;
}

// positive_part returns the value if it is not negative, else zero; negative_part returns it if it is negative,
// else zero.
[[gnu::always_inline]] constexpr float positive_part(float value) {
  return float_of(bits_of(value) & ~(0 - is_negative(value)));
}
[[gnu::always_inline]] constexpr float negative_part(float value) {
  return float_of(bits_of(value) & (0 - is_negative(value)));
}

// The decoded values of a row of one_bit.
struct SignMeans {
  float positive, negative;

  // The sums are those of all lanes, and `largest` is the largest size of the row.
  [[gnu::always_inline]] static constexpr SignMeans of_sums(double positive, double negative, int64_t cols,
                                                            int64_t num_negative, uint32_t largest) {
    if (largest >= kInfinity) return {float_of(kQuietNan), float_of(kQuietNan)};
    return {mean(positive, cols - num_negative), mean(negative, num_negative)};
  }
  [[gnu::always_inline]] static constexpr float mean(double sum, int64_t count) {
    return count == 0 ? 0 : static_cast<float>(sum / static_cast<double>(count));
  }
  [[gnu::always_inline]] constexpr float value_of(uint32_t below_zero) const {
    const uint32_t plus = bits_of(positive), change = plus ^ bits_of(negative);
    return float_of(plus ^ (change & (0u - below_zero)));
  }
};

}  // namespace ps

#endif  // PS_CODEC_KERNELS_ROW_RULES_H_
