#include "math/kernels/kernels.h"

#include "base/cpu.h"
#include "base/cpu_levels.h"
#include "base/reals.h"

namespace ps {

// lib/math/kernels/table.cc defines the table of each level.
#define PS_DECLARE(level)               \
  namespace level {                     \
  template <class T>                    \
  const MathKernels<T>& kernel_table(); \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

template <class T>
const MathKernels<T>& math_kernels(CpuLevel cpu) {
#define PS_TABLE(level) level::kernel_table<T>,
  static constexpr const MathKernels<T>& (*kLevels[])() = {PS_FOR_CPU_LEVELS(PS_TABLE)};
#undef PS_TABLE
  return kLevels[static_cast<int>(cpu)]();
}

#define PS_INSTANTIATE(T) template const MathKernels<T>& math_kernels(CpuLevel);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
