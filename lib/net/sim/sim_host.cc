#include "net/sim/sim_host.h"

#include <algorithm>
#include <utility>

#include "net/sim/sim_stream.h"

namespace ps {

class SimListener final : public Listener {
 public:
  SimListener(SimHost& host, const Address& address, Transport::OnAccept on_accept)
      : host_(host), address_(address), on_accept_(std::move(on_accept)) {
    if (!host_.listeners_.emplace(address.port, this).second) {
      fail(Code::kUnavailable, "cannot listen on ", quote(to_text(address)), ": address already in use");
    }
  }
  ~SimListener() override { host_.listeners_.erase(address_.port); }

  const Address& address() const override { return address_; }
  void accept(std::unique_ptr<Stream> stream) { on_accept_(std::move(stream)); }

 private:
  SimHost& host_;
  const Address address_;
  const Transport::OnAccept on_accept_;
};

// The connecting side of a connection that is being made.  The events on their way for it share it.
class SimAttempt {
 public:
  SimAttempt(SimHost& host, const Address& address, Duration timeout, Transport::OnConnect on_connect)
      : host_(host),
        on_connect_(std::move(on_connect)),
        address_(to_text(address)),
        limit_(host.loop(), [this] { fail("connection timed out"); }) {
    limit_.start_after(timeout);
  }

  SimHost& host() { return host_; }

  void fail(std::string_view reason) {
    std::string what = cat("cannot connect to ", quote(address_), ": ", reason);
    if (Transport::OnConnect callback = end()) callback(nullptr, Error(Code::kUnavailable, what));
  }

  void succeed(const std::shared_ptr<SimConnection>& connection) {
    auto stream = std::make_unique<SimStream>(connection, connection->near);
    if (Transport::OnConnect callback = end()) callback(std::move(stream), std::nullopt);
  }

  Transport::OnConnect end() {
    limit_.stop();
    return std::exchange(on_connect_, nullptr);
  }

 private:
  SimHost& host_;
  Transport::OnConnect on_connect_;
  const std::string address_;
  Timer limit_;
};

namespace {

class SimConnectAttempt final : public ConnectAttempt {
 public:
  explicit SimConnectAttempt(std::shared_ptr<SimAttempt> attempt) : attempt_(std::move(attempt)) {}
  ~SimConnectAttempt() override { attempt_->end(); }

 private:
  const std::shared_ptr<SimAttempt> attempt_;
};

}  // namespace

SimHost::SimHost(SimLinks& links, std::string name, FindHost find_host)
    : SimPlace(links, std::move(name)), find_host_(std::move(find_host)), loop_(*this) {}

SimHost::~SimHost() = default;

std::unique_ptr<Listener> SimHost::listen(const Address& address, OnAccept on_accept) {
  Address where{name(), address.port != 0 ? address.port : next_port_++};
  return std::make_unique<SimListener>(*this, where, std::move(on_accept));
}

std::unique_ptr<ConnectAttempt> SimHost::connect(const Address& address, Duration timeout,
                                                 OnConnect on_connect) {
  // The request travels as an empty message, so that a blocked route holds it and a host that has crashed
  // never answers.
  auto attempt = std::make_shared<SimAttempt>(*this, address, timeout, std::move(on_connect));
  if (SimHost* to = find_host_(address.host)) {
    links().carry(*this, *to, 0, Time(0), [to, attempt, port = address.port] { to->knock(attempt, port); });
  } else {
    loop_.post([attempt] { attempt->fail("host not found"); });
  }
  return std::make_unique<SimConnectAttempt>(std::move(attempt));
}

// Handles a request to connect to `port`.  The answer arrives before any bytes of the new stream.
void SimHost::knock(const std::shared_ptr<SimAttempt>& attempt, uint16_t port) {
  SimHost& from = attempt->host();
  auto listener = listeners_.find(port);
  if (listener == listeners_.end()) {
    links().carry(*this, from, 0, Time(0), [attempt] { attempt->fail("connection refused"); });
    return;
  }
  auto connection = std::make_shared<SimConnection>(from, *this);
  Time answered =
      links().carry(*this, from, 0, Time(0), [attempt, connection] { attempt->succeed(connection); });
  connection->far.open_after(answered);
  listener->second->accept(std::make_unique<SimStream>(connection, connection->far));
}

// The body does not begin inside this call but with the next event of the host, which wake_at makes.
void SimHost::spawn(std::function<void()> body) {
  processes_.push_back(std::make_unique<SimProcess>(*this, std::move(body)));
  wake_at(links().now());
}

// Wakes processes one by one, since a running process may start another one.
void SimHost::wake_processes() {
  for (size_t i = 0; i < processes_.size(); ++i) processes_[i]->wake();
}

// A process that waits suspends its fibre.  Any other caller drives the whole network meanwhile.
bool SimHost::HostLoop::run_until(const std::function<bool()>& done, Time deadline) {
  for (const auto& process : host_.processes_) {
    if (process->is_current()) return process->wait(done, deadline);
  }
  return host_.links().run_until(done, deadline);
}

// Events that came while the host stood still become events of the present, in their order.
void SimHost::resume() {
  paused_ = false;
  for (std::function<void()>& task : std::exchange(held_, {})) {
    links().schedule(links().now(), this, std::move(task));
  }
}

bool SimHost::kill() {
  bool any = false;
  for (const auto& process : processes_) any = any || !process->ended();
  processes_.clear();
  return any;
}

void SimHost::crash() {
  crashed_ = true;
  held_.clear();
}

// Sets the alarm again, since it may have been among the held events.
void SimHost::restart() {
  crashed_ = false;
  loop_.wake();
}

void SimHost::cut_from(SimHost& other) {
  const std::vector<SimSide*> before(sides().begin(), sides().end());
  for (SimSide* side : before) {
    if (&side->peer_place() == &other) side->cut();
  }
}

// The exception of a process is thrown as soon as anybody asks, while other processes still run.
bool SimHost::processes_ended() const {
  bool all = true;
  for (const auto& process : processes_) {
    if (process->ended() && process->error()) std::rethrow_exception(process->error());
    all = all && process->ended();
  }
  return all;
}

}  // namespace ps
