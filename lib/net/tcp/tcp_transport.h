// Connections as the system has them: TCP, and Unix sockets beside it, over a loop on epoll.  Used by
// make_network alone (net/network.h).
#ifndef PS_NET_TCP_TCP_TRANSPORT_H_
#define PS_NET_TCP_TCP_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "net/transport.h"

namespace ps {

using OnTrouble = std::function<void(const std::string&)>;

// With `local` a listener has a Unix socket beside its port, and who connects to an address of this machine
// tries that first (net/tcp/local_socket.h).  Both are for processes of one user; others than that and root are not let
// in there, and are counted.
//
// Sockets are non-blocking, with TCP_NODELAY, keep-alive (a peer that vanished is found after about 25 s even
// when nobody sends) and, for listeners, SO_REUSEADDR.  Names are resolved without blocking the loop; all
// addresses of a name are tried in turn.  Without descriptors, accepting pauses and goes on when there are
// some: `on_trouble`, unless it is null, is told the first time.  Throws kExhausted when there are none for
// the loop itself.
std::unique_ptr<Transport> make_tcp_transport(bool local, OnTrouble on_trouble = nullptr);

}  // namespace ps

#endif  // PS_NET_TCP_TCP_TRANSPORT_H_
