#include "job/global_batch.h"

#include "config/json.h"
#include "strategy/strategy.h"

namespace ps {

int64_t global_batch(const Job& job) {
  const Json strategy = complete_strategy(job.train.strategy);
  const bool alone = strategy.value("consistency", "sync") == "async";
  return job.data.batch_size * job.train.accumulate * (alone ? 1 : job.cluster.trainers);
}

OptimizerPlan optimizer_plan(const Job& job, CpuLevel cpu) {
  return make_optimizer_plan(job.optimizer, job.train.gradient, cpu, global_batch(job));
}

}  // namespace ps
