#include "net/tcp/tcp_transport.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/tcp/asio.h"
#include "net/tcp/local_socket.h"
#include "net/tcp/socket_stream.h"
#include "net/tcp/tcp_loop.h"

namespace ps {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using LocalProtocol = asio::local::stream_protocol;

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

// Registers a connected socket with the loop anew.  Connecting leaves it registered for writing too, and then
// every wait for reading would wake the loop once more at once.  An accepted socket has no such registration.
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

std::string peer_of(const tcp::socket& socket) {
  error_code unknown;
  const tcp::endpoint endpoint = socket.remote_endpoint(unknown);
  return unknown ? "a peer that has gone" : to_text(to_address(endpoint));
}

// Returns the addresses to listen on.  An empty host means all addresses, of both families if the system has
// both; localhost means the loopback addresses of both families, one of which may be missing.
std::vector<tcp::endpoint> listening_endpoints(asio::io_context& context, const Address& address) {
  if (address.host.empty()) {
    tcp::socket probe(context);
    error_code no_ipv6;
    probe.open(tcp::v6(), no_ipv6);
    return {{no_ipv6 ? tcp::v4() : tcp::v6(), address.port}};
  }
  if (address.host == "localhost") {
    return {{asio::ip::address_v4::loopback(), address.port},
            {asio::ip::address_v6::loopback(), address.port}};
  }
  error_code error;
  tcp::resolver resolver(context);
  auto results = resolver.resolve(address.host, std::to_string(address.port),
                                  tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error) throw make_error("cannot resolve", address, error);
  return {results.begin()->endpoint()};
}

// Returns true if the system has no address of this family.
bool is_missing(error_code error) {
  return error == asio::error::address_family_not_supported || error.value() == EADDRNOTAVAIL;
}

// Accepts connections from one acceptor, while the listener lives.  One owner thread, that of the loop, as for
// all classes of this file.
template <class Protocol>
class Accepting {
 public:
  using Acceptor = typename Protocol::acceptor;
  using Socket = typename Protocol::socket;
  using OnSocket = std::function<void(Socket)>;

  Accepting(TcpLoop& loop, const OnTrouble& on_trouble, OnSocket on_socket)
      : on_trouble_(on_trouble),
        acceptor_(std::make_shared<Acceptor>(loop.context())),
        on_socket_(std::move(on_socket)),
        retry_(loop, [this] { accept(); }) {}
  ~Accepting() {
    error_code ignored;
    acceptor_->close(ignored);
  }
  Accepting(const Accepting&) = delete;
  Accepting& operator=(const Accepting&) = delete;

  Acceptor& acceptor() { return *acceptor_; }

  // Accepts the next connection.  The handler holds the acceptor; if it is not open any more, the listener has
  // gone.
  void accept() {
    acceptor_->async_accept([this, acceptor = acceptor_](error_code error, Socket socket) {
      if (!acceptor->is_open()) return;
      if (!error) {
        // The next connection is asked for first, so that accepting goes on even if on_socket_ throws.
        troubled_ = false;
        accept();
        return on_socket_(std::move(socket));
      }
      // This peer has gone before it was accepted, which is no trouble of this process.
      if (error == asio::error::connection_aborted) return accept();
      if (on_trouble_ && !std::exchange(troubled_, true)) {
        on_trouble_(cat("no connection can be accepted: ", io_error_text(error.value())));
      }
      retry_.start_after(kRetry);
    });
  }

 private:
  // The time until another attempt after an error, as when the process has no descriptors left.
  static constexpr Duration kRetry = std::chrono::milliseconds(50);

  const OnTrouble on_trouble_;
  bool troubled_ = false;  // the last connection could not be accepted
  std::shared_ptr<Acceptor> acceptor_;
  OnSocket on_socket_;
  Timer retry_;
};

// One address at which a listener listens, and the Unix socket beside it.
class ListeningAddress {
 public:
  ListeningAddress(TcpLoop& loop, const OnTrouble& on_trouble, const Transport::OnAccept& on_accept,
                   uint64_t& num_refused)
      : ports_(loop, on_trouble,
               [&on_accept, &loop](tcp::socket socket) {
                 std::string peer = peer_of(socket);
                 on_accept(make_socket_stream(loop, std::move(socket), std::move(peer)));
               }),
        local_(loop, on_trouble, [&on_accept, &loop, &num_refused](LocalProtocol::socket socket) {
          if (!is_from_trusted_user(socket.native_handle())) return void(++num_refused);
          std::string peer = cat("process ", peer_process(socket.native_handle()), " of this machine");
          on_accept(make_socket_stream(loop, std::move(socket), std::move(peer)));
        }) {}

