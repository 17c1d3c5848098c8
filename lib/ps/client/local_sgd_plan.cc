#include "ps/client/local_sgd_plan.h"

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

std::vector<ParameterSpec> without_tuning(std::vector<ParameterSpec> specs) {
  for (ParameterSpec& spec : specs) spec.tuning = {};
  return specs;
}

std::vector<ParameterSpec> without_policies(std::vector<ParameterSpec> specs) {
  for (ParameterSpec& spec : specs) spec.row_policy.reset();
  return specs;
}

}  // namespace ps
