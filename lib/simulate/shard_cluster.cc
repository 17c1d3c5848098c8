#include "simulate/shard_cluster.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "data/batch.h"

namespace ps {

ShardCluster::ShardCluster(const SyntheticJob& job, const ShardClusterSize& size, uint64_t seed)
    : job_(job), network_(seed) {
  served_.fingerprint = {{"optimizer", job.optimizer}};
  served_.parameters = [parameters = job.parameters()](const DataSchema&) { return parameters; };
  served_.optimizers = job.plan();
  served_.consistency = job.consistency;
  served_.push_codec = job.types.push_codec;
  served_.request_timeout = job.request_timeout;
  served_.trainer_loss = job.on_loss;
  for (int s = 0; s < size.servers; ++s) add_server(cat("server", s), size);
}

ShardCluster::~ShardCluster() {
  proxies_.clear();
  shards_.clear();
}

void ShardCluster::add_host(SimHost& host) {
  if (std::ranges::find(hosts_, &host) == hosts_.end()) hosts_.push_back(&host);
}

void ShardCluster::add_server(const std::string& name, const ShardClusterSize& size) {
  SimHost& host = network_.host(name);
  add_host(host);
  ServerPorts description;
  description.dense = size.ports;
  description.sparse = size.sparse_ports > 0 ? size.sparse_ports : size.ports;
  const size_t first = shards_.size();
  for (int i = 0; i < size.ports + size.sparse_ports; ++i) {
    shards_.push_back(std::make_unique<ShardServer>(host, Address{name, 0}, served_, size.limits));
    description.ports.push_back(shards_.back()->address().port);
  }
  // Each shard tells trainers the ports of its whole server, which are known only after all of them have
  // been opened.
  for (size_t i = first; i < shards_.size(); ++i) shards_[i]->set_ports(description);
  servers_.push_back(shards_[first]->address());
}

RemoteOptions ShardCluster::options(int rank) {
  RemoteOptions options;
  options.servers = servers_;
  options.request_timeout = job_.request_timeout;
  options.on_waiting = [this](const std::string& text) { on_waiting(text); };
  options.hello.rank = rank;
  options.hello.trainers = job_.trainers();
  options.hello.max_trainers = job_.ranks();
  options.hello.generation = ++num_processes_;
  options.hello.job = {{"optimizer", job_.optimizer}};
  options.hello.schema = to_json(DataSchema());
  options.sparse_here = job_.device.has_value();
  return options;
}

void ShardCluster::put_proxies(const Proxy::Script& script) {
  for (const auto& shard : shards_) {
    const Address& target = shard->address();
    const std::string name = "proxy of " + target.host;
    SimHost& host = network_.host(name);
    proxies_.push_back(std::make_unique<Proxy>(host, Address{name, target.port}, target, script));
    add_host(host);
  }
  // Servers tell trainers numbers of ports and no hosts, so that trainers also reach the other ports
  // through proxies.
  for (Address& server : servers_) server.host = "proxy of " + server.host;
}

uint64_t ShardCluster::num_proxy_faults() const {
  uint64_t sum = 0;
  for (const auto& proxy : proxies_) sum += proxy->num_faults();
  return sum;
}

void ShardCluster::spawn(const RemoteOptions& options, std::function<void(RemoteStore&)> body) {
  SimHost& host = network_.host(cat("trainer", options.hello.rank));
  add_host(host);
  host.spawn([this, &host, options = options, body = std::move(body)]() mutable {
    // A trainer that learns, before it takes part in a run, that a server has moved or that the run is over
    // greets the servers again as a new process.
    for (;; options.hello.generation = ++num_processes_) {
      try {
        RemoteStore store(host, options, job_.consistency, job_.parameters(), job_.types);
        return body(store);
      } catch (const ServersMoved&) {
        continue;
      }
    }
  });
}

void ShardCluster::run() {
  const auto ended = [this] { return num_pending_ == 0 && network_.processes_ended(); };
  if (network_.run_until(ended, network_.now() + std::chrono::hours(1))) return;
  fail(Code::kInternal, "simulated trainers do not end within an hour of their time");
}

std::vector<float> ShardCluster::train() {
  for (int rank = 0; rank < job_.trainers(); ++rank) start_trainer(rank);
  run();
  return weights_;
}

void ShardCluster::start_trainer(int rank) {
  spawn(rank, [this, rank](RemoteStore& remote) {
    with_store(remote, job_, [&](ParameterStore& store) {
      run_trainer(store, remote.group(), remote.run(), job_, rank);
      if (remote.group().leader() == rank) weights_ = all_weights(store, job_.parameters());
      ended_.insert(rank);
      remote.run().end_run();
    });
  });
}

bool ShardCluster::restart_trainer(int rank, Duration later, bool power_fails) {
  SimHost& host = network_.host(cat("trainer", rank));
  if (ended_.contains(rank)) return false;
  // A host without power sends nothing more, so it crashes before kill() unwinds the process and closes its
  // connections.
  if (power_fails) host.crash();
  if (!host.kill()) return false;
  network_.at(network_.now() + later, [this, &host, rank] {
    host.restart();
    start_trainer(rank);
  });
  ++num_pending_;
  // This event comes after the one that starts the trainer, so that run() does not see a moment without
  // processes.
  network_.at(network_.now() + later, [this] { --num_pending_; });
  return true;
}

}  // namespace ps
