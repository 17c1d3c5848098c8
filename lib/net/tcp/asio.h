// The headers of Asio that are used here, built in one way.  Used by make_tcp_transport and its sources alone.
#ifndef PS_NET_TCP_ASIO_H_
#define PS_NET_TCP_ASIO_H_

// A loop is run by one thread, and what others post passes a mutex: Asio's fences around handlers order
// nothing, and the thread sanitizer of g++ does not know them.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#endif  // PS_NET_TCP_ASIO_H_
