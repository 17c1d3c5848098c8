// The test for values that are not finite, at every level of instruction sets that this processor has.
#include "math/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace ps::finite_test {
namespace {

using Limits = std::numeric_limits<float>;

// Lengths around those of registers, whose rests are tested by another loop.
constexpr size_t kLongest = 70;

TEST(Finite, NumbersOfEverySizeAreFinite) {
  for (CpuLevel cpu : possible_levels(cpu_features())) {
    for (float value : {0.0F, -0.0F, Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min()}) {
      for (size_t n = 0; n <= kLongest; ++n) {
        EXPECT_TRUE(all_finite(std::vector<float>(n, value).data(), n, cpu)) << value << ", " << n;
      }
    }
  }
}

TEST(Finite, OneOddValueIsFoundAtEveryPlace) {
  for (CpuLevel cpu : possible_levels(cpu_features())) {
    for (float odd : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN(),
                      Limits::signaling_NaN()}) {
      for (size_t n = 1; n <= kLongest; ++n) {
        for (size_t place = 0; place < n; ++place) {
          std::vector<float> values(n, Limits::max());
          values[place] = odd;
          EXPECT_FALSE(all_finite(values.data(), n, cpu)) << odd << " at " << place << " of " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ps::finite_test
