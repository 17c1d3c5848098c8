// Fast scanners of numbers in text.  Used by the parsers of the formats.
//
// All functions may read 8 bytes past the digits they scan: a Block has that padding.  A line ends in a byte
// that is no part of a number, so that no function needs to know where it ends, except for messages.
#ifndef PS_DATA_SCAN_H_
#define PS_DATA_SCAN_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace ps {

// The result of scanning text that should be a number.
enum class Scan { kNumber, kNotNumber, kNotFinite };

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

namespace scan_internal {

inline constexpr uint64_t kPowers[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

inline constexpr uint64_t kZeros = 0x3030303030303030u;

// Sets the high bit of each of the 8 bytes that is not a digit.  `bytes` is the text xor-ed with '0' in each
// byte: digits are 0 to 9, and adding 0x76 sets the high bit of anything larger.  A carry into the next byte
// comes only from a byte beyond ASCII, so that the lowest mark is right, and the one above it if the lowest
// is of an ASCII byte.
inline uint64_t other_bytes(uint64_t bytes) {
  return ((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u;
}

// Returns how many of the 8 bytes, from the lowest on, are digits.
inline int count_digits(uint64_t bytes) {
  uint64_t others = other_bytes(bytes);
  return others == 0 ? 8 : std::countr_zero(others) / 8;
}

// Returns the number of 8 digits, the first of which is in the lowest byte: joins digits into pairs, pairs
// into fours, and fours into eight.
inline uint64_t join_digits(uint64_t digits) {
  uint64_t pairs = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffu;
  uint64_t fours = (pairs * 100 + (pairs >> 16)) & 0x0000ffff0000ffffu;
  return (fours * 10000 + (fours >> 32)) & 0xffffffffu;
}

// Scans n <= 8 digits at `p`: value = value * 10^n + digits.  Returns n.
inline int scan_digits(const char*& p, uint64_t& value) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  bytes ^= kZeros;
  int count = count_digits(bytes);
  if (count == 0) return 0;
  value = value * kPowers[count] + join_digits(bytes << (64 - 8 * count));
  p += count;
  return count;
}

inline uint64_t load_bytes(const char* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  return bytes;
}

// Converts a word whose last byte is the highest of `digits`, with '0' xor-ed out of each byte, and zeros in the bytes
// below its first, if it has digits and at most one point.  Returns false when the word has
// another form, or its digits make a number above 2^24: up to there integers are exact as floats, and so is
// the power of ten, so that one division rounds correctly.
//   single: it has one byte, which must not be the point
inline bool join_decimal(uint64_t digits, bool single, float& value) {
  static constexpr float kTens[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
  uint64_t others = other_bytes(digits);
  int decimals = 0;
  if (others != 0) {
    int point = std::countr_zero(others) & 56;
    bool plain = (digits >> point & 0xff) == ('.' ^ '0') && (others & (others - 1)) == 0 && !single;
    if (!plain) return false;
    // Moves the digits before the point up by one byte, over the point.
    uint64_t before = (uint64_t{1} << point) - 1;
    digits = (digits & before) << 8 | (digits & ~before << 8);
    decimals = 7 - point / 8;
  }
  uint64_t mantissa = join_digits(digits);
  value = static_cast<float>(mantissa) / kTens[decimals];
  return mantissa <= uint64_t{1} << 24;
}

bool scan_uint_tail(const char*& p, uint64_t& value);
Scan scan_float_slow(const char*& p, float& value);

}  // namespace scan_internal

// Scans the decimal digits at p, and moves p past them.  Returns false when there is none, or when the number
// is 2^64 or more.
inline bool scan_uint(const char*& p, uint64_t& value) {
  value = 0;
  int count = scan_internal::scan_digits(p, value);
  if (count < 8) return count > 0;
  if (scan_internal::scan_digits(p, value) < 8) return true;
  return scan_internal::scan_uint_tail(p, value);
}

// Scans [+-]digits[.digits][e[+-]digits], rounded to the nearest float as std::from_chars does; p moves past
// it.  Returns kNotFinite for infinity, NaN and overflow; gives 0 on underflow.
Scan scan_float(const char*& p, float& value);

// Scans a field that is a number of 1 to 8 bytes after its sign, without an exponent, as scan_float does. 8 bytes past its
// beginning may be read.  Returns false for all other fields.
inline bool scan_short_float(std::string_view field, float& value) {
  using namespace scan_internal;
  if (field.empty()) return false;
  const bool negative = field[0] == '-';
  field.remove_prefix(negative ? 1 : 0);
  if (field.size() - 1 >= 8) return false;
  const uint64_t digits = (load_bytes(field.data()) ^ kZeros) << (64 - 8 * field.size());
  if (!join_decimal(digits, field.size() == 1, value)) return false;
  if (negative) value = -value;
  return true;
}

// Returns the word at p, up to a separator or the end of the line, for messages.
std::string_view token_at(const char* p, const char* end);

// Throws kData "<what> '…' is not a number", or "… is not finite".  `what` is "label", "value" ….
[[noreturn]] void fail_number(Scan found, std::string_view what, const char* p, const char* end,
                              std::string_view of = {});

}  // namespace ps

#endif  // PS_DATA_SCAN_H_
