// Numbers in text against the standard library's.
#include "data/scan.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "base/random.h"
#include "support/environment.h"

namespace ps::scan_test {

static std::string padded(std::string text) {
  text += '\n';
  text.append(16, '\0');
  return text;
}

static void expect_as_from_chars(const std::string& text) {
  std::string line = padded(text);
  const char* p = line.data();
  float found = -1, expected = -2;
  ASSERT_EQ(scan_float(p, found), Scan::kNumber) << text;
  ASSERT_EQ(std::from_chars(text.data(), text.data() + text.size(), expected).ec, std::errc()) << text;
  ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected))
      << text << ": " << found << ", " << expected;
  ASSERT_EQ(p, line.data() + text.size()) << text;
}

TEST(ScanFloat, RoundsAsFromCharsDoes) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "0.1",
                           "-0.693147",
                           "16777217",
                           "16777219.0",
                           "0.000000119209289",
                           "3.4028235e38",
                           "1e-45",
                           "1.17549435e-38",
                           "1e10",
                           "12345678901234567890",
                           "0.00000000000000000000001",
                           "5.",
                           ".5",
                           "1.00000005960464477539062",
                           "1.000000059604644775390625",
                           "8388608.5",
                           "9007199791611905",
                           "0.000000000000000000e+00",
                           "-1.000000000000000000e+00",
                           "8.692932128906250000e-01",
                           "0e5",
                           "1e22",
                           "1e0000000000000001",
                           "12345678901234567.e2"}) {
    expect_as_from_chars(text);
  }
  Random random(1, 2);
  for (int64_t i = tries(300000); i > 0; --i) {
    std::string digits = std::to_string(random.next64());
    digits.resize(1 + random.below(digits.size()));
    size_t point = random.below(digits.size() + 1);
    std::string text = digits.insert(point, 1, '.');
    if (random.below(4) == 0) text += cat("e", static_cast<int>(random.below(48)) - 30);
    expect_as_from_chars(text);
  }
}

// Halfway between two floats, and one unit of the last decimal beside it: where rounding twice goes wrong.
TEST(ScanFloat, IsRightBesideTheMiddleOfTwoFloats) {
  Random random(3, 4);
  for (int i = 0; i < 100000; ++i) {
    uint32_t bits = 0x3f000000u + static_cast<uint32_t>(random.below(0x04000000));
    double middle = (double{std::bit_cast<float>(bits)} + double{std::bit_cast<float>(bits + 1)}) / 2;
    char text[64];
    int size = std::snprintf(text, sizeof text, "%.*f", 10 + static_cast<int>(random.below(8)), middle);
    expect_as_from_chars(std::string(text, static_cast<size_t>(size)));
    size = std::snprintf(text, sizeof text, "%.*e", 10 + static_cast<int>(random.below(12)), middle);
    expect_as_from_chars(std::string(text, static_cast<size_t>(size)));
  }
}

TEST(ScanShortFloat, IsScanFloatOfShortFields) {
  Random random(5, 6);
  int found = 0;
  for (int64_t i = tries(300000); i > 0; --i) {
    std::string field;
    for (uint64_t size = random.below(11); size > 0; --size)
      field += "0123456789.-+e"[random.below(i % 2 == 0 ? 11 : 14)];
    const std::string line = padded(field);
    float value = -1, expected = -2;
    if (!scan_short_float(std::string_view(line).substr(0, field.size()), value)) continue;
    ++found;
    const char* p = line.data();
    ASSERT_EQ(scan_float(p, expected), Scan::kNumber) << field;
    ASSERT_EQ(p, line.data() + field.size()) << field;
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << field;
  }
  EXPECT_GT(found, tries(300000) / 8);
}

TEST(ScanFloat, TellsWhatIsNoNumberAndWhatIsNotFinite) {
  auto scan = [](const std::string& text) {
    std::string line = padded(text);
    const char* p = line.data();
    float value;
    return scan_float(p, value);
  };
  for (const char* text : {"", "-", "+", ".", "abc", "e5", "-.", "--1"})
    EXPECT_EQ(scan(text), Scan::kNotNumber) << text;
  for (const char* text :
       {"nan", "-NaN", "inf", "Infinity", "1e39", "-1e400", "99999999999999999999999999999999999999999"}) {
    EXPECT_EQ(scan(text), Scan::kNotFinite) << text;
  }
  std::string tiny = padded("-1e-60");
  const char* p = tiny.data();
  float value = 1;
  EXPECT_EQ(scan_float(p, value), Scan::kNumber);
  EXPECT_EQ(value, 0);
}

TEST(ScanUint, TakesAllOf64BitsAndNoMore) {
  for (uint64_t value : {uint64_t{0}, uint64_t{7}, uint64_t{12345678}, uint64_t{123456789},
                         uint64_t{1234567890123456}, UINT64_MAX / 10, UINT64_MAX}) {
    std::string line = padded(std::to_string(value));
    const char* p = line.data();
    uint64_t found = 1;
    EXPECT_TRUE(scan_uint(p, found));
    EXPECT_EQ(found, value);
    EXPECT_EQ(*p, '\n');
  }
  for (const char* text :
       {"", "x", "-1", "18446744073709551616", "99999999999999999999", "184467440737095516150"}) {
    std::string line = padded(text);
    const char* p = line.data();
    uint64_t found;
    EXPECT_FALSE(scan_uint(p, found)) << text;
  }
}

}  // namespace ps::scan_test
