// The headers of Asio that are used here, compiled with the same settings everywhere.  Used by
// make_tcp_transport and its sources alone.
#ifndef PS_NET_TCP_ASIO_H_
#define PS_NET_TCP_ASIO_H_

// One thread runs a loop, and tasks that other threads post pass a mutex.  So Asio's fences around handlers are
// not needed; moreover the thread sanitizer of g++ does not understand them.
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
