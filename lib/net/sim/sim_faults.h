// Random faults for a simulated network, from its seed.  See sim_network.h.
#ifndef PS_NET_SIM_SIM_FAULTS_H_
#define PS_NET_SIM_SIM_FAULTS_H_

#include <cstdint>
#include <vector>

#include "net/sim/sim_host.h"
#include "net/sim/sim_network.h"

namespace ps {

struct SimFaultOptions {
  Duration mean_interval = std::chrono::seconds(5);  // between the beginnings of two faults
  Duration longest = std::chrono::seconds(30);       // longest partition or pause
};

// One owner thread, that of the network.  From construction on, it repeatedly cuts the connections of two of the
// hosts, separates them for a while, or stops one of them for a while.  The events on the network share the
// state, so that this object may be destroyed before the network.
class SimFaults {
 public:
  SimFaults(SimNetwork& network, std::vector<SimHost*> hosts, const SimFaultOptions& options);

  // Faults that have begun heal in their time; no new one begins.
  void stop() { state_->stopped = true; }

  uint64_t num_faults() const { return state_->num_faults; }

 private:
  struct State : std::enable_shared_from_this<State> {
    void schedule();
    void strike();
    void part(SimHost& one, SimHost& other, Duration length);
    void pause(SimHost& host, Duration length);
    SimHost& any_host();

    SimNetwork* network;
    std::vector<SimHost*> hosts;
    SimFaultOptions options;
    uint64_t num_faults = 0;
    bool stopped = false;
  };

  const std::shared_ptr<State> state_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_FAULTS_H_
