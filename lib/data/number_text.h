// Writes numbers as text, fast, into a buffer that the caller has made large enough.  Used by the writers.
#ifndef PS_DATA_NUMBER_TEXT_H_
#define PS_DATA_NUMBER_TEXT_H_

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ps {

// Bytes to reserve for one number: 20 digits, or the 39 digits and 6 decimals of the largest float.  The
// functions may write, but not use, a few more than the number has.
inline constexpr size_t kMaxUintText = 28, kMaxFloatText = 56;

// Returns the eight decimal digits of value < 10^8, one a byte, the first digit in the lowest byte.  All digits
// are computed at once: value = 10^4 high + low; each half is split into two numbers of two digits, and each of
// these into digits, by multiplications that replace divisions by 100 and by 10 (exact in the ranges that
// occur).
inline uint64_t eight_digits(uint32_t value) {
  uint64_t halves = value / 10000 | static_cast<uint64_t>(value % 10000) << 32;
  uint64_t hundreds = ((halves * 10486) >> 20) & 0x0000007f'0000007f;
  uint64_t pairs = hundreds | (halves - 100 * hundreds) << 16;
  uint64_t tens = ((pairs * 103) >> 10) & 0x000f000f'000f000f;
  return tens | (pairs - 10 * tens) << 8;
}

inline constexpr uint64_t kAsciiZeros = 0x3030303030303030;

// Writes all eight digits, and returns their end.
inline char* write_eight_digits(char* out, uint32_t value) {
  uint64_t text = eight_digits(value) | kAsciiZeros;
  std::memcpy(out, &text, 8);
  return out + 8;
}

// Returns the end of the written digits.
inline char* write_uint(char* out, uint64_t value) {
  if (value >= 100'000'000) {
    out = write_uint(out, value / 100'000'000);
    return write_eight_digits(out, static_cast<uint32_t>(value % 100'000'000));
  }
  uint64_t digits = eight_digits(static_cast<uint32_t>(value));
  int leading_zeros = value == 0 ? 7 : std::countr_zero(digits) / 8;
  uint64_t text = (digits | kAsciiZeros) >> (8 * leading_zeros);
  std::memcpy(out, &text, 8);
  return out + 8 - leading_zeros;
}

// Writes millionths / 10^6 with as many decimals as it needs, at least one.  millionths < 16 * 10^6, and no
// multiple of 10^6.
inline char* write_decimals(char* out, uint32_t millionths) {
  out = write_uint(out, millionths / 1'000'000);
  uint64_t decimals = eight_digits(millionths % 1'000'000) >> 16;
  uint64_t text = decimals | kAsciiZeros;
  *out++ = '.';
  std::memcpy(out, &text, 8);
  return out + 8 - std::countl_zero(decimals) / 8;
}

// Writes the shortest decimal that reads back as the same float.
inline char* write_float(char* out, float value) {
  if (value >= 0 && value < 16'777'216 && value == std::trunc(value) && !std::signbit(value)) {
    return write_uint(out, static_cast<uint64_t>(value));
  }
  // Below 16, floats are less than a millionth apart, so that no two numbers of up to six decimals read back
  // as the same float: if there is one, it is the shortest.  (The division is right to 2^-53, and a float
  // lies 2^-45 at least from the middle between two others.)  From 0.001 on no exponent makes it shorter.
  if (value >= 0.001f && value < 16) {
    double millionths = std::nearbyint(static_cast<double>(value) * 1e6);
    if (static_cast<float>(millionths / 1e6) == value)
      return write_decimals(out, static_cast<uint32_t>(millionths));
  }
  return std::to_chars(out, out + kMaxFloatText, value).ptr;
}

// Writes the value as printf's "%.6f" does.
inline char* write_fixed6(char* out, float value) {
  // The product has at most 24 + 20 bits: it is exact, and rounding it to even is what printf does.
  double millionths = std::nearbyint(std::fabs(static_cast<double>(value)) * 1e6);
  if (!(millionths < 0x1p52))
    return std::to_chars(out, out + kMaxFloatText, value, std::chars_format::fixed, 6).ptr;
  if (std::signbit(value)) *out++ = '-';
  uint64_t whole = static_cast<uint64_t>(millionths);
  out = write_uint(out, whole / 1'000'000);
  uint64_t text = (eight_digits(static_cast<uint32_t>(whole % 1'000'000)) | kAsciiZeros) >> 16;
  *out++ = '.';
  std::memcpy(out, &text, 8);
  return out + 6;
}

}  // namespace ps

#endif  // PS_DATA_NUMBER_TEXT_H_
