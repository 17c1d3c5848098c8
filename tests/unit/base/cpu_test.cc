#include "base/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ps::cpu_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Features = std::vector<std::string_view>;

const Features kNone = {}, kHaswell = {"avx2", "fma", "bmi", "bmi2"},
               kSkylake = {"avx2", "fma", "bmi", "bmi2", "avx512f", "avx512bw", "avx512dq", "avx512vl"};

TEST(Cpu, ALevelIsPossibleWhereNothingThatItNeedsIsLacking) {
  EXPECT_THAT(possible_levels(kNone), ElementsAre(CpuLevel::kBaseline));
  EXPECT_THAT(possible_levels(kHaswell), ElementsAre(CpuLevel::kBaseline, CpuLevel::kAvx2));
  EXPECT_THAT(possible_levels(kSkylake),
              ElementsAre(CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512));
  Features without_fma = kSkylake;
  std::erase(without_fma, "fma");
  EXPECT_THAT(possible_levels(without_fma), ElementsAre(CpuLevel::kBaseline));
}

TEST(Cpu, AutoIsTheHighestPossibleLevel) {
  EXPECT_EQ(find_cpu_level("auto", kNone), CpuLevel::kBaseline);
  EXPECT_EQ(find_cpu_level("auto", kHaswell), CpuLevel::kAvx2);
  EXPECT_EQ(find_cpu_level("auto", kSkylake), CpuLevel::kAvx512);
}

TEST(Cpu, EveryNameFindsItsLevel) {
  for (CpuLevel level : kCpuLevels) EXPECT_EQ(find_cpu_level(cpu_level_name(level), kSkylake), level);
  EXPECT_THAT(cpu_choices(), ElementsAre("auto", "baseline", "avx2", "avx512"));
}

TEST(Cpu, ALevelThatIsNotThereIsRefusedWithWhatIsLacking) {
  Features without_vl = kSkylake;
  std::erase(without_vl, "avx512vl");
  std::erase(without_vl, "avx512bw");
  try {
    find_cpu_level("avx512", without_vl);
    FAIL() << "avx512 without avx512vl";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_EQ(error.message(),
              "'avx512' needs avx512bw, avx512vl, which this processor lacks; it can do avx2");
  }
  EXPECT_THROW(find_cpu_level("avx2", kNone), Error);
  EXPECT_THROW(find_cpu_level("sse9", kSkylake), Error);
}

TEST(Cpu, TheBestLevelIsTheHighestThatIsPossible) {
  EXPECT_EQ(best_cpu_level(), possible_levels(cpu_features()).back());
}

}  // namespace
}  // namespace ps::cpu_test
