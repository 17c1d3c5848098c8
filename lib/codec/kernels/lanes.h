// Helpers of loops that compilers vectorise: sizes of floats, and 16 lanes.  Always inlined, since they are
// compiled for several levels.
#ifndef PS_CODEC_KERNELS_LANES_H_
#define PS_CODEC_KERNELS_LANES_H_

#include <cstdint>

#include "math/kernels/half.h"

namespace ps::PS_CPU_NAMESPACE {

inline constexpr int64_t kLanes = 16;

// Returns the size of a float as a signed number, since every level can compare these in one instruction.
[[gnu::always_inline]] inline int32_t size_of(float x) {
  return static_cast<int32_t>(bits_of(x) & ~kSign);
}

[[gnu::always_inline]] inline int32_t larger(int32_t x, int32_t y) {
  return x < y ? y : x;
}

// The largest lane.
[[gnu::always_inline]] inline int32_t fold(const int32_t (&lanes)[kLanes]) {
  int32_t all = 0;
  for (int64_t l = 0; l < kLanes; ++l) all = larger(all, lanes[l]);
  return all;
}

// The sum of the lanes, in order.
template <class T>
[[gnu::always_inline]] inline T sum_lanes(const T (&lanes)[kLanes]) {
  T all = 0;
  for (int64_t l = 0; l < kLanes; ++l) all += lanes[l];
  return all;
}

}  // namespace ps::PS_CPU_NAMESPACE

#endif  // PS_CODEC_KERNELS_LANES_H_
