#include "math/half.h"

#include <cmath>

namespace ps {

// A half has 5 bits of exponent, biased by 15, and 10 of mantissa.  Rounds to the nearest half, ties to
// even: 65520 is half way between the largest half, 65504, and the next that there would be.  For normal
// halves, 13 bits of the float's mantissa go: 0xfff plus the lowest bit that stays carries into that bit
// when the rest is more than a half of it, or is a half and the bit is odd; a carry out of the mantissa
// raises the exponent, as it should.  112 is the difference of the biases, 127 - 15.
uint16_t to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(value);
  if (value != value) return sign | 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00;
  // Adding this constant rounds a float to multiples of 2^-24 in its last bits, the spacing of subnormal
  // halves.
  if (size < 0x1p-14f) return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(size + 0.5f) & 0x7ff);
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return sign | static_cast<uint16_t>((rounded - (uint32_t{112} << 23)) >> 13);
}

// Halves with exponent 31 are infinite or NaN; those with exponent 0 are multiples of 2^-24.
float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | rest << 13);
  const float size = rest < 0x400 ? static_cast<float>(rest) * 0x1p-24f
                                  : std::bit_cast<float>((rest << 13) + (uint32_t{112} << 23));
  return sign != 0 ? -size : size;
}

}  // namespace ps
