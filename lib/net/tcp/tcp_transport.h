// Real connections of the system: TCP, and Unix sockets beside it, over a loop on epoll.  Used by make_network
// alone (net/network.h).
#ifndef PS_NET_TCP_TCP_TRANSPORT_H_
#define PS_NET_TCP_TCP_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "net/transport.h"

namespace ps {

using OnTrouble = std::function<void(const std::string&)>;

// Makes a transport.  With `local`, a listener has a Unix socket beside its port, and a process that connects
// to an address of this machine tries that socket first (net/tcp/local_socket.h).  Both processes must belong
// to the same user; connections of users other than that and root are refused there, and counted.
//
// Sockets are non-blocking, with TCP_NODELAY, keep-alive (a vanished peer is found after about 25 s even if
// neither side sends) and, for listeners, SO_REUSEADDR. Names are resolved without blocking the loop; all
// addresses of a name are tried in turn.  Without free descriptors, accepting pauses until there are some;
// `on_trouble`, unless it is null, is called the first time.  Throws kExhausted if there are no descriptors for
// the loop itself.
std::unique_ptr<Transport> make_tcp_transport(bool local, OnTrouble on_trouble = nullptr);

}  // namespace ps

#endif  // PS_NET_TCP_TCP_TRANSPORT_H_
