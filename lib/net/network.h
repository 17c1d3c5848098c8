// The one place where programs get a network: every connection of ps-serve, ps-train and ps-bench goes
// through a transport that was made here.  Tests of everything above use the simulated one
// (net/sim/sim_network.h) as well.  make_secure_network of net/secure_transport.h gives one with TLS and tokens.
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
  // once, until they can again.  It may be null.
  std::function<void(const std::string&)> on_trouble = {};
};

// Returns a transport with its own loop.  The owner thread is the one that runs the loop; another thread may
// make and destroy the transport while nothing runs.  Must outlive all its listeners, streams, attempts and
// timers.
std::unique_ptr<Transport> make_network(const NetworkOptions& options = {});

}  // namespace ps

#endif  // PS_NET_NETWORK_H_
