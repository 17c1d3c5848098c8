// Floats of 16 bits, for loops that compilers vectorise: integers alone, and no branches, so that every level
// of instruction sets gives the same bits, and devices too.  Used by codecs (lib/codec) and by tables in the memory of
// devices (lib/table/cuda).  Always inlined, since it is compiled for several levels.
//
// encode rounds to the nearest, ties to even.  encode_evenly rounds to one of the two neighbours: over all values of
// `random` the mean of what it gives is x, and a value that the type has stays as it is.
#ifndef PS_MATH_KERNELS_HALF_H_
#define PS_MATH_KERNELS_HALF_H_

#include <cstdint>

namespace ps {

inline constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7f800000;  // as bits of a float

[[gnu::always_inline]] constexpr uint32_t bits_of(float x) {
  return __builtin_bit_cast(uint32_t, x);
}
[[gnu::always_inline]] constexpr float float_of(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

[[gnu::always_inline]] inline float smaller(float x, float y) {
  return y < x ? y : x;
}

// Limits the size of a float to `largest`; infinities and NaN stay unchanged.
[[gnu::always_inline]] constexpr uint32_t bounded_size(uint32_t size, uint32_t largest) {
  return size > largest && size < kInfinity ? largest : size;
}

// IEEE 754 binary16: a sign, 5 bits of exponent (bias 15), 10 of fraction.
struct Half {
  [[gnu::always_inline]] static constexpr uint16_t encode(float x) {
    constexpr uint32_t kLargest = 0x477fe000;         // 65504
    constexpr uint32_t kSmallestNormal = 0x38800000;  // 2^-14
    constexpr uint32_t kRebias = (127 - 15) << 23;
    const uint32_t sign = bits_of(x) & kSign;
    const uint32_t size = bounded_size(bits_of(x) ^ sign, kLargest);
    // Adds a half of what is dropped, less one when what is kept is even.
    const uint32_t normal = (size - kRebias + 0xfff + (size >> 13 & 1)) >> 13;
    // The last bit of 0.5 is 2^-24, as is that of a subnormal: the sum is rounded as it has to be.
    const uint32_t subnormal = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
    const uint32_t no_number = size > kInfinity ? 0x7e00 : 0x7c00;
    const uint32_t finite = size < kSmallestNormal ? subnormal : normal;
    return static_cast<uint16_t>((size < kInfinity ? finite : no_number) | sign >> 16);
  }

  [[gnu::always_inline]] static constexpr uint16_t encode_evenly(float x, uint32_t random) {
    constexpr uint32_t kLargest = 0x477fe000, kSmallestNormal = 0x38800000, kRebias = (127 - 15) << 23;
    const uint32_t sign = bits_of(x) & kSign;
    const uint32_t size = bounded_size(bits_of(x) ^ sign, kLargest);
    // 13 bits are dropped, and as many random bits decide the rounding.
    const uint32_t normal = (size - kRebias + (random >> 19)) >> 13;
    // A subnormal is a multiple of 2^-24; here it is counted in these units.
    const float units = (size < kSmallestNormal ? float_of(size) : 0) * 0x1p24f;
    const int32_t whole = static_cast<int32_t>(units);
    const float dropped = (units - static_cast<float>(whole)) * 0x1p24f;
    const bool up = dropped > static_cast<float>(static_cast<int32_t>(random >> 8));
    const uint32_t subnormal = static_cast<uint32_t>(whole) + (up ? 1 : 0);
    const uint32_t no_number = size > kInfinity ? 0x7e00 : 0x7c00;
    const uint32_t finite = size < kSmallestNormal ? subnormal : normal;
    return static_cast<uint16_t>((size < kInfinity ? finite : no_number) | sign >> 16);
  }

  [[gnu::always_inline]] static constexpr float decode(uint16_t half) {
    const uint32_t size = half & 0x7fffu, sign = (half & 0x8000u) << 16;
    const uint32_t normal = (size << 13) + ((127 - 15) << 23);
    const uint32_t subnormal = bits_of(static_cast<float>(static_cast<int32_t>(size)) * 0x1p-24f);
    const uint32_t no_number = (size << 13) | kInfinity;
    const uint32_t finite = size < 0x400 ? subnormal : normal;
    return float_of((size < 0x7c00 ? finite : no_number) | sign);
  }
};

// A float without the lower half of its bits.
struct Bfloat {
  [[gnu::always_inline]] static constexpr uint16_t encode(float x) {
    constexpr uint32_t kLargest = 0x7f7f0000;
    const uint32_t sign = bits_of(x) & kSign;
    const uint32_t size = bounded_size(bits_of(x) ^ sign, kLargest);
    const uint32_t rounded = (size + 0x7fff + (size >> 16 & 1)) >> 16;
    return static_cast<uint16_t>((size > kInfinity ? 0x7fc0 : rounded) | sign >> 16);
  }

  [[gnu::always_inline]] static constexpr uint16_t encode_evenly(float x, uint32_t random) {
    constexpr uint32_t kLargest = 0x7f7f0000;
    const uint32_t sign = bits_of(x) & kSign;
    const uint32_t size = bounded_size(bits_of(x) ^ sign, kLargest);
    const uint32_t rounded = (size + (random >> 16)) >> 16;
    return static_cast<uint16_t>((size > kInfinity ? 0x7fc0 : rounded) | sign >> 16);
  }

  [[gnu::always_inline]] static constexpr float decode(uint16_t half) {
    return float_of(static_cast<uint32_t>(half) << 16);
  }
};

}  // namespace ps

#endif  // PS_MATH_KERNELS_HALF_H_
