#include "ps/client/local_sgd_plan.h"

#include "base/error.h"
#include "config/catalog.h"
#include "config/spec.h"
#include "optim/options.h"

namespace ps {

// A server that adds is one that descends with rate -1: w <- w - (-1) d = w + d.  The mean over examples is
// switched off, since a difference is no sum over examples, and so are the options of a parameter's
// training, which the trainers have applied already.
OptimizerPlan addition_plan(CpuLevel cpu, const std::optional<AverageOptions>& average) {
  constexpr double kAdd = -1;  // with this rate, a step w <- w - rate g adds g
  Json optimizer = {{"type", "sgd"}};
  if (average) optimizer["average"] = AverageOptions::spec().to_json(*average);
  OptimizerPlan descent = make_optimizer_plan(optimizer, "sum", cpu);
  OptimizerPlan plan;
  plan.cpu = cpu;
  plan.make = [make = descent.make](const ParameterTuning&) { return make({}); };
  plan.schedule = make_schedule(Json(), kAdd, "schedule");
  plan.mean = false;
  plan.average = average;
  return plan;
}

OptimizerPlan copies_plan(const Json& optimizer, const OptimizerPlan& plan) {
  Json plain = optimizer;
  if (plain.is_object()) plain.erase("average");
  OptimizerPlan out = plan;
  out.make = make_optimizer_plan(plain, plan.mean ? "mean" : "sum", plan.cpu).make;
  out.average.reset();
  return out;
}

void check_local_sgd_optimizer(const Json& optimizer) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer");
  if (entry.weights_from_state) {
    fail(Code::kUsage, "optimizer.type: ", entry.name,
         " makes weights from its own state, so trainers of train.strategy local_sgd could not take over "
         "those of others");
  }
}

std::vector<ParameterSpec> without_tuning(std::vector<ParameterSpec> specs) {
  for (ParameterSpec& spec : specs) spec.tuning = {};
  return specs;
}

}  // namespace ps
