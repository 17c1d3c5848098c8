// Planted faults are found, and what is right is found right: the emulator sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/emulated/hooks.h"
#include "gpu/emulated/options.h"
#include "gpu/scenario.h"

// The sanitizers end at the first report, and do not take a second to name its lines.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "halt_on_error=1:symbolize=0";
}
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "symbolize=0:detect_leaks=0";
}

namespace ps {

// For gtest.
inline void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

namespace {

using gpu::emulated::EmulatorOptions;
using gpu::emulated::ScheduleOrder;
using gpu::emulated::StreamOrder;

constexpr uint64_t kSeeds = 60;

EmulatorOptions options_of(uint64_t seed) {
  EmulatorOptions options;
  options.seed = seed;
  options.order = seed == 0   ? ScheduleOrder::kByLane
                  : seed == 1 ? ScheduleOrder::kAlways
                              : ScheduleOrder::kRandom;
  options.stream_order = seed < 2 ? StreamOrder::kInOrder : StreamOrder::kRandom;
  options.max_steps = 20000;
  return options;
}

// "", or what is wrong with one run.
std::string try_once(const Scenario& scenario, bool faulty, uint64_t seed) {
  try {
    gpu::Device device(options_of(seed));
    return scenario.run(device, faulty) ? "" : "wrong result";
  } catch (const Error& error) {
    return error.message();
  }
}

// Ends with status 1 when a seed finds the fault, else with 0, which a sanitizer makes another after a
// report.
[[noreturn]] void hunt(const Scenario& scenario) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string found = try_once(scenario, true, seed);
    if (found.empty()) continue;
    std::cerr << "seed " << seed << ": " << found << std::endl;
    std::_Exit(1);
  }
  std::exit(0);
}

bool failed(int status) {
  return !testing::ExitedWithCode(0)(status);
}

// Returns the report that this build must give of the fault; null if it cannot detect the fault.
const char* expected_report(const Scenario& scenario) {
  const std::string sanitizer = gpu::emulated::hooks::sanitizer();
  return sanitizer.empty() ? scenario.plain : sanitizer == "address" ? scenario.address : scenario.thread;
}

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (auto part : {faults_in_blocks(), faults_in_warps(), faults_of_memory(), faults_of_hosts()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<Scenario> visible_scenarios() {
  std::vector<Scenario> visible = all_scenarios();
  std::erase_if(visible, [](const Scenario& scenario) { return expected_report(scenario) == nullptr; });
  return visible;
}

class PlantedFault : public testing::TestWithParam<Scenario> {};
class RightCode : public testing::TestWithParam<Scenario> {};

TEST_P(PlantedFault, IsFound) {
  EXPECT_EXIT(hunt(GetParam()), failed, testing::ContainsRegex(expected_report(GetParam())));
}

TEST_P(RightCode, IsRightInEveryOrder) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_EQ(try_once(GetParam(), false, seed), "") << "seed " << seed;
  }
}

std::string name_of(const testing::TestParamInfo<Scenario>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFault, testing::ValuesIn(visible_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Each, RightCode, testing::ValuesIn(all_scenarios()), name_of);

TEST(PlantedFaults, AreAtLeastTwentyInEveryBuildAndEachIsSeenInOne) {
  EXPECT_GE(visible_scenarios().size(), 20u);
  for (const Scenario& scenario : all_scenarios()) {
    EXPECT_TRUE(scenario.plain != nullptr || scenario.address != nullptr || scenario.thread != nullptr)
        << scenario.name;
  }
}

}  // namespace

}  // namespace ps
