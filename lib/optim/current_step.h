// CurrentStep: the step that an optimizer has begun last, as constants and arithmetic only, for code that
// applies it to rows in the memory of a device.  Returned by Optimizer, used by the rows of lib/device.
#ifndef PS_OPTIM_CURRENT_STEP_H_
#define PS_OPTIM_CURRENT_STEP_H_

#include <optional>
#include <variant>

#include "optim/kernels/idle.h"
#include "optim/kernels/steps.h"

namespace ps {

#define PS_AND_STEP(...) , __VA_ARGS__
// With std::monostate, the step changes nothing.
template <class T>
using AnyStep = std::variant<std::monostate PS_FOR_STEPS(PS_AND_STEP, T)>;
#undef PS_AND_STEP

// The step takes gradients that were first scaled and then clipped to [-bound, bound].  If the optimizer
// averages weights, `mean` is the change that follows the step: the mean takes in the new weights.
template <class T>
struct CurrentStep {
  AnyStep<T> step;
  T bound;
  std::optional<IdleChange> mean;
};

}  // namespace ps

#endif  // PS_OPTIM_CURRENT_STEP_H_
