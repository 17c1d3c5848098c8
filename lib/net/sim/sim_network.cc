#include "net/sim/sim_network.h"

#include <exception>

namespace ps {

SimNetwork::SimNetwork(uint64_t seed) : links_(seed) {}

SimNetwork::~SimNetwork() {
  // Processes end first, since they unwind through code that uses hosts.
  for (auto& [name, host] : hosts_) host->kill();
}

SimHost& SimNetwork::host(const std::string& name) {
  std::unique_ptr<SimHost>& host = hosts_[name];
  if (host) return *host;
  const auto find = [this](const std::string& other) {
    const auto found = hosts_.find(other);
    return found == hosts_.end() ? nullptr : found->second.get();
  };
  host = std::make_unique<SimHost>(links_, name, find);
  return *host;
}

void SimNetwork::cut(SimHost& one, SimHost& other) {
  one.cut_from(other);
}

void SimNetwork::block(SimHost& one, SimHost& other, bool blocked) {
  links_.block(one, other, blocked);
  links_.block(other, one, blocked);
}

bool SimNetwork::processes_ended() {
  bool all = true;
  for (auto& [name, host] : hosts_) all = host->processes_ended() && all;
  return all;
}

}  // namespace ps
