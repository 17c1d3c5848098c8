// The parameters are on servers, which apply what trainers push.  Used by strategies that have servers.
#ifndef PS_STRATEGY_ON_SERVERS_H_
#define PS_STRATEGY_ON_SERVERS_H_

#include "strategy/with_servers.h"

namespace ps {

// One owner thread.
class OnServers final : public WithServers {
 public:
  OnServers(const TrainerSetup& setup, const Consistency& consistency, const RowTypes& types)
      : WithServers(store_), store_(connect_to_servers(setup, consistency, types)) {}
  ParameterStore& store() override { return store_; }
  RemoteStore* on_servers() override { return &store_; }

 private:
  RemoteStore store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_ON_SERVERS_H_
