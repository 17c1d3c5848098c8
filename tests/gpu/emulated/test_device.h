// The devices of tests in tests/gpu: emulated ones, whose schedules come from a seed.  tests/gpu/cuda/test_device.h has the
// same names for a GPU; the path of includes picks one.
#ifndef PS_TESTS_GPU_EMULATED_TEST_DEVICE_H_
#define PS_TESTS_GPU_EMULATED_TEST_DEVICE_H_

#include "gpu/device.h"
#include "gpu/emulated/hooks.h"
#include "gpu/emulated/options.h"

namespace ps::test_device {

// Each returns the argument of gpu::Device.  Threads run by lane, or in random order.
inline gpu::emulated::EmulatorOptions by_seed(uint64_t seed) {
  gpu::emulated::EmulatorOptions options;
  options.seed = seed;
  options.order =
      seed % 2 == 0 ? gpu::emulated::ScheduleOrder::kByLane : gpu::emulated::ScheduleOrder::kRandom;
  return options;
}

// Threads in an order that is never by lane, streams in random order.
inline gpu::emulated::EmulatorOptions disorderly(uint64_t seed) {
  gpu::emulated::EmulatorOptions options;
  options.seed = seed;
  options.order =
      seed % 8 == 0 ? gpu::emulated::ScheduleOrder::kAlways : gpu::emulated::ScheduleOrder::kRandom;
  options.stream_order = gpu::emulated::StreamOrder::kRandom;
  return options;
}

// So few threads that each computes several items.
inline gpu::emulated::EmulatorOptions with_few_threads(uint64_t seed) {
  gpu::emulated::EmulatorOptions options = by_seed(seed);
  options.limits.resident_threads = seed % 3 == 0 ? 128 : 256;
  return options;
}

inline gpu::emulated::EmulatorOptions with_little_memory() {
  gpu::emulated::EmulatorOptions options;
  options.memory_bytes = 4096;
  return options;
}
inline constexpr int64_t kTooManyFloats = 4096;  // for that

// An allocation takes a multiple of kAllocationUnit bytes; some may come from memory that was taken before.
inline constexpr uint64_t kAllocationUnit = 256;
inline constexpr bool kReusesMemory = false;

// Functions of the device's mathematical library give the bits of the processor's.
inline constexpr bool kSameFunctions = true;

// Sanitizers are slower, and see more in each schedule.
inline bool is_slow() {
  return *gpu::emulated::hooks::sanitizer() != 0;
}

}  // namespace ps::test_device

#endif  // PS_TESTS_GPU_EMULATED_TEST_DEVICE_H_
