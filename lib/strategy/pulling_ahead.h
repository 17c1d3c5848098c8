// The parameters are on servers, and the trainer keeps copies of the rows in use, so that it does not wait
// (AheadStore).  Used by the strategy parameter_server.
#ifndef PS_STRATEGY_PULLING_AHEAD_H_
#define PS_STRATEGY_PULLING_AHEAD_H_

#include "ps/client/ahead_store.h"
#include "strategy/with_servers.h"

namespace ps {

// One owner thread.
class PullingAhead final : public WithServers {
 public:
  // `setup` must have servers, and be that of a process that trains.  Throws kUsage for parameters that
  // cannot be copied.
  explicit PullingAhead(const TrainerSetup& setup)
      : WithServers(servers_),
        parameters_(check_no_policies(setup.parameters)),
        servers_(connect_to_servers(setup, ahead_consistency(setup.pull_ahead), {})),
        local_(parameters_, setup.optimizers, setup.memory_limit, setup.device),
        store_(parameters_, static_cast<size_t>(setup.pull_ahead), servers_, local_) {}

  ParameterStore& store() override { return store_; }

 private:
  const std::vector<ParameterSpec> parameters_;
  RemoteStore servers_;
  LocalStore local_;
  AheadStore store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_PULLING_AHEAD_H_
