#include "math/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/cpu.h"
#include "base/random.h"

namespace ps::initializer_test {
namespace {

std::vector<float> row_of(const Initializer& initializer, uint64_t row, size_t width,
                          CpuLevel cpu = best_cpu_level()) {
  std::vector<float> weights(width, NAN);
  initializer.fill(row, weights, cpu);
  return weights;
}

TEST(Initializer, GivesARowTheSameWeightsInAnyOrderAndOthersToOtherRowsAndSeeds) {
  Initializer normal{Distribution::kNormal, 0, 1, 5}, other{Distribution::kNormal, 0, 1, 6};
  std::vector<float> first = row_of(normal, 3, 10);
  EXPECT_NE(row_of(normal, 4, 10), first);
  EXPECT_NE(row_of(other, 3, 10), first);
  EXPECT_EQ(row_of(normal, 3, 10), first);
}

// Numbers 4 j to 4 j + 3 are those of counter (row, j).  The kernel's own logarithm, sine and cosine are off
// by a few units in the last place of numbers below 6.
TEST(Initializer, NumbersAreThoseOfTheirCounters) {
  constexpr uint64_t kSeed = 0x123456789abcdef0, kRow = 0xfedcba9876543210;
  for (size_t width : {1, 2, 4, 5, 8, 9, 16, 17, 64, 65, 80, 300}) {
    const std::vector<float> normal = row_of({Distribution::kNormal, 0, 1, kSeed}, kRow, width);
    const std::vector<float> uniform = row_of({Distribution::kUniform, 0, 1, kSeed}, kRow, width);
    for (size_t i = 0; i < width; ++i) {
      const std::array<uint32_t, 4> bits = philox(kSeed, kRow, i / 4);
      EXPECT_EQ(uniform[i], 2 * unit_float(bits[i % 4]) - 1) << i << " of " << width;
      const NormalPair pair = normal_pair(bits[i % 4 & ~size_t{1}], bits[i % 4 | 1]);
      EXPECT_NEAR(normal[i], i % 2 == 0 ? pair.first : pair.second, 5e-6) << i << " of " << width;
    }
  }
}

TEST(Initializer, EveryLevelOfInstructionSetsGivesTheSameBits) {
  const std::vector<float> baseline =
      row_of({Distribution::kNormal, 0.5, 2, 7}, 11, 10000, CpuLevel::kBaseline);
  for (CpuLevel level : possible_levels(cpu_features())) {
    EXPECT_EQ(row_of({Distribution::kNormal, 0.5, 2, 7}, 11, 10000, level), baseline)
        << cpu_level_name(level);
    EXPECT_EQ(row_of({Distribution::kNormal, 0.5, 2, 7}, 11, 7, level),
              std::vector(baseline.begin(), baseline.begin() + 7));
  }
}

TEST(Initializer, NormalHasItsMeanAndDeviation) {
  std::vector<float> weights = row_of({Distribution::kNormal, 2, 0.5, 1}, 0, 100001);
  double sum = 0, squares = 0, size = static_cast<double>(weights.size());
  for (float w : weights) sum += w, squares += (w - 2.0) * (w - 2.0);
  EXPECT_NEAR(sum / size, 2, 4 * 0.5 / std::sqrt(size));
  EXPECT_NEAR(std::sqrt(squares / size), 0.5, 4 * 0.5 / std::sqrt(2 * size));
}

TEST(Initializer, UniformStaysWithinItsDeviation) {
  std::vector<float> weights = row_of({Distribution::kUniform, 1, 0.25, 1}, 0, 10000);
  auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  EXPECT_GE(*least, 0.75f);
  EXPECT_LT(*least, 0.76f);
  EXPECT_LE(*most, 1.25f);
  EXPECT_GT(*most, 1.24f);
}

TEST(Initializer, ConstantAndZeroAreWhatTheySay) {
  EXPECT_EQ(row_of({Distribution::kConstant, 3, 9, 1}, 0, 5), std::vector<float>(5, 3.0f));
  EXPECT_EQ(row_of({Distribution::kZero, 3, 9, 1}, 0, 5), std::vector<float>(5, 0.0f));
}

}  // namespace
}  // namespace ps::initializer_test
