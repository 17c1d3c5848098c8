#include "optim/optimizer_plan.h"

#include "config/catalog.h"
#include "optim/options.h"

namespace ps {

OptimizerPlan make_optimizer_plan(const Json& optimizer, std::string_view gradient, CpuLevel cpu) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer");
  OptimizerOptions common = parse_optimizer_options(optimizer, "optimizer");
  auto make = [&entry, cpu, numbers = without_type(optimizer)](const ParameterTuning& tuning) {
    return entry.make_float(numbers, tuning, cpu);
  };
  return {cpu,
          make,
          make_schedule(common.schedule, common.learning_rate, "optimizer.schedule"),
          gradient == "mean",
          common.clip_norm,
          common.clip_global_norm};
}

}  // namespace ps
