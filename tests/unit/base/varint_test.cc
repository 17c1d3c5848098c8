#include "base/varint.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace ps::varint_test {
namespace {

std::string coded(const std::vector<uint64_t>& values) {
  std::string bytes;
  size_t i = 0;
  append_varints(bytes, values.size(), [&] { return values[i++]; });
  return bytes;
}

TEST(Varint, EveryLengthComesBack) {
  std::vector<uint64_t> values = {0, 1, 127, 128, (1 << 14) - 1, 1 << 14, UINT64_MAX - 1, UINT64_MAX};
  Random random(3, 4);
  for (int i = 0; i < 2000; ++i) values.push_back(random.next64() >> random.below(64));
  const std::string bytes = coded(values);
  std::string_view rest = bytes;
  for (uint64_t expected : values) {
    uint64_t value = 0;
    ASSERT_TRUE(get_varint(rest, value));
    ASSERT_EQ(value, expected);
  }
  EXPECT_TRUE(rest.empty());
}

TEST(Varint, SevenBitsTakeAByte) {
  EXPECT_EQ(coded({127}), "\x7f");
  EXPECT_EQ(coded({128}), "\x80\x01");
  EXPECT_EQ(coded({UINT64_MAX}), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(Varint, WhatIsCutOrTooLargeIsRefused) {
  uint64_t value = 0;
  const std::string whole = coded({UINT64_MAX});
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string_view cut = std::string_view(whole).substr(0, size);
    EXPECT_FALSE(get_varint(cut, value)) << size;
  }
  for (std::string_view bytes : {std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
                                 std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11)}) {
    EXPECT_FALSE(get_varint(bytes, value));
  }
}

}  // namespace
}  // namespace ps::varint_test
