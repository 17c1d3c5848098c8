// Sums whose bits do not depend on the order of their addends.
#include "math/order_free_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/random.h"

namespace ps::order_free_sums_test {
namespace {

float sum_of(const std::vector<float>& addends) {
  OrderFreeSums sums;
  sums.begin(3);
  for (float each : addends) sums.measure(1, {&each, 1});
  for (float each : addends) sums.add(1, {&each, 1});
  float all[3];
  sums.finish(all);
  EXPECT_EQ(all[0], 0);
  EXPECT_EQ(all[2], 0);
  return all[1];
}

TEST(OrderFreeSums, AnyOrderGivesTheSameBits) {
  Random random(3, 1);
  size_t differs = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> addends(2 + random.below(9));
    for (float& each : addends) {
      each = std::ldexp(static_cast<float>(random.uniform()) - 0.5f, static_cast<int>(random.below(60)) - 30);
    }
    const float sum = sum_of(addends);
    float plain = 0;
    for (float each : addends) plain += each;
    differs += plain != sum ? 1 : 0;
    std::ranges::sort(addends);
    do EXPECT_EQ(sum_of(addends), sum);
    while (addends.size() < 5 && std::ranges::next_permutation(addends).found);
    std::ranges::reverse(addends);
    EXPECT_EQ(sum_of(addends), sum);
  }
  EXPECT_GT(differs, 0u) << "plain sums are the same: the test proves nothing";
}

// The last bits of integers of 16 bits times powers of two that lie close are never lost.
TEST(OrderFreeSums, AreExactForIntegersOfAScale) {
  Random random(4, 1);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<float> addends(1 + random.below(20));
    double exact = 0;
    for (float& each : addends) {
      const int whole = static_cast<int>(random.below(65535)) - 32767;
      each = std::ldexp(static_cast<float>(whole), -static_cast<int>(random.below(20)));
      exact += static_cast<double>(each);
    }
    EXPECT_EQ(sum_of(addends), static_cast<float>(exact));
  }
}

TEST(OrderFreeSums, HaveTheRangeOfFloats) {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min(), kHuge = std::numeric_limits<float>::max();
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({0, -0.0f}), 0);
  EXPECT_EQ(sum_of({kTiny, kTiny, -kTiny}), kTiny);
  EXPECT_EQ(sum_of({kHuge, -kHuge, kTiny}), 0) << "the last is less than half a unit";
  EXPECT_EQ(sum_of({kHuge, kHuge, -kHuge}), kHuge);
  EXPECT_EQ(sum_of({kHuge, kHuge}), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace ps::order_free_sums_test
