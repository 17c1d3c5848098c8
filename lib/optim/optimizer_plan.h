// OptimizerPlan: applies the optimizer section of a job to a list of parameters.  Used by the stores that
// hold them.
#ifndef PS_OPTIM_OPTIMIZER_PLAN_H_
#define PS_OPTIM_OPTIMIZER_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/cpu.h"
#include "config/fwd.h"
#include "optim/optimizer.h"
#include "optim/options.h"
#include "optim/step_rule.h"

namespace ps {

// Constant after it was made; any thread may call `make`.
struct OptimizerPlan {
  CpuLevel cpu = best_cpu_level();  // of the optimizers that `make` makes
  std::function<std::unique_ptr<Optimizer<float>>(const ParameterTuning&)> make;
  std::shared_ptr<const Schedule> schedule;
  bool mean = true;                        // a step's gradient is the mean over its examples, else the sum
  std::optional<double> clip_norm;         // default for parameters that set none themselves
  std::optional<double> clip_global_norm;  // limit for the gradients of all parameters together
  std::optional<AverageOptions> average = {};  // the optimizers that `make` makes keep means of weights

  StepRule step_rule() const { return StepRule(schedule, mean); }
};

// Makes the plan of an "optimizer" object; `gradient` is "sum" or "mean".  `examples` is the number of
// examples in a step of all trainers; 0: the number that "scale_rate" names, if there is one.  Throws kUsage
// "optimizer.type: …".
OptimizerPlan make_optimizer_plan(const Json& optimizer, std::string_view gradient,
                                  CpuLevel cpu = best_cpu_level(), int64_t examples = 0);

}  // namespace ps

#endif  // PS_OPTIM_OPTIMIZER_PLAN_H_
