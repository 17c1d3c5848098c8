// WithServers: the common part of strategies with parameters on servers, whatever store is in front of the
// servers' store.  Used by parameter_server, local_sgd and hybrid.
#ifndef PS_STRATEGY_WITH_SERVERS_H_
#define PS_STRATEGY_WITH_SERVERS_H_

#include "ps/client/remote_store.h"
#include "strategy/strategy.h"

namespace ps {

// Makes the store on servers.  `setup` must have servers.  `own`, if it is not null, is the trainer's own
// state, and outlives the store.
inline RemoteStore connect_to_servers(const TrainerSetup& setup, const Consistency& consistency,
                                      const RowTypes& types, TrainerState* own = nullptr) {
  return RemoteStore(*setup.transport, *setup.servers, consistency, setup.parameters, types, own);
}

// The run and the group are those of the servers.  A derived class implements store(), by which batches are
// trained, and has `servers` as a member; the constructor of this class does not use it yet.  One owner
// thread.
class WithServers : public Strategy {
 public:
  TrainerGroup& group() override { return servers_.group(); }
  RunControl& run() override { return servers_.run(); }
  void settle(double seconds) override { servers_.pushes().settle(seconds); }
  std::string_view first_cpu() const override { return servers_.first_cpu(); }
  Json counters() const override {
    return {{"pushes_dropped", servers_.pushes_dropped()},
            {"errors_dropped", servers_.errors_dropped()},
            {"bytes_sent", servers_.bytes_sent()}};
  }

 protected:
  explicit WithServers(RemoteStore& servers) : servers_(servers) {}

 private:
  RemoteStore& servers_;
};

}  // namespace ps

#endif  // PS_STRATEGY_WITH_SERVERS_H_
