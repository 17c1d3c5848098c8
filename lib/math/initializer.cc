#include "math/initializer.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/cpu_levels.h"
#include "math/kernels/initial.h"

namespace ps {

// lib/math/kernels/initial.cc implements these for each level.
#define PS_DECLARE(level)                      \
  namespace level {                            \
  extern const InitialKernels kInitialKernels; \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

#define PS_ADDRESS(level) &level::kInitialKernels,

static const InitialKernels& initial_kernels(CpuLevel cpu) {
  static constexpr const InitialKernels* kLevels[] = {PS_FOR_CPU_LEVELS(PS_ADDRESS)};
  return *kLevels[static_cast<int>(cpu)];
}

// Random weights depend on (seed, row, column) alone, so that a row is the same wherever and whenever it is
// made.
void Initializer::fill(uint64_t row, std::span<float> weights, CpuLevel cpu) const {
  const float center = static_cast<float>(mean), scale = static_cast<float>(deviation);
  const int64_t width = static_cast<int64_t>(weights.size());
  switch (distribution) {
    case Distribution::kZero:
      std::fill(weights.begin(), weights.end(), 0.0f);
      break;
    case Distribution::kConstant:
      std::fill(weights.begin(), weights.end(), center);
      break;
    case Distribution::kNormal:
      initial_kernels(cpu).fill_normal(seed, row, center, scale, weights.data(), width);
      break;
    case Distribution::kUniform:
      initial_kernels(cpu).fill_uniform(seed, row, center, scale, weights.data(), width);
      break;
  }
}

}  // namespace ps
