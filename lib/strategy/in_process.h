// The parameters of a trainer without servers: in its own process.  Used by strategies for jobs that have
// none, where a trainer is alone.
#ifndef PS_STRATEGY_IN_PROCESS_H_
#define PS_STRATEGY_IN_PROCESS_H_

#include "strategy/strategy.h"

namespace ps {

class InProcess final : public Strategy {
 public:
  explicit InProcess(const TrainerSetup& setup)
      : store_(setup.parameters, setup.optimizers, setup.memory_limit, setup.device) {}
  ParameterStore& store() override { return store_; }
  TrainerGroup& group() override { return group_; }
  RunControl& run() override { return run_; }
  LocalStore* local() override { return &store_; }

 private:
  LocalStore store_;
  LocalGroup group_;
  LocalRun run_;
};

}  // namespace ps

#endif  // PS_STRATEGY_IN_PROCESS_H_