  // Returns the port that was chosen.
  uint16_t listen(const tcp::endpoint& endpoint, bool all, error_code& error) {
    // Each step runs only if the ones before it succeeded, and `error` is that of the first that did not.
    tcp::acceptor& acceptor = ports_.acceptor();
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && all && endpoint.protocol() == tcp::v6()) {
      acceptor.set_option(asio::ip::v6_only(false), error);
    }
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    if (error) return 0;
    ports_.accept();
    return acceptor.local_endpoint().port();
  }

  void listen_beside(const std::string& host, uint16_t port, error_code& error) {
    const int descriptor = listen_locally(local_name(host, port));
    if (descriptor < 0) return error.assign(errno, boost::system::system_category());
    local_.acceptor().assign(LocalProtocol(), descriptor, error);
    if (error) return void(close(descriptor));
    local_.accept();
  }

 private:
  Accepting<tcp> ports_;
  Accepting<LocalProtocol> local_;  // open only if local connections are wanted
};

// Listens at all addresses of a host.  One owner thread, that of the loop.
class TcpListener final : public Listener {
 public:
  TcpListener(TcpLoop& loop, const Address& address, bool local, const OnTrouble& on_trouble,
              Transport::OnAccept on_accept, uint64_t& num_refused)
      : loop_(loop), on_trouble_(on_trouble), on_accept_(std::move(on_accept)), num_refused_(num_refused) {
    const std::vector<tcp::endpoint> endpoints = listening_endpoints(loop.context(), address);
    int attempts = address.port == 0 ? kAttempts : 1;
    while (!listen_on(endpoints, address, local, /*may_fail=*/attempts > 1)) --attempts;
  }

  const Address& address() const override { return address_; }

 private:
  static constexpr int kAttempts = 100;  // attempts to find a port that is free at both addresses

  // Listens on all endpoints at the same port.  Returns false if the port is taken at one of them, and another
  // port may work.
  bool listen_on(std::span<const tcp::endpoint> endpoints, const Address& address, bool local,
                 bool may_fail) {
    addresses_.clear();
    address_ = address;
    error_code error;
    for (tcp::endpoint endpoint : endpoints) {
      endpoint.port(address_.port);
      auto listening = std::make_unique<ListeningAddress>(loop_, on_trouble_, on_accept_, num_refused_);
      const uint16_t port = listening->listen(endpoint, address.host.empty(), error);
      if (error && endpoints.size() > 1 && is_missing(error)) continue;
      if (error == asio::error::address_in_use && !addresses_.empty() && may_fail) return false;
      if (error)
        throw make_error("cannot listen on", endpoints.size() > 1 ? to_address(endpoint) : address, error);
      // The first address chooses a free port for 0, and the others have to take the same one.
      address_.port = port;
      if (local) listen_beside(*listening, address.host.empty() ? "" : endpoint.address().to_string());
      addresses_.push_back(std::move(listening));
    }
    if (addresses_.empty()) throw make_error("cannot listen on", address, error);
    return true;
  }

  void listen_beside(ListeningAddress& listening, const std::string& host) {
    error_code error;
    listening.listen_beside(host, address_.port, error);
    if (error) throw make_error("cannot listen on the Unix socket beside", address_, error);
  }

  TcpLoop& loop_;
  const OnTrouble on_trouble_;
  const Transport::OnAccept on_accept_;
  uint64_t& num_refused_;  // counter of the transport
  Address address_;
  std::vector<std::unique_ptr<ListeningAddress>> addresses_;
};

// An attempt to connect.  Resolving and connecting are steps of one state, which the handlers hold until they
// have run.  One owner thread, that of the loop.
class TcpAttempt final : public ConnectAttempt {
 public:
  TcpAttempt(TcpLoop& loop, Address address, bool local, Duration timeout, Transport::OnConnect on_connect)
      : state_(std::make_shared<State>(loop, std::move(address), local, std::move(on_connect))) {
    state_->limit.start_after(timeout);
    state_->resolve();
  }
  ~TcpAttempt() override { state_->end(); }

