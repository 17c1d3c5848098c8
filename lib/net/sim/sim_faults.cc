#include "net/sim/sim_faults.h"

#include <cmath>

namespace ps {

SimFaults::SimFaults(SimNetwork& network, std::vector<SimHost*> hosts, const SimFaultOptions& options)
    : state_(std::make_shared<State>()) {
  state_->network = &network;
  state_->hosts = std::move(hosts);
  state_->options = options;
  state_->schedule();
}

// The intervals between faults are exponential, so that faults come in clusters, as real ones do.
void SimFaults::State::schedule() {
  double interval = -std::log(1 - network->random().uniform()) * to_seconds(options.mean_interval);
  network->at(network->now() + seconds_duration(interval), [self = shared_from_this()] { self->strike(); });
}

SimHost& SimFaults::State::any_host() {
  return *hosts[network->random().below(hosts.size())];
}

// Plans the next fault before it makes this one: a connection is cut, two hosts cannot reach each other for
// a while, or a host stands still.  Numbers are drawn in a fixed order, so that a seed gives the same
// faults in every run.
void SimFaults::State::strike() {
  if (stopped) return;
  schedule();
  SimHost &one = any_host(), &other = any_host();
  Duration length = seconds_duration(to_seconds(options.longest) * network->random().uniform());
  ++num_faults;
  switch (network->random().below(3)) {
    case 0:
      return network->cut(one, other);
    case 1:
      return part(one, other, length);
    default:
      return pause(one, length);
  }
}

void SimFaults::State::part(SimHost& one, SimHost& other, Duration length) {
  if (&one == &other) return;
  network->block(one, other, true);
  network->at(network->now() + length,
              [this, self = shared_from_this(), &one, &other] { network->block(one, other, false); });
}

void SimFaults::State::pause(SimHost& host, Duration length) {
  host.pause();
  network->at(network->now() + length, [self = shared_from_this(), &host] { host.resume(); });
}

}  // namespace ps
