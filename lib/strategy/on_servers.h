// The parameters on servers, which apply what trainers push.  Used by strategies that have servers.
#ifndef PS_STRATEGY_ON_SERVERS_H_
#define PS_STRATEGY_ON_SERVERS_H_

#include "ps/client/remote_store.h"
#include "strategy/strategy.h"

namespace ps {

class OnServers final : public Strategy {
 public:
  // `setup` has servers.  `own`, if it is not null, is the trainer's own state, and outlives this.
  OnServers(const TrainerSetup& setup, const Consistency& consistency, const RowTypes& types,
            TrainerState* own = nullptr)
      : store_(*setup.transport, *setup.servers, consistency, setup.parameters, types, own) {}
  ParameterStore& store() override { return store_; }
  TrainerGroup& group() override { return store_.group(); }
  RunControl& run() override { return store_.run(); }
  RemoteStore& remote() { return store_; }
  RemoteStore* on_servers() override { return &store_; }
  void settle(double seconds) override { store_.pushes().settle(seconds); }
  std::string_view first_cpu() const override { return store_.first_cpu(); }
  Json counters() const override {
    return {{"pushes_dropped", store_.pushes_dropped()},
            {"errors_dropped", store_.errors_dropped()},
            {"bytes_sent", store_.bytes_sent()}};
  }

 private:
  RemoteStore store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_ON_SERVERS_H_
