#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "bench/link/rank_links.h"
#include "bench/process/child.h"

namespace ps {

namespace {

// Runs `body` on a thread of its own, since a thread that has entered a namespace stays there.
void on_own_thread(const std::function<void()>& body) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

// A network namespace without a name.  It exists as long as this object has it open, or a thread or a device
// is in it.
class NetNamespace {
 public:
  NetNamespace() {
    on_own_thread([this] {
      if (unshare(CLONE_NEWNET) != 0)
        fail(Code::kUnavailable, "no network namespace can be made: ", error_text(errno));
      file_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
      if (file_ < 0) fail(Code::kUnavailable, "cannot open a network namespace: ", error_text(errno));
    });
  }
  ~NetNamespace() { close(file_); }
  NetNamespace(const NetNamespace&) = delete;
  NetNamespace& operator=(const NetNamespace&) = delete;

  // Moves the calling thread into the namespace; children that it starts are in it too.
  void enter() const {
    if (setns(file_, CLONE_NEWNET) != 0)
      fail(Code::kUnavailable, "cannot enter a network namespace: ", error_text(errno));
  }

  // Returns a path for ip(8), which exists while this process has the namespace open.
  std::string path() const { return cat("/proc/", getpid(), "/fd/", file_); }

 private:
  static std::string error_text(int error) { return io_error_text(error); }

  int file_ = -1;
};

// Runs a command such as "ip link set br0 up" in the namespace of the calling thread.
void configure(const std::string& errors, const std::string& line) {
  Command command{.words = {}, .errors = errors};
  for (std::string_view word : split(line, ' ')) command.words.emplace_back(word);
  try {
    run_child(command);
  } catch (const Error& error) {
    fail(Code::kUnavailable, "no link between network namespaces can be made: ", quote(line), ": ",
         error.message());
  }
}

// Returns the command that limits the rate of a device.  The token bucket holds at least the bytes of 2 ms,
// since timers of the kernel wake it no more often under load, and at least a segment of 64 KiB, which the
// kernel would otherwise divide.
std::string token_bucket(const std::string& device, double bits_per_second) {
  constexpr double kBurstSeconds = 0.002, kLeastBurst = 128 << 10, kMostBurst = 64 << 20;
  constexpr double kLeastQueue = 4 << 20;
  const double burst = std::clamp(bits_per_second / 8 * kBurstSeconds, kLeastBurst, kMostBurst);
  return cat("tc qdisc add dev ", device, " root tbf rate ", std::llround(bits_per_second), "bit burst ",
             std::llround(burst), " limit ", std::llround(std::max(kLeastQueue, 2 * burst)));
}

// Links of network namespaces.  Constant after construction; any thread may use it.
class NamespaceLinks final : public RankLinks {
 public:
  NamespaceLinks(int ranks, double bits_per_second) : ranks_(static_cast<size_t>(ranks)) {
    PS_CHECK(ranks >= 2 && ranks <= kMostLinkedRanks);
    expect_program("ip", "Debian's iproute2");
    expect_program("tc", "Debian's iproute2");
    const TemporaryFolder folder(default_temporary_parent());
    const std::string errors = folder.path("errors");
    on_own_thread([&] { make_switch(errors, bits_per_second); });
    for (int rank = 0; rank < ranks; ++rank) on_own_thread([&] { make_end(errors, rank, bits_per_second); });
  }

  std::string name() const override { return "namespaces"; }
  std::string description() const override { return "network namespaces, veth and tc tbf, TCP cubic"; }
  void enter(int rank) const override { ranks_[static_cast<size_t>(rank)].enter(); }
  std::string host(int rank) const override { return cat("10.77.0.", rank + 1); }
  LinkShape shape() const override { return {}; }

 private:
  // Makes the bridge in its namespace, and for each rank a pair of devices: portN stays on the bridge, and
  // eth0 is moved into the rank's namespace.  The bucket on portN limits what the rank receives, and that
  // on eth0 what it sends.
  void make_switch(const std::string& errors, double bits_per_second) {
    switch_.enter();
    configure(errors, "ip link add br0 type bridge");
    configure(errors, "ip link set br0 up");
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::string port = cat("port", rank);
      configure(errors, cat("ip link add ", port, " type veth peer name eth0 netns ", ranks_[rank].path()));
      configure(errors, cat("ip link set ", port, " master br0 up"));
      configure(errors, token_bucket(port, bits_per_second));
    }
  }

  // The route says the congestion control, since a namespace takes that of the machine: links should be the same on all
  // machines, and cubic is Linux's default.
  void make_end(const std::string& errors, int rank, double bits_per_second) {
    enter(rank);
    configure(errors, "ip link set lo up");
    configure(errors, cat("ip address add ", host(rank), "/24 dev eth0"));
    configure(errors, "ip link set eth0 up");
    configure(errors,
              cat("ip route replace 10.77.0.0/24 dev eth0 scope link src ", host(rank), " congctl cubic"));
    configure(errors, token_bucket("eth0", bits_per_second));
  }

  NetNamespace switch_;
  std::vector<NetNamespace> ranks_;
};

}  // namespace

std::unique_ptr<RankLinks> make_namespace_links(int ranks, double bits_per_second) {
  return std::make_unique<NamespaceLinks>(ranks, bits_per_second);
}

}  // namespace ps
