// The optimizers of servers and of trainers in jobs whose trainers train their own copies
// (LocalSgdStore).  Used by the strategy local_sgd.
#ifndef PS_PS_CLIENT_LOCAL_SGD_PLAN_H_
#define PS_PS_CLIENT_LOCAL_SGD_PLAN_H_

#include <optional>
#include <vector>

#include "config/fwd.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"

namespace ps {

// Returns the plan of optimizers of the servers of such a job: they add the differences that they get, and may keep the mean
// of the weights after each exchange.  Options of a parameter's training are used by trainers alone.
OptimizerPlan addition_plan(CpuLevel cpu = best_cpu_level(),
                            const std::optional<AverageOptions>& average = {});

// Returns the plan of optimizers of a trainer of such a job, which keeps no means of weights.  `optimizer` is that of the
// job, `plan` its plan.
OptimizerPlan copies_plan(const Json& optimizer, const OptimizerPlan& plan);
std::vector<ParameterSpec> without_tuning(std::vector<ParameterSpec> specs);

// Returns the parameters as trainers copy them: servers alone decide which rows come and go.
std::vector<ParameterSpec> without_policies(std::vector<ParameterSpec> specs);

}  // namespace ps

#endif  // PS_PS_CLIENT_LOCAL_SGD_PLAN_H_
