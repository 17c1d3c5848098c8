// The part of servers, and the limits of optimizers, in jobs whose trainers train copies of their own
// (LocalSgdStore).  Used by the strategy local_sgd.
#ifndef PS_PS_CLIENT_LOCAL_SGD_PLAN_H_
#define PS_PS_CLIENT_LOCAL_SGD_PLAN_H_

#include <vector>

#include "config/fwd.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"

namespace ps {

// Servers of such a job add what they get.  Their parameters have no tuning: that is
// for the trainers.
OptimizerPlan addition_plan(CpuLevel cpu = best_cpu_level());
std::vector<ParameterSpec> without_tuning(std::vector<ParameterSpec> specs);

// Throws kUsage "optimizer…" when trainers of such a job cannot use this one: where weights are made from
// state, those of the servers would not last, and where they are averaged, servers could not say the means.
void check_local_sgd_optimizer(const Json& optimizer);

}  // namespace ps

#endif  // PS_PS_CLIENT_LOCAL_SGD_PLAN_H_
