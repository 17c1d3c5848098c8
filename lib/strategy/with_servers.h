// WithServers: what strategies have in common whose parameters are on servers, whatever store is in front of theirs.  Used by
// parameter_server, local_sgd and hybrid.
#ifndef PS_STRATEGY_WITH_SERVERS_H_
#define PS_STRATEGY_WITH_SERVERS_H_

#include "ps/client/remote_store.h"
#include "strategy/strategy.h"

namespace ps {

// The store on servers.  `setup` has servers.  `own`, if it is not null, is the trainer's own state, and outlives the store.
inline RemoteStore connect_to_servers(const TrainerSetup& setup, const Consistency& consistency,
                                      const RowTypes& types, TrainerState* own = nullptr) {
  return RemoteStore(*setup.transport, *setup.servers, consistency, setup.parameters, types, own);
}

// The run and its trainers are those of the servers.  A class that derives from this says by store() how batches are
// trained, and is one itself with `servers` as a member: that is not used before the constructor of this has ended.
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
