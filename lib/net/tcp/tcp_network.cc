#include "net/tcp/tcp_network.h"

// A loop is run by one thread, and what others post passes a mutex: Asio's fences around handlers order
// nothing, and the thread sanitizer of g++ does not know them.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <vector>

namespace ps {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class TcpLoop final : public Loop {
 public:
  asio::io_context& context() { return context_; }

  // Runs `task` before the loop waits: what a system call per wait costs is spent when nobody waits for it.
  void before_waiting(Task task) { before_waiting_.push_back(std::move(task)); }

  Time now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void post(Task task) override { asio::post(context_, std::move(task)); }

  bool run_until(const std::function<bool()>& done, Time deadline) override {
    if (deadline <= now()) return run_ready(done);
    bool late = false;
    Timer limit(*this, [&late] { late = true; });
    limit.start_at(deadline);
    while (!done()) {
      if (late) return false;
      prepare_to_wait();
      context_.run_one();
    }
    return true;
  }

 private:
  static constexpr int kMaxReady = 1000;  // events that poll handles when each brings forth another

  bool run_ready(const std::function<bool()>& done) {
    for (int i = 0; i < kMaxReady; ++i) {
      if (done()) return true;
      prepare_to_wait();
      if (context_.poll_one() == 0) return false;
    }
    return done();
  }

  void prepare_to_wait() {
    for (Task& task : before_waiting_) task();
    before_waiting_.clear();
  }

