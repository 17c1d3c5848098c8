// The loops of an optimizer's step, for each level of instruction sets.  Used by RowOptimizer.
#ifndef PS_OPTIM_STEP_KERNELS_H_
#define PS_OPTIM_STEP_KERNELS_H_

#include "base/cpu.h"
#include "base/cpu_levels.h"
#include "optim/kernels/steps.h"

namespace ps {

#define PS_DECLARE(level)           \
  namespace level {                 \
  template <class Step>             \
  StepKernels<Step> step_kernels(); \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

// The loops of a level, for the steps that lib/optim/kernels/steps.cc lists.
template <class Step>
StepKernels<Step> step_kernels(CpuLevel cpu) {
#define PS_FUNCTION(level) level::step_kernels<Step>,
  static constexpr StepKernels<Step> (*kLevels[])() = {PS_FOR_CPU_LEVELS(PS_FUNCTION)};
#undef PS_FUNCTION
  return kLevels[static_cast<int>(cpu)]();
}

}  // namespace ps

#endif  // PS_OPTIM_STEP_KERNELS_H_
