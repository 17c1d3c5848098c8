// Integers in few bytes: seven bits a byte, the lowest first; the high bit says that more follow.  Used by
// lists of keys and counts on the wire.
#ifndef PS_BASE_VARINT_H_
#define PS_BASE_VARINT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ps {

inline constexpr size_t kMaxVarintBytes = 10;

// Writes a varint at `out`, where there must be room for the longest, and returns its end.
//
// Differences between neighbouring keys of a batch mostly take one or two bytes, in an order that branch
// predictors cannot guess, so neither this nor get_varint branches on the length.
inline char* put_varint(char* out, uint64_t value) {
  if (value < 1 << 14) {
    const bool two = value >= 128;
    out[0] = static_cast<char>(value | uint64_t{two} << 7);
    out[1] = static_cast<char>(value >> 7);
    return out + 1 + two;
  }
  for (; value >= 128; value >>= 7) *out++ = static_cast<char>(value | 128);
  *out++ = static_cast<char>(value);
  return out;
}

inline constexpr size_t kVarintBlock = 8;  // varints decoded together if, as often, each is one byte

// Calls next() `count` times and appends each result as a varint.
template <class Next>
void append_varints(std::string& out, size_t count, Next&& next) {
  constexpr size_t kAtOnce = 256;
  std::array<char, kAtOnce * kMaxVarintBytes> coded;
  for (size_t left = count; left > 0;) {
    const size_t now = std::min(left, kAtOnce);
    char* at = coded.data();
    for (size_t i = 0; i < now; i += kVarintBlock) {
      std::array<uint64_t, kVarintBlock> values{};
      const size_t block = std::min(kVarintBlock, now - i);
      uint64_t any = 0;
      for (size_t j = 0; j < block; ++j) any |= values[j] = next();
      if (any < 128) {
        for (size_t j = 0; j < kVarintBlock; ++j) at[j] = static_cast<char>(values[j]);
        at += block;
      } else {
        for (size_t j = 0; j < block; ++j) at = put_varint(at, values[j]);
      }
    }
    out.append(coded.data(), at);
    left -= now;
  }
}

// Removes a varint from the front of `bytes`. Returns false when there is none, or when it has more than 64
// bits.
inline bool get_long_varint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < std::min(bytes.size(), kMaxVarintBytes); ++i) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    if (i == kMaxVarintBytes - 1 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 127) << (7 * i);
    if (byte >= 128) continue;
    bytes.remove_prefix(i + 1);
    return true;
  }
  return false;
}

// Returns true if the next kVarintBlock varints take one byte each.
inline bool short_varints(std::string_view bytes) {
  constexpr uint64_t kMore = 0x8080808080808080;
  uint64_t word;
  if (bytes.size() < kVarintBlock) return false;
  std::memcpy(&word, bytes.data(), sizeof word);
  return (word & kMore) == 0;
}

inline bool get_varint(std::string_view& bytes, uint64_t& value) {
  if (bytes.size() < 2) return get_long_varint(bytes, value);
  const uint32_t low = static_cast<uint8_t>(bytes[0]), high = static_cast<uint8_t>(bytes[1]), two = low >> 7;
  if ((two & high >> 7) != 0) return get_long_varint(bytes, value);
  bytes.remove_prefix(1 + two);
  value = (low & 127) | two * high << 7;
  return true;
}

}  // namespace ps

#endif  // PS_BASE_VARINT_H_
