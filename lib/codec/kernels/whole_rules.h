// The rules of codecs whose values are whole numbers times a scale of their block, for one value and for one block: int8 with
// stochastic rounding (codec/int8.cc) and shared_scale_int (codec/shared_scale.cc).  Used by the loops of the processor
// (codec/kernels/quantize.cc) and of devices (codec/cuda).
#ifndef PS_CODEC_KERNELS_WHOLE_RULES_H_
#define PS_CODEC_KERNELS_WHOLE_RULES_H_

#include <cstdint>

#include "codec/kernels/vector_kernels.h"
#include "math/kernels/half.h"

namespace ps {

// ---- int8, stochastic rounding

// Returns the scale of a block of finite values with this largest size.  Returns 0 if the scale would be
// subnormal: the block then becomes zero.  127 times the largest scale is finite.
[[gnu::always_inline]] constexpr float even_scale(uint32_t largest_size) {
  constexpr float kSmallest = 0x1p-126f, kLargest = 0x1.0204060000000p+121f;
  const float scale = float_of(largest_size) / 127;
  return scale < kSmallest ? 0 : kLargest < scale ? kLargest : scale;
}

// The random words of a block, from the 128 bits that philox gives for it.
struct EvenWords {
  uint32_t first, second;

  [[gnu::always_inline]] static constexpr EvenWords of(const uint32_t (&random)[4]) {
    return {random[0] ^ random[2], random[1] ^ random[3]};
  }
};

// 32 bits from two words and an index: a multiplicative hash of the index, mixed twice.  Philox gives the words for each block;
// within a block, the numbers need only be unrelated to the values.
[[gnu::always_inline]] constexpr uint32_t mixed(uint32_t index, EvenWords words) {
  uint32_t x = index * 0x9E3779B9u + words.first;
  x = (x ^ x >> 16) * 0x21F0AAADu + words.second;
  x = (x ^ x >> 15) * 0xD35A2D97u;
  return x ^ x >> 15;
}

// Returns the byte of value `index` of a block with this scale, which is above 0.  Uses 16 random bits: a sum
// of an 8-bit value and a 16-bit fraction is exact in a float, so no sum is rounded up to 256.
[[gnu::always_inline]] constexpr signed char even_byte(float value, uint32_t index, float scale,
                                                       EvenWords words) {
  const uint32_t bits = mixed(index, words) >> 16;
  const float chance = static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-16f;
  const int32_t above = static_cast<int32_t>(value / scale + 128.0f + chance) - 128;
  return static_cast<signed char>(above > 127 ? 127 : above < -127 ? -127 : above);
}

// ---- shared_scale_int

inline constexpr int kLeastSharedExponent = -126;  // the scale and its inverse are normal floats
inline constexpr int kSharedBits = 32;             // bits below the largest scale that a sum keeps

// Returns the exponent at which the largest float has bits - 1 bits.  With a larger exponent it would be rounded
// up to infinity.
constexpr int largest_shared_exponent(int bits) {
  return 129 - bits;
}

// Returns the largest whole number of `bits` bits.
constexpr float shared_bound(int bits) {
  return static_cast<float>((1 << (bits - 1)) - 1);
}

// Returns 2^exponent, which must be a normal float.
[[gnu::always_inline]] constexpr float power_of_two(int exponent) {
  return float_of(static_cast<uint32_t>(exponent + 127) << 23);
}

// Returns the least exponent with which the largest value of a chunk fits.
constexpr int shared_exponent(uint32_t largest_size, int bits) {
  constexpr uint32_t kFraction = (1u << 23) - 1;
  if (largest_size >> 23 == 0) return kLeastSharedExponent;  // zero or a subnormal value
  const int exponent = static_cast<int>(largest_size >> 23) - 127 - (bits - 2);
  const float one_to_two = float_of((largest_size & kFraction) | 127u << 23);
  const int fits = one_to_two * static_cast<float>(1 << (bits - 2)) > shared_bound(bits) ? 1 : 0;
  const int least = exponent + fits < kLeastSharedExponent ? kLeastSharedExponent : exponent + fits;
  return least > largest_shared_exponent(bits) ? largest_shared_exponent(bits) : least;
}

// Returns the nearest point of a lattice within its bound, ties to even.  The last bit of 1.5 x 2^23 has the
// value 1: adding it rounds to whole numbers.
[[gnu::always_inline]] constexpr int32_t lattice_point(float value, Lattice lattice) {
  constexpr float kRounder = 0x1.8p23f;
  const float scaled = value * lattice.per_scale;
  const float below = lattice.bound < scaled ? lattice.bound : scaled;
  const float within = below < -lattice.bound ? -lattice.bound : below;
  return static_cast<int32_t>(within + kRounder - kRounder);
}

// Returns 2^shift times a whole number of at most 16 bits, rounded to the nearest, ties to even.
constexpr int64_t shared_units(int64_t whole, int shift) {
  if (shift >= 0) return whole * (int64_t{1} << shift);
  if (shift < -17) return 0;  // less than a quarter
  const int64_t below = whole >> -shift, half = int64_t{1} << (-shift - 1);
  const int64_t rest = whole - below * 2 * half;
  return below + (rest > half || (rest == half && below % 2 != 0) ? 1 : 0);
}

// Returns the float of a sum in units of 2^(exponent - kSharedBits).
constexpr float shared_sum(int64_t units, int exponent) {
  const auto bits = static_cast<uint64_t>(exponent - kSharedBits + 1023) << 52;
  return static_cast<float>(static_cast<double>(units) * __builtin_bit_cast(double, bits));
}

}  // namespace ps

#endif  // PS_CODEC_KERNELS_WHOLE_RULES_H_
