// The one place where programs get a network: every connection of ps-serve, ps-train and ps-bench goes
// through a transport that was made here.  Tests of everything above use the simulated one
// (net/sim/sim_network.h) as well.
#ifndef PS_NET_NETWORK_H_
#define PS_NET_NETWORK_H_

#include <functional>
#include <memory>
#include <string>

#include "net/transport.h"

namespace ps {

struct NetworkOptions {
  // Processes of one machine meet over Unix sockets, which listeners have beside their ports.
  bool local = false;

  // Called on the loop's thread when listeners cannot accept connections, as there are no descriptors left;
  // once, until they can again.  Null: nobody is told.
  std::function<void(const std::string&)> on_trouble = {};
};

// A transport with a loop of its own, owned by one thread: that which runs the loop.  Made and destroyed by
// it or by another, as long as nothing runs.  Must outlive all its listeners, streams, attempts and timers.
std::unique_ptr<Transport> make_network(const NetworkOptions& options = {});

}  // namespace ps

#endif  // PS_NET_NETWORK_H_