  // One that is earlier stays, and asks for this one when it comes.
  void set_alarm(Time time) override {
    if (time <= now()) return asio::post(context_, [this] { fire_timers(); });
    if (alarm_time_ <= time) return;
    alarm_time_ = time;
    alarm_.expires_at(std::chrono::steady_clock::time_point(time));
    alarm_.async_wait([this](error_code error) {
      if (error) return;
      alarm_time_ = kNever;
      fire_timers();
    });
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  asio::steady_timer alarm_{context_};
  Time alarm_time_ = kNever;          // of alarm_
  std::vector<Task> before_waiting_;  // none starts another
};

Error make_error(std::string_view what, const Address& address, error_code error) {
  if (error.category() != boost::system::system_category()) {
    return Error(Code::kUnavailable, cat(what, " ", quote(to_text(address)), ": ", error.message()));
  }
  try {
    fail_errno(error.value() == EADDRNOTAVAIL ? Code::kUsage : Code::kUnavailable, what, to_text(address),
               error.value());
  } catch (const Error& made) {
    return made;
  }
}

Address to_address(const tcp::endpoint& endpoint) {
  return {endpoint.address().to_string(), endpoint.port()};
}

// Options only help; a socket that refuses one works without.
void set_options(tcp::socket& socket) {
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

// Connecting leaves a socket registered for writing too, and then every wait for reading would wake the loop
// once more, at once: the same socket, registered like an accepted one.
tcp::socket register_anew(tcp::socket socket) {
  error_code error;
  tcp::endpoint local = socket.local_endpoint(error);
  if (error) return socket;
  tcp::socket anew(socket.get_executor());
  int descriptor = socket.release(error);
  if (error) return socket;
  anew.assign(local.protocol(), descriptor, error);
  if (error) close(descriptor);
  return anew;
}

// Reads and writes go straight to the system; Asio tells when they would not block.
class TcpStream final : public Stream {
 public:
  TcpStream(TcpLoop& loop, tcp::socket socket)
      : loop_(loop), state_(std::make_shared<State>(std::move(socket))) {
    set_options(state_->socket);
    error_code unknown;
    tcp::endpoint endpoint = state_->socket.remote_endpoint(unknown);
    peer_ = unknown ? "a peer that has gone" : to_text(to_address(endpoint));
  }

  ~TcpStream() override {
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
    if (std::exchange(state_->waits_readable, true)) return;
    loop_.before_waiting([state = state_] {
      if (!state->socket.is_open()) return;
      state->socket.async_wait(tcp::socket::wait_read, [state](error_code error) {
        state->waits_readable = false;
        if (state->events != nullptr && error != asio::error::operation_aborted) state->events->on_readable();
      });
    });
  }

  void wait_writable() override {
    if (std::exchange(state_->waits_writable, true)) return;
    state_->socket.async_wait(tcp::socket::wait_write, [state = state_](error_code error) {
      state->waits_writable = false;
      if (state->events != nullptr && error != asio::error::operation_aborted) state->events->on_writable();
    });
  }

  void shutdown_write() override {
    error_code ignored;
    state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void set_events(Events* events) override { state_->events = events; }
  const std::string& peer() const override { return peer_; }

 private:
  // Outlives the stream while the loop holds a handler.
  struct State {
    explicit State(tcp::socket open_socket) : socket(std::move(open_socket)) {}
    tcp::socket socket;
    Events* events = nullptr;
    bool waits_readable = false, waits_writable = false;
  };

  struct Vectors {
    static constexpr size_t kMax = 64;
    std::array<iovec, kMax> vectors;

    template <class Bytes>
    msghdr fill(std::span<const Bytes> spans) {
      msghdr message{};
      message.msg_iov = vectors.data();
      for (const Bytes& span : spans.first(std::min(spans.size(), kMax))) {
        vectors[message.msg_iovlen++] = {const_cast<char*>(span.data()), span.size()};
      }
      return message;
    }
  };

  static IoResult result(ssize_t moved) {
    if (moved >= 0) return {.bytes = static_cast<size_t>(moved)};
    return {.error = errno == EINTR ? EAGAIN : errno};
  }

  TcpLoop& loop_;
  std::shared_ptr<State> state_;
  std::string peer_;
};

// An empty host listens on all addresses, of both families where the system has both.
tcp::endpoint listening_endpoint(asio::io_context& context, const Address& address) {
  if (address.host.empty()) {
    tcp::socket probe(context);
    error_code no_ipv6;
    probe.open(tcp::v6(), no_ipv6);
    return {no_ipv6 ? tcp::v4() : tcp::v6(), address.port};
  }
  error_code error;
  tcp::resolver resolver(context);
  auto results = resolver.resolve(address.host, std::to_string(address.port),
                                  tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error) throw make_error("cannot resolve", address, error);
  return results.begin()->endpoint();
}

class TcpListener final : public Listener {
 public:
  TcpListener(TcpLoop& loop, const Address& address, Transport::OnAccept on_accept)
      : loop_(loop),
        acceptor_(std::make_shared<tcp::acceptor>(loop.context())),
        on_accept_(std::move(on_accept)),
        retry_(loop, [this] { accept(); }) {
    tcp::endpoint endpoint = listening_endpoint(loop.context(), address);
    try {
      acceptor_->open(endpoint.protocol());
      acceptor_->set_option(tcp::acceptor::reuse_address(true));
      if (address.host.empty() && endpoint.protocol() == tcp::v6()) {
        acceptor_->set_option(asio::ip::v6_only(false));
      }
      acceptor_->bind(endpoint);
      acceptor_->listen();
    } catch (const boost::system::system_error& error) {
      throw make_error("cannot listen on", address, error.code());
    }
    address_ = {address.host, acceptor_->local_endpoint().port()};
    accept();
  }

  ~TcpListener() override {
    error_code ignored;
    acceptor_->close(ignored);
  }

  const Address& address() const override { return address_; }

 private:
  static constexpr Duration kRetry =
      std::chrono::milliseconds(50);  // when the process has no descriptors left

  // The handler holds the acceptor: one that is not open any more tells that the listener has gone.
  void accept() {
    acceptor_->async_accept([this, acceptor = acceptor_](error_code error, tcp::socket socket) {
      if (!acceptor->is_open()) return;
      if (!error) {
        accept();
        return on_accept_(std::make_unique<TcpStream>(loop_, std::move(socket)));
      }
      if (error == asio::error::connection_aborted) return accept();
      retry_.start_after(kRetry);
    });
  }

  TcpLoop& loop_;
  std::shared_ptr<tcp::acceptor> acceptor_;
  Transport::OnAccept on_accept_;
  Timer retry_;
  Address address_;
};

// Resolving and connecting are steps of one state, which the handlers hold until they have run.
class TcpAttempt final : public ConnectAttempt {
 public:
  TcpAttempt(TcpLoop& loop, Address address, Duration timeout, Transport::OnConnect on_connect)
      : state_(std::make_shared<State>(loop, std::move(address), std::move(on_connect))) {
    state_->limit.start_after(timeout);
    state_->resolve();
  }
  ~TcpAttempt() override { state_->end(); }

 private:
  struct State : std::enable_shared_from_this<State> {
    State(TcpLoop& own_loop, Address to, Transport::OnConnect callback)
        : loop(own_loop),
          address(std::move(to)),
          on_connect(std::move(callback)),
          resolver(loop.context()),
          socket(loop.context()),
          limit(loop, [this] {
            finish(nullptr, make_error("cannot connect to", address, asio::error::timed_out));
          }) {}

    void resolve() {
      resolver.async_resolve(
          address.host, std::to_string(address.port), tcp::resolver::numeric_service,
          [self = shared_from_this()](error_code error, tcp::resolver::results_type found) {
            if (error) return self->finish(nullptr, make_error("cannot resolve", self->address, error));
            if (self->on_connect) self->connect(found);
          });
    }

    void connect(const tcp::resolver::results_type& endpoints) {
      asio::async_connect(
          socket, endpoints, [self = shared_from_this()](error_code error, const tcp::endpoint&) {
            if (error) return self->finish(nullptr, make_error("cannot connect to", self->address, error));
            self->finish(std::make_unique<TcpStream>(self->loop, register_anew(std::move(self->socket))),
                         std::nullopt);
          });
    }

    void finish(std::unique_ptr<Stream> stream, std::optional<Error> error) {
      if (!on_connect) return;
      Transport::OnConnect callback = end();
      callback(std::move(stream), std::move(error));
    }

    Transport::OnConnect end() {
      limit.stop();
      resolver.cancel();
      error_code ignored;
      socket.close(ignored);
      return std::exchange(on_connect, nullptr);
    }

    TcpLoop& loop;
    const Address address;
    Transport::OnConnect on_connect;  // null: has been called, or given up
    tcp::resolver resolver;
    tcp::socket socket;
    Timer limit;
  };

  std::shared_ptr<State> state_;
};

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(TcpLoop& loop) : loop_(loop) {}

  Loop& loop() override { return loop_; }

  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return std::make_unique<TcpListener>(loop_, address, std::move(on_accept));
  }

  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override {
    return std::make_unique<TcpAttempt>(loop_, address, timeout, std::move(on_connect));
  }

 private:
  TcpLoop& loop_;
};

}  // namespace

struct TcpNetwork::State {
  TcpLoop loop;
  TcpTransport transport{loop};
};

TcpNetwork::TcpNetwork() : state_(std::make_unique<State>()) {}
TcpNetwork::~TcpNetwork() = default;

Loop& TcpNetwork::loop() {
  return state_->loop;
}

Transport& TcpNetwork::transport() {
  return state_->transport;
}

}  // namespace ps
