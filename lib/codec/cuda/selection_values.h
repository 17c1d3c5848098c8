// The values from which a device selects: given ones, or the residuals of a step of Deep Gradient Compression,
// which are computed in the same pass.  Used by the kernels of selection.
//
//   at(i)                 value i, changing nothing
//   take(i)               computes and stores value i, and returns it; once for each i
//   take_four(i, values)  the same for i ... i + 3, where i is a multiple of 4
//
// With kFast, arrays are aligned to 16 bytes, and are read and written 16 bytes at a time.
#ifndef PS_CODEC_CUDA_SELECTION_VALUES_H_
#define PS_CODEC_CUDA_SELECTION_VALUES_H_

#include <cstdint>

#include "codec/kernels/dgc_move.h"
#include "gpu/device.h"

namespace ps::device_selection {

inline namespace PS_GPU_NAMESPACE {

struct alignas(16) Four {
  float values[4];
};

template <bool kFast>
__device__ inline Four read_four(const float* from) {
  if constexpr (kFast) return *reinterpret_cast<const Four*>(from);
  return {{from[0], from[1], from[2], from[3]}};
}

template <bool kFast>
__device__ inline void write_four(float* to, const Four& four) {
  if constexpr (kFast) {
    *reinterpret_cast<Four*>(to) = four;
  } else {
    for (int c = 0; c < 4; ++c) to[c] = four.values[c];
  }
}

template <bool kFast>
struct GivenValues {
  static constexpr uint32_t kLoads = 4;  // reads of 16 bytes that a thread has under way
  static constexpr bool kComputes = false;

  const float* values;

  __device__ float at(uint32_t i) const { return values[i]; }
  __device__ float take(uint32_t i) const { return values[i]; }
  __device__ Four take_four(uint32_t i) const { return read_four<kFast>(values + i); }
};

template <bool kFast, bool kDecay, bool kNesterov>
struct MovedValues {
  static constexpr uint32_t kLoads = 2;  // reads of 16 bytes of each array
  static constexpr bool kComputes = true;

  const float* gradient;
  const float* weights;  // null without kDecay
  float *velocity, *residual;
  DgcMove<kDecay, kNesterov> move;

  __device__ float at(uint32_t i) const {
    float u = velocity[i], v = residual[i];
    move(u, v, gradient[i], kDecay ? weights[i] : 0.0f);
    return v;
  }
  __device__ float take(uint32_t i) const {
    float u = velocity[i], v = residual[i];
    move(u, v, gradient[i], kDecay ? weights[i] : 0.0f);
    velocity[i] = u;
    residual[i] = v;
    return v;
  }
  __device__ Four take_four(uint32_t i) const {
    const Four g = read_four<kFast>(gradient + i);
    const Four w = kDecay ? read_four<kFast>(weights + i) : Four{};
    Four u = read_four<kFast>(velocity + i), v = read_four<kFast>(residual + i);
    for (int c = 0; c < 4; ++c) move(u.values[c], v.values[c], g.values[c], w.values[c]);
    write_four<kFast>(velocity + i, u);
    write_four<kFast>(residual + i, v);
    return v;
  }
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_selection

#endif  // PS_CODEC_CUDA_SELECTION_VALUES_H_
