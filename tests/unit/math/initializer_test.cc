#include "math/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ps {
namespace {

std::vector<float> row_of(const Initializer& initializer, uint64_t row, size_t width) {
  std::vector<float> weights(width, NAN);
  initializer.fill(row, weights);
  return weights;
}

TEST(Initializer, GivesARowTheSameWeightsInAnyOrderAndOthersToOtherRowsAndSeeds) {
  Initializer normal{Distribution::kNormal, 0, 1, 5}, other{Distribution::kNormal, 0, 1, 6};
  std::vector<float> first = row_of(normal, 3, 10);
  EXPECT_NE(row_of(normal, 4, 10), first);
  EXPECT_NE(row_of(other, 3, 10), first);
  EXPECT_EQ(row_of(normal, 3, 10), first);
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
}  // namespace ps
