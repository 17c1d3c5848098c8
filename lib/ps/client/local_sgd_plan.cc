#include "ps/client/local_sgd_plan.h"

#include "base/error.h"
#include "config/catalog.h"
#include "optim/options.h"

namespace ps {

OptimizerPlan addition_plan(CpuLevel cpu) {
  constexpr double kAdd = -1;  // with this rate, a step w <- w - rate g adds g
  OptimizerPlan descent = make_optimizer_plan({{"type", "sgd"}}, "sum", cpu);
  OptimizerPlan plan;
  plan.cpu = cpu;
  plan.make = [make = descent.make](const ParameterTuning&) { return make({}); };
  plan.schedule = make_schedule(Json(), kAdd, "schedule");
  plan.mean = false;
  return plan;
}

void check_local_sgd_optimizer(const Json& optimizer) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer");
  if (entry.weights_from_state) {
    fail(Code::kUsage, "optimizer.type: ", entry.name,
         " makes weights from its own state, so trainers of train.strategy local_sgd could not take over "
         "those of others");
  }
  if (parse_optimizer_options(optimizer, "optimizer").average) {
    fail(Code::kUsage,
         "optimizer.average: with train.strategy local_sgd, servers do not know the means of weights");
  }
}

std::vector<ParameterSpec> without_tuning(std::vector<ParameterSpec> specs) {
  for (ParameterSpec& spec : specs) spec.tuning = {};
  return specs;
}

}  // namespace ps
