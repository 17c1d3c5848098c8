// Weights become the values of 16 bits beside them, and which one does not depend on anything but seed, step, key and column.
#include "math/value_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/random.h"

namespace ps::value_rounding_test {
namespace {

constexpr ValueType kNarrow[] = {ValueType::kF16, ValueType::kBf16};

bool is_number(float x) {
  return std::isfinite(x);
}

TEST(ValueRounding, ValuesOfTheTypeStayAsTheyAre) {
  for (ValueType type : kNarrow) {
    for (bool evenly : {false, true}) {
      const ValueRounding rounding = ValueRounding{type, evenly, 5}.at_step(3);
      for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
        const float value = rounding.decode(static_cast<uint16_t>(bits));
        if (std::isnan(value)) continue;
        ASSERT_EQ(rounding.encode(value, bits, bits), bits) << "type " << static_cast<int>(type);
        ASSERT_TRUE(rounding.holds(value));
      }
    }
  }
}

// The neighbours of a weight, found by looking through all values.
TEST(ValueRounding, WeightsBecomeANeighbourSuchThatTheMeanIsTheWeight) {
  for (ValueType type : kNarrow) {
    const ValueRounding rounding{type, true, 9};
    std::set<float> values;
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      const float value = rounding.decode(static_cast<uint16_t>(bits));
      if (is_number(value)) values.insert(value);
    }
    Random random(1, static_cast<uint64_t>(type));
    for (int n = 0; n < 300; ++n) {
      // Weights have all sizes, subnormal numbers of both types among them too.
      const int least = type == ValueType::kF16 ? -28 : -140;
      const float weight = static_cast<float>(std::ldexp(random.normal(), least + n % 40));
      const float above = *values.lower_bound(weight), below = *std::prev(values.upper_bound(weight));
      const double distance = double{above} - below,
                   part = distance > 0 ? (double{weight} - below) / distance : 0;
      int ups = 0;
      constexpr int kTries = 2000;
      for (uint32_t column = 0; column < kTries; ++column) {
        const float rounded = rounding.round(weight, static_cast<uint64_t>(n), column);
        ASSERT_TRUE(rounded == above || rounded == below) << weight << " became " << rounded;
        ups += distance > 0 && rounded == above;
      }
      // Six standard deviations of the number of times that it is rounded up.
      ASSERT_NEAR(ups, part * kTries, 6 * std::sqrt(kTries * 0.25)) << weight;
    }
  }
}

TEST(ValueRounding, ChoicesDependOnSeedStepKeyAndColumn) {
  const auto choices = [](uint64_t seed, uint64_t step, uint64_t key, uint32_t first) {
    const ValueRounding rounding = ValueRounding{ValueType::kBf16, true, seed}.at_step(step);
    std::vector<uint16_t> all;
    for (uint32_t c = first; c < first + 64; ++c)
      all.push_back(rounding.encode(1.00390625f, rounding.row_seed(hash_key(key)), c));
    return all;
  };
  const std::vector<uint16_t> one = choices(1, 2, 3, 0);
  EXPECT_EQ(one, choices(1, 2, 3, 0));
  EXPECT_NE(one, choices(2, 2, 3, 0));
  EXPECT_NE(one, choices(1, 3, 3, 0));
  EXPECT_NE(one, choices(1, 2, 4, 0));
  EXPECT_NE(one, choices(1, 2, 3, 1));
}

TEST(ValueRounding, LargeWeightsBecomeTheLargestValueAndOthersStayWhatTheyAre) {
  for (bool evenly : {false, true}) {
    const ValueRounding half{ValueType::kF16, evenly, 1}, bfloat{ValueType::kBf16, evenly, 1};
    for (uint32_t column = 0; column < 100; ++column) {
      EXPECT_EQ(half.round(1e6f, 7, column), 65504);
      EXPECT_EQ(half.round(-65519.9f, 7, column), -65504);
      EXPECT_TRUE(is_number(bfloat.round(3.4e38f, 7, column)));
      EXPECT_EQ(half.round(INFINITY, 7, column), INFINITY);
      EXPECT_EQ(bfloat.round(-INFINITY, 7, column), -INFINITY);
      EXPECT_TRUE(std::isnan(half.round(NAN, 7, column)) && std::isnan(bfloat.round(NAN, 7, column)));
      EXPECT_EQ(half.round(-0.0f, 7, column), 0);
      EXPECT_TRUE(std::signbit(half.round(-0.0f, 7, column)));
    }
  }
}

// A move of a hundredth of the distance to the next value is lost by the nearest rounding, again and again, and adds up by the
// other.
TEST(ValueRounding, SmallMovesAddUpOnlyWhenTheyAreRoundedEvenly) {
  const auto rounded = [](const ValueRounding& rounding, float weight) {
    return rounding.round(weight, rounding.row_seed(11), 0);
  };
  constexpr float kMove = 0x1p-7f / 100;
  for (bool evenly : {false, true}) {
    float weight = 1;
    for (uint64_t step = 0; step < 2000; ++step)
      weight = rounded(ValueRounding{ValueType::kBf16, evenly, 4}.at_step(step), weight + kMove);
    if (evenly) {
      EXPECT_NEAR(weight, 1 + 2000 * kMove, 0.05);
    } else {
      EXPECT_EQ(weight, 1);
    }
  }
}

}  // namespace
}  // namespace ps::value_rounding_test
