// The network as it is: a loop over epoll, and TCP.  Used by programs; tests of everything above use the
// simulated one as well.
#ifndef PS_NET_TCP_TCP_NETWORK_H_
#define PS_NET_TCP_TCP_NETWORK_H_

#include <memory>

#include "net/loop.h"
#include "net/transport.h"

namespace ps {

struct TcpOptions {
  // If so, a listener has a Unix socket beside its port, and who connects to an address of this machine tries
  // that first (net/tcp/local_socket.h).
  bool local = false;
};

// A loop and the transport that runs on it.  Owned by one thread; construction and destruction may be on
// another, as long as nothing runs.  Must outlive all its listeners, streams, attempts and timers.
//
// Sockets are non-blocking, with TCP_NODELAY, keep-alive (a peer that vanished is found after about 25 s even
// when nobody sends) and, for listeners, SO_REUSEADDR.  Names are resolved without blocking the loop; all
// addresses of a name are tried in turn.  Without descriptors, accepting pauses and goes on when there are
// some.
class TcpNetwork {
 public:
  explicit TcpNetwork(const TcpOptions& options = {});
  ~TcpNetwork();

  Loop& loop();
  Transport& transport();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ps

#endif  // PS_NET_TCP_TCP_NETWORK_H_
