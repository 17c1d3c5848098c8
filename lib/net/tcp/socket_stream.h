// A connected socket, of TCP or local, as a stream.  Used by make_tcp_transport and its sources alone.
#ifndef PS_NET_TCP_SOCKET_STREAM_H_
#define PS_NET_TCP_SOCKET_STREAM_H_

#include <memory>
#include <string>

#include "net/tcp/asio.h"
#include "net/tcp/tcp_loop.h"
#include "net/transport.h"

namespace ps {

using ConnectedSocket = boost::asio::generic::stream_protocol::socket;

// Makes a stream of an open socket.  `peer` is its name in messages.
std::unique_ptr<Stream> make_socket_stream(TcpLoop& loop, ConnectedSocket socket, std::string peer);

}  // namespace ps

#endif  // PS_NET_TCP_SOCKET_STREAM_H_
