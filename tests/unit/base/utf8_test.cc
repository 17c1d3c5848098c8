#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ps::utf8_test {

// Returns the bytes of a code point as RFC 3629, section 3 writes them, without its limits.
std::string bytes_of(uint32_t point) {
  auto low = [](uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), low(point)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), low(point >> 6), low(point)};
  return {static_cast<char>(0xf0 | point >> 18), low(point >> 12), low(point >> 6), low(point)};
}

TEST(Utf8, TheCodePointsOfUnicodeAreValidWithoutTheSurrogates) {
  for (uint32_t point = 1; point < 0x120000; ++point) {
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    ASSERT_EQ(is_utf8(bytes_of(point)), point < 0x110000 && !surrogate) << point;
  }
}

TEST(Utf8, ACharacterIsAsLongAsItsBytes) {
  for (const uint32_t point : {0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff}) {
    const std::string bytes = bytes_of(point);
    EXPECT_EQ(utf8_bytes((bytes + "x").c_str()), static_cast<int>(bytes.size())) << point;
    for (size_t size = 1; size < bytes.size(); ++size) {
      EXPECT_EQ(utf8_bytes(bytes.substr(0, size).c_str()), 0) << "cut after " << size;
    }
  }
}

TEST(Utf8, BytesThatBeginNoCharacterAndLongerFormsAreInvalid) {
  for (const std::string text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xff", "M\xfcnchen"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8("M\u00fcnchen"));
  EXPECT_TRUE(is_utf8(std::string("a\0b", 3))) << "zero is a character";
  EXPECT_TRUE(is_utf8(""));
}

}  // namespace ps::utf8_test