 private:
  struct State : std::enable_shared_from_this<State> {
    State(TcpLoop& own_loop, Address to, bool tries_local, Transport::OnConnect callback)
        : loop(own_loop),
          address(std::move(to)),
          local(tries_local),
          on_connect(std::move(callback)),
          resolver(loop.context()),
          socket(loop.context()),
          limit(loop, [this] {
            finish(nullptr, make_error("cannot connect to", address, asio::error::timed_out));
          }) {}

    // Resolves the host.  For the first name of a loop Asio starts a thread, which fails if the system has no
    // more threads.
    void resolve() {
      try {
        resolver.async_resolve(
            address.host, std::to_string(address.port), tcp::resolver::numeric_service,
            [self = shared_from_this()](error_code error, tcp::resolver::results_type found) {
              if (error) return self->finish(nullptr, make_error("cannot resolve", self->address, error));
              if (self->on_connect) self->connect(found);
            });
      } catch (const boost::system::system_error& error) {
        fail(Code::kExhausted, "cannot start a thread to resolve ", quote(address.host), ": ",
             error.code().message());
      }
    }

    void connect(const tcp::resolver::results_type& endpoints) {
      if (local && connect_to_neighbour(endpoints.begin()->endpoint())) return;
      asio::async_connect(
          socket, endpoints, [self = shared_from_this()](error_code error, const tcp::endpoint&) {
            if (error) return self->finish(nullptr, make_error("cannot connect to", self->address, error));
            tcp::socket connected = register_anew(std::move(self->socket));
            std::string peer = peer_of(connected);
            self->finish(make_socket_stream(self->loop, std::move(connected), std::move(peer)), std::nullopt);
          });
    }

    // Connects to the Unix socket beside the port, if the address is this machine's.  Returns false if no
    // process of this user listens there.
    bool connect_to_neighbour(const tcp::endpoint& endpoint) {
      if (!is_own_address(endpoint.data(), static_cast<unsigned>(endpoint.size()))) return false;
      // A server listens beside its own address, or beside all addresses under the name without a host.
      int descriptor = connect_locally(local_name(endpoint.address().to_string(), endpoint.port()));
      if (descriptor < 0) descriptor = connect_locally(local_name("", endpoint.port()));
      if (descriptor < 0) return false;
      LocalProtocol::socket connected(loop.context());
      error_code error;
      connected.assign(LocalProtocol(), descriptor, error);
      if (error) return close(descriptor), false;
      finish(make_socket_stream(loop, std::move(connected), to_text(to_address(endpoint))), std::nullopt);
      return true;
    }

    // The first of the handlers and the time limit to come here calls on_connect, and the others find it
    // null.  The state may be destroyed inside the callback, so this is the last thing that it does.
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
    const bool local;
    Transport::OnConnect on_connect;  // null: it was called, or the attempt was given up
    tcp::resolver resolver;
    tcp::socket socket;
    Timer limit;
  };

  std::shared_ptr<State> state_;
};

// The transport of TCP and of Unix sockets beside it.  One owner thread, that of the loop.
class TcpTransport final : public Transport {
 public:
  TcpTransport(bool local, OnTrouble on_trouble) : local_(local), on_trouble_(std::move(on_trouble)) {}

  Loop& loop() override { return loop_; }

  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return std::make_unique<TcpListener>(loop_, address, local_, on_trouble_, std::move(on_accept),
                                         num_refused_);
  }

  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override {
    return std::make_unique<TcpAttempt>(loop_, address, local_, timeout, std::move(on_connect));
  }

  uint64_t num_refused() const override { return num_refused_; }

 private:
  TcpLoop loop_;
  uint64_t num_refused_ = 0;  // connections of other users over Unix sockets
  const bool local_;
  const OnTrouble on_trouble_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(bool local, OnTrouble on_trouble) {
  try {
    return std::make_unique<TcpTransport>(local, std::move(on_trouble));
  } catch (const boost::system::system_error& error) {
    fail_errno(Code::kUnavailable, "cannot make", "an event loop", error.code().value());
  }
}

}  // namespace ps
