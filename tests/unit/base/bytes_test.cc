#include "base/bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace ps::bytes_test {
namespace {

std::string sample() {
  std::string bytes;
  put<uint32_t>(bytes, 0x01020304);
  put<double>(bytes, -1.5);
  put_array<uint16_t>(bytes, std::vector<uint16_t>{7, 8, 9});
  put_array<float>(bytes, {});
  bytes += "text";
  return bytes;
}

TEST(Bytes, AreLittleEndian) {
  EXPECT_EQ(sample().substr(0, 4), "\x04\x03\x02\x01");
}

TEST(Bytes, ReaderReadsWhatPutWrote) {
  std::string bytes = sample();
  ByteReader reader(bytes);
  std::vector<uint16_t> array(3);
  EXPECT_EQ(reader.get<uint32_t>(), 0x01020304u);
  EXPECT_EQ(reader.get<double>(), -1.5);
  reader.get_array<uint16_t>(array);
  EXPECT_EQ(array, (std::vector<uint16_t>{7, 8, 9}));
  EXPECT_EQ(reader.get_bytes(4), "text");
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_TRUE(reader.ok());
}

TEST(Bytes, EveryCutIsNoticedAndNothingIsReadAfterIt) {
  std::string whole = sample();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string bytes = whole.substr(0, size);
    ByteReader reader(bytes);
    std::vector<uint16_t> array(3);
    reader.get<uint32_t>();
    reader.get<double>();
    reader.get_array<uint16_t>(array);
    reader.get_bytes(4);
    EXPECT_FALSE(reader.ok()) << size;
    EXPECT_EQ(reader.get<uint8_t>(), 0) << size;
    EXPECT_EQ(reader.get_bytes(0), "") << size;
    EXPECT_FALSE(reader.has(0)) << size;
  }
}

}  // namespace
}  // namespace ps::bytes_test
