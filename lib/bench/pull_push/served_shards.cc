#include "bench/pull_push/served_shards.h"

#include <pthread.h>
#include <time.h>

#include <future>
#include <thread>

#include "base/memory.h"
#include "net/sim/proxy.h"

namespace ps {

// The link to a shard: a proxy on a thread of its own, which forwards bytes in both directions.
// ServedShards' owner thread makes and destroys it.
class ServedShards::Link {
 public:
  Link(const LinkShape& shape, const Address& target)
      : shaped_(*network_, shape), proxy_(shaped_, {"127.0.0.1", 0}, target) {
    thread_ = std::thread([this] { network_->loop().run(); });
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  ~Link() {
    network_->loop().stop();
    thread_.join();
  }

  const Address& address() const { return proxy_.address(); }

 private:
  const std::unique_ptr<Transport> network_ = make_network();
  ShapedTransport shaped_;
  Proxy proxy_;
  std::thread thread_;
};

// One shard and its thread.  ServedShards' owner thread makes and destroys it.
class ServedShards::Shard {
 public:
  Shard(const ServedJob& job, const ShardLimits& limits, const LinkShape& link, bool local,
        const TlsContexts& tls)
      : network_(make_network({.local = local})),
        transport_(*network_, tls),
        server_(transport_, {"127.0.0.1", 0}, job, limits) {
    if (link.bytes_per_second > 0) link_ = std::make_unique<Link>(link, server_.address());
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  ~Shard() {
    network_->loop().stop();
    thread_.join();
  }

  const Address& address() const { return link_ ? link_->address() : server_.address(); }

  void start(const ServerPorts& ports) {
    server_.set_ports(ports);
    thread_ = std::thread([this] { network_->loop().run(); });
  }

  // Returns the time of the shard's thread alone, by that thread's own clock, whoever asks.
  double cpu_seconds() {
    clockid_t clock;
    timespec time{};
    pthread_getcpuclockid(thread_.native_handle(), &clock);
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  // The loop owns the counters, so the loop's thread reads them; this waits until it has.
  uint64_t wire_bytes() {
    std::promise<uint64_t> bytes;
    network_->loop().post([&] {
      const NetCounters& counters = server_.net_counters();
      bytes.set_value(counters.bytes_received + counters.bytes_sent);
    });
    return bytes.get_future().get();
  }

 private:
  const std::unique_ptr<Transport> network_;
  TlsTransport transport_;
  ShardServer server_;
  std::thread thread_;
  std::unique_ptr<Link> link_;  // null: trainers connect to the shard itself
};

// All shards listen before any begins to serve, since each must be able to tell a trainer the ports of all.
ServedShards::ServedShards(const ServedJob& job, int ports, const LinkShape& link, bool local,
                           const TlsContexts& tls)
    : job_(job) {
  ServerPorts all;
  all.dense = all.sparse = ports;
  const ShardLimits limits = share_memory(available_memory_bytes(), ports);
  for (int i = 0; i < ports; ++i) {
    shards_.push_back(std::make_unique<Shard>(job, limits, link, local, tls));
    all.ports.push_back(shards_.back()->address().port);
  }
  for (auto& shard : shards_) shard->start(all);
}

ServedShards::~ServedShards() = default;

RemoteOptions ServedShards::remote_options(const DataSchema& schema) const {
  RemoteOptions options;
  options.servers = {shards_[0]->address()};
  options.cpu = job_.optimizers.cpu;
  options.hello.job = job_.fingerprint;
  options.hello.schema = to_json(schema);
  return options;
}

double ServedShards::cpu_seconds() const {
  double seconds = 0;
  for (const auto& shard : shards_) seconds += shard->cpu_seconds();
  return seconds;
}

uint64_t ServedShards::wire_bytes() const {
  uint64_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->wire_bytes();
  return bytes;
}

}  // namespace ps
