#include "math/kernels/kernels.h"

#include "base/cpu.h"
#include "base/cpu_levels.h"

namespace ps {

// lib/math/kernels/table.cc defines the table of each level.
#define PS_DECLARE(level)                          \
  namespace level {                                \
  extern const MathKernels<float> kFloatKernels;   \
  extern const MathKernels<double> kDoubleKernels; \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

#define PS_FLOAT(level) &level::kFloatKernels,
#define PS_DOUBLE(level) &level::kDoubleKernels,

template <>
const MathKernels<float>& math_kernels(CpuLevel cpu) {
  static constexpr const MathKernels<float>* kLevels[] = {PS_FOR_CPU_LEVELS(PS_FLOAT)};
  return *kLevels[static_cast<int>(cpu)];
}

template <>
const MathKernels<double>& math_kernels(CpuLevel cpu) {
  static constexpr const MathKernels<double>* kLevels[] = {PS_FOR_CPU_LEVELS(PS_DOUBLE)};
  return *kLevels[static_cast<int>(cpu)];
}

}  // namespace ps
