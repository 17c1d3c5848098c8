// Numbers as text against the standard library's.
#include "data/number_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include "base/random.h"

namespace ps::number_text_test {

template <class Value>
static std::string written(char* (*write)(char*, Value), Value value) {
  char text[std::max(kMaxUintText, kMaxFloatText)];
  return {text, write(text, value)};
}

static std::string shortest(float value) {
  char text[kMaxFloatText];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

TEST(NumberText, IntegersOfAnyLengthAreThoseOfToString) {
  for (uint64_t power = 1, digits = 1; digits <= 20; power *= 10, ++digits) {
    for (uint64_t value : {power - 1, power, power + 7, power * 9}) {
      EXPECT_EQ(written(write_uint, value), std::to_string(value));
    }
  }
  EXPECT_EQ(written(write_uint, std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(NumberText, FloatsOfAnyBitsAreTheShortestThatReadBack) {
  Random random(1, 2);
  for (int i = 0; i < 200000; ++i) {
    float value = std::bit_cast<float>(random.next32());
    ASSERT_EQ(written(write_float, value), shortest(value));
  }
}

// Around the bounds within which six decimals are tried first, and on both sides of what they can hold.
TEST(NumberText, FloatsOfUpToSixDecimalsAreTheShortestThatReadBack) {
  for (int millionths = 1; millionths < 17'000'000; millionths += millionths < 20'000 ? 1 : 997) {
    float value = static_cast<float>(millionths / 1e6);
    for (float near : {value, std::nextafter(value, 0.0f), std::nextafter(value, 20.0f)}) {
      ASSERT_EQ(written(write_float, near), shortest(near));
      ASSERT_EQ(written(write_float, -near), shortest(-near));
    }
  }
}

TEST(NumberText, FixedDecimalsAreThoseOfPrintf) {
  Random random(1, 3);
  for (int i = 0; i < 50000; ++i) {
    float value = std::bit_cast<float>(random.next32());
    if (!std::isfinite(value)) continue;
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.6f", static_cast<double>(value));
    ASSERT_EQ(written(write_fixed6, value), expected);
  }
}

}  // namespace ps::number_text_test
