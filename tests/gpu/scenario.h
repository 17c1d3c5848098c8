// Small pieces of device code, each right and with one fault planted.  planted_faults.cc runs them: the tests
// of device code are known to see the faults that people make.
#ifndef PS_TESTS_GPU_SCENARIO_H_
#define PS_TESTS_GPU_SCENARIO_H_

#include <span>

#include "gpu/device.h"

namespace ps {

struct Scenario {
  const char* name;
  bool (*run)(gpu::Device& device, bool faulty);  // true when its result is right

  // A regular expression of what a build says of the fault: plain, and with a sanitizer for addresses or for
  // threads.  Null where that build cannot see it.
  const char *plain, *address, *thread;
};

inline constexpr const char* kWrong = "wrong result";
inline constexpr const char* kRace = "ThreadSanitizer: data race";
inline constexpr const char* kStuck = "nothing can run";
inline constexpr const char* kPastEnd = "past (an|its) end";
inline constexpr const char* kPoisoned = "AddressSanitizer: (use-after-poison|heap-buffer-overflow)";

std::span<const Scenario> faults_in_blocks();
std::span<const Scenario> faults_in_warps();
std::span<const Scenario> faults_of_memory();
std::span<const Scenario> faults_of_hosts();

}  // namespace ps

#endif  // PS_TESTS_GPU_SCENARIO_H_
