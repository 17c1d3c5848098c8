#include "math/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ps::half_test {
namespace {

TEST(Half, EveryHalfComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = from_half(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_half(to_half(value))));
    } else {
      ASSERT_EQ(to_half(value), bits) << value;
    }
  }
}

// Between two halves that follow each other, a float goes to the nearer one, and from the middle to the even
// one.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = from_half(static_cast<uint16_t>(bits)),
                high = from_half(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(to_half(middle), bits + bits % 2) << middle;
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(to_half(-std::nextafter(middle, 1e9f)), (bits + 1) | 0x8000);
  }
  EXPECT_EQ(from_half(to_half(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(from_half(to_half(65520.0f))));
}

TEST(Bfloat16, EveryOneComesBackAndTiesGoToEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = from_bfloat16(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      ASSERT_EQ(to_bfloat16(value), bits);
    }
  }
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.00390625f)), 1.0f);  // the middle above 1: to even
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.01171875f)), 1.015625f);
}

}  // namespace
}  // namespace ps::half_test
