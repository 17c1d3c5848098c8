// The parameters on servers, and copies of the rows in use with the trainer, which does not wait: AheadStore.  Used by the
// strategy parameter_server.
#ifndef PS_STRATEGY_PULLING_AHEAD_H_
#define PS_STRATEGY_PULLING_AHEAD_H_

#include "ps/client/ahead_store.h"
#include "strategy/on_servers.h"

namespace ps {

class PullingAhead final : public Strategy {
 public:
  // `setup` has servers, and is of a process that trains.  Throws kUsage for parameters of which no copies can be kept.
  explicit PullingAhead(const TrainerSetup& setup)
      : parameters_(check_no_policies(setup.parameters)),
        servers_(setup, ahead_consistency(setup.pull_ahead), {}),
        local_(parameters_, setup.optimizers, setup.memory_limit, setup.device),
        store_(parameters_, static_cast<size_t>(setup.pull_ahead), servers_.remote(), local_) {}

  ParameterStore& store() override { return store_; }
  TrainerGroup& group() override { return servers_.group(); }
  RunControl& run() override { return servers_.run(); }
  void settle(double seconds) override { servers_.settle(seconds); }
  std::string_view first_cpu() const override { return servers_.first_cpu(); }
  Json counters() const override { return servers_.counters(); }

 private:
  const std::vector<ParameterSpec> parameters_;
  OnServers servers_;
  LocalStore local_;
  AheadStore store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_PULLING_AHEAD_H_
