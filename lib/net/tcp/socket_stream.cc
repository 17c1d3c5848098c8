#include "net/tcp/socket_stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ps {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Sets options that only improve the connection; a socket that refuses one works without it.
void set_options(ConnectedSocket& socket) {
  using KeepIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using KeepInterval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using KeepCount = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(tcp::socket::keep_alive(true), ignored);
  socket.set_option(KeepIdle(10), ignored);
  socket.set_option(KeepInterval(5), ignored);
  socket.set_option(KeepCount(3), ignored);
}

// Reads and writes are system calls; Asio tells when they would not block.  One owner thread, that of the loop.
class SocketStream final : public Stream {
 public:
  SocketStream(TcpLoop& loop, ConnectedSocket socket, std::string peer)
      : loop_(loop), state_(std::make_shared<State>(std::move(socket))), peer_(std::move(peer)) {
    set_options(state_->socket);
  }

  ~SocketStream() override {
    state_->events = nullptr;
    error_code ignored;
    state_->socket.close(ignored);
  }

  IoResult read(std::span<const MutableBytes> into) override {
    Vectors vectors;
    msghdr message = vectors.fill(into);
    return result(recvmsg(state_->socket.native_handle(), &message, 0));
  }

  IoResult write(std::span<const ConstBytes> from) override {
    Vectors vectors;
    msghdr message = vectors.fill(from);
    return result(sendmsg(state_->socket.native_handle(), &message, MSG_NOSIGNAL));
  }

  void wait_readable() override {
    // The loop registers the wait when it next looks for events, and not at all if it returns before that
    // or if the socket has been closed.
    if (std::exchange(state_->waits_readable, true)) return;
    loop_.before_waiting([state = state_] {
      if (!state->socket.is_open()) return;
      state->socket.async_wait(ConnectedSocket::wait_read, [state](error_code error) {
        state->waits_readable = false;
        if (state->events != nullptr && error != asio::error::operation_aborted) state->events->on_readable();
      });
    });
  }

  void wait_writable() override {
    if (std::exchange(state_->waits_writable, true)) return;
    state_->socket.async_wait(ConnectedSocket::wait_write, [state = state_](error_code error) {
      state->waits_writable = false;
      if (state->events != nullptr && error != asio::error::operation_aborted) state->events->on_writable();
    });
  }

  uint64_t undelivered_bytes() const override {
    int bytes = 0;
    const bool known = ioctl(state_->socket.native_handle(), SIOCOUTQ, &bytes) == 0 && bytes > 0;
    return known ? static_cast<uint64_t>(bytes) : 0;
  }

  void shutdown_write() override {
    error_code ignored;
    state_->socket.shutdown(ConnectedSocket::shutdown_send, ignored);
  }

  void set_events(Events* events) override { state_->events = events; }
  const std::string& peer() const override { return peer_; }

 private:
  // The state that handlers use; it outlives the stream while the loop holds a handler.
  struct State {
    explicit State(ConnectedSocket open_socket) : socket(std::move(open_socket)) {}
    ConnectedSocket socket;
    Events* events = nullptr;
    bool waits_readable = false, waits_writable = false;
  };

  struct Vectors {
    std::array<iovec, kMaxSpans> vectors;

    template <class Bytes>
    msghdr fill(std::span<const Bytes> spans) {
      msghdr message{};
      message.msg_iov = vectors.data();
      for (const Bytes& span : spans.first(std::min(spans.size(), kMaxSpans))) {
        vectors[message.msg_iovlen++] = {const_cast<char*>(span.data()), span.size()};
      }
      return message;
    }
  };

  static IoResult result(ssize_t moved) {
    if (moved >= 0) return {.bytes = static_cast<size_t>(moved)};
    // A call that a signal interrupted is tried again like one that would block.
    return {.error = errno == EINTR ? EAGAIN : errno};
  }

  TcpLoop& loop_;
  std::shared_ptr<State> state_;
  std::string peer_;
};

}  // namespace

std::unique_ptr<Stream> make_socket_stream(TcpLoop& loop, ConnectedSocket socket, std::string peer) {
  return std::make_unique<SocketStream>(loop, std::move(socket), std::move(peer));
}

}  // namespace ps
