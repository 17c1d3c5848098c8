#include "base/byte_text.h"

#include <gtest/gtest.h>

namespace ps::byte_text_test {
namespace {

TEST(ByteText, BytesOfAnyKindTravelInBase64) {
  // RFC 4648, section 10.
  for (auto [bytes, text] :
       {std::pair("", ""), {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_base64(to_base64(all)), all);
  for (const char* bad : {"Z", "Zg=", "Zg===", "Z===", "Zm9v!m9v", "=m9v", "Zm=v"}) {
    EXPECT_EQ(from_base64(bad).value_or("no"), "no") << bad;
  }
}

TEST(ByteText, HexadecimalDigitsOfEitherCase) {
  EXPECT_EQ(from_hex(""), "");
  EXPECT_EQ(from_hex("00fFA5"), std::string("\0\xff\xa5", 3));
  for (const char* bad : {"0", "0g", "0x10", " 00", "00 ", "-1"}) EXPECT_FALSE(from_hex(bad)) << bad;
}

}  // namespace
}  // namespace ps::byte_text_test
