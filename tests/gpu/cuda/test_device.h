// The devices of tests in tests/gpu: GPU 0, whatever the seed.  tests/gpu/emulated/test_device.h documents the names.
#ifndef PS_TESTS_GPU_CUDA_TEST_DEVICE_H_
#define PS_TESTS_GPU_CUDA_TEST_DEVICE_H_

#include "gpu/device.h"

namespace ps::test_device {

inline int by_seed(uint64_t) {
  return 0;
}
inline int disorderly(uint64_t) {
  return 0;
}
inline int with_few_threads(uint64_t) {
  return 0;
}
inline int with_little_memory() {
  return 0;
}
inline constexpr int64_t kTooManyFloats = int64_t{1} << 44;

inline constexpr uint64_t kAllocationUnit = uint64_t{2} << 20;
inline constexpr bool kReusesMemory = true;

// CUDA's exp, log and tanh are within 2 units in the last place, and often other than those of the C library.
inline constexpr bool kSameFunctions = false;

inline bool is_slow() {
  return false;
}

}  // namespace ps::test_device

#endif  // PS_TESTS_GPU_CUDA_TEST_DEVICE_H_
