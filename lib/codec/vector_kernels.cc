#include "codec/vector_kernels.h"

#include "base/cpu.h"
#include "base/cpu_levels.h"

namespace ps {

// The table of each level is in lib/codec/kernels/table.cc.
#define PS_DECLARE(level)                    \
  namespace level {                          \
  extern const VectorKernels kVectorKernels; \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

const VectorKernels& vector_kernels(CpuLevel cpu) {
#define PS_KERNELS(level) &level::kVectorKernels,
  static constexpr const VectorKernels* kLevels[] = {PS_FOR_CPU_LEVELS(PS_KERNELS)};
#undef PS_KERNELS
  return *kLevels[static_cast<int>(cpu)];
}

}  // namespace ps
