// Times TCP between two threads of this process, over the loopback device.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

#include "base/error.h"
#include "bench/limits/suite.h"
#include "bench/pages.h"

namespace ps {

namespace {

// The seconds that one call may take: a machine that is stuck ends with an error.
constexpr int kDeadlineSeconds = 30;

// A socket of TCP.  One owner thread.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) fail_errno(Code::kUnavailable, "no socket on", "the loopback device", errno);
    timeval deadline{kDeadlineSeconds, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline);
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }

  void send_all(const char* bytes, size_t size) const {
    while (size > 0) {
      ssize_t sent = send(descriptor_, bytes, size, MSG_NOSIGNAL);
      if (sent < 0) fail_errno(Code::kUnavailable, "cannot send on", "the loopback device", errno);
      bytes += sent, size -= static_cast<size_t>(sent);
    }
  }

  void receive_all(char* bytes, size_t size) const {
    while (size > 0) {
      ssize_t got = recv(descriptor_, bytes, size, 0);
      if (got < 0) fail_errno(Code::kUnavailable, "cannot receive on", "the loopback device", errno);
      if (got == 0) fail(Code::kUnavailable, "the connection on the loopback device ended");
      bytes += got, size -= static_cast<size_t>(got);
    }
  }

 private:
  const int descriptor_;
};

// The two ends of a connection.  One thread may use each end.
class Connection {
 public:
  Connection() : Connection(Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) {}

  const Socket& near() const { return *near_; }
  const Socket& far() const { return *far_; }

 private:
  explicit Connection(const Socket& listener) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // any port that is free
    sockaddr* where = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    near_ = std::make_unique<Socket>(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bool connected = bind(listener.descriptor(), where, size) == 0 && listen(listener.descriptor(), 1) == 0 &&
                     getsockname(listener.descriptor(), where, &size) == 0 &&
                     connect(near_->descriptor(), where, size) == 0;
    if (!connected) fail_errno(Code::kUnavailable, "cannot connect over", "the loopback device", errno);
    far_ = std::make_unique<Socket>(accept(listener.descriptor(), nullptr, nullptr));
  }

  std::unique_ptr<Socket> near_, far_;
};

// Runs `other` on a thread of its own while `own` runs here, and throws again what either has thrown.
template <class Own, class Other>
void run_both(Own&& own, Other&& other) {
  std::exception_ptr own_error, other_error;
  auto guarded = [](auto& body, std::exception_ptr& error) {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  };
  std::thread thread([&] { guarded(other, other_error); });
  guarded(own, own_error);
  thread.join();
  if (own_error) std::rethrow_exception(own_error);
  if (other_error) std::rethrow_exception(other_error);
}

// Sends a stream in one direction, in pieces that stay in the cache.  The pieces, 256 KiB, are sent again
// and again, so that memory is no limit; only the last one that arrives is compared.  Both ends have a
// thread, as a trainer and a server have.  One owner thread.
class Rate final : public Workload {
 public:
  explicit Rate(const BenchSettings& settings)
      : bytes_(scaled_power(settings.scale, uint64_t{1} << 30, kPieceBytes)), piece_(kPieceBytes, '\0') {
    for (size_t i = 0; i < piece_.size(); ++i) piece_[i] = static_cast<char>(i * 7);
  }

  void prepare() override { received_.assign(kPieceBytes, '\0'); }

  void run() override {
    run_both(
        [&] {
          for (uint64_t sent = 0; sent < bytes_; sent += kPieceBytes) {
            connection_.near().send_all(piece_.data(), kPieceBytes);
          }
        },
        [&] {
          for (uint64_t got = 0; got < bytes_; got += kPieceBytes) {
            connection_.far().receive_all(received_.data(), kPieceBytes);
          }
        });
  }

  void check() override {
    if (received_ != piece_) fail(Code::kInternal, "other bytes arrived than were sent");
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_)}; }

 private:
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 18;

  const uint64_t bytes_;
  std::string piece_, received_;
  const Connection connection_;
};

// Sends a small message there and back, one at a time.  The far end adds 1 to the first word, so that each
// answer shows that it was read and written there.  One owner thread.
class RoundTrip final : public Workload {
 public:
  explicit RoundTrip(const BenchSettings& settings) : trips_(scaled_power(settings.scale, 1 << 15, 64)) {}

  void run() override {
    good_ = 0;
    run_both(
        [&] {
          for (uint64_t i = 0; i < trips_; ++i) {
            uint64_t message[kWords] = {i};
            connection_.near().send_all(reinterpret_cast<char*>(message), sizeof message);
            connection_.near().receive_all(reinterpret_cast<char*>(message), sizeof message);
            good_ += message[0] == i + 1;
          }
        },
        [&] {
          for (uint64_t i = 0; i < trips_; ++i) {
            uint64_t message[kWords];
            connection_.far().receive_all(reinterpret_cast<char*>(message), sizeof message);
            ++message[0];
            connection_.far().send_all(reinterpret_cast<char*>(message), sizeof message);
          }
        });
  }

  void check() override { expect_equal("answers that fit", good_, trips_); }

  Work work() const override {
    double trips = static_cast<double>(trips_);
    return {.bytes = trips * 2 * kWords * sizeof(uint64_t), .items = trips};
  }

 private:
  static constexpr size_t kWords = 8;

  const uint64_t trips_;
  uint64_t good_ = 0;
  const Connection connection_;
};

}  // namespace

// The loopback device moves bytes by copies alone, so these are limits of the system's network code, and of
// no cable.
std::vector<Benchmark> network_benchmarks() {
  return {{.name = "limits/tcp/rate",
           .help = "a stream over the loopback device",
           .unit = "B",
           .make = [](const BenchSettings& settings) { return std::make_unique<Rate>(settings); }},
          {.name = "limits/tcp/round-trip",
           .help = "64 B there and back over the loopback device",
           .unit = "trips",
           .make = [](const BenchSettings& settings) { return std::make_unique<RoundTrip>(settings); }}};
}

}  // namespace ps
