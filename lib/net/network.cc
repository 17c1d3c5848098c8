#include "net/network.h"

#include "net/tcp/tcp_transport.h"

namespace ps {

std::unique_ptr<Transport> make_network(const NetworkOptions& options) {
  return make_tcp_transport(options.local, options.on_trouble);
}

}  // namespace ps
