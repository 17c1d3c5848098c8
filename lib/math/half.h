// Half precision and bfloat16: floats of 16 bits, as models are stored.  Rounding is to nearest, ties to
// even.
#ifndef PS_MATH_HALF_H_
#define PS_MATH_HALF_H_

#include <bit>
#include <cstdint>

namespace ps {

// The upper half of a float; NaNs stay NaNs.
inline uint16_t to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// IEEE 754 binary16.  Values beyond 65504 become infinite; below 2^-14, values are multiples of 2^-24.
uint16_t to_half(float value);
float from_half(uint16_t bits);

}  // namespace ps

#endif  // PS_MATH_HALF_H_
