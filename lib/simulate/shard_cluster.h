// ShardCluster: the servers and trainers of a SyntheticJob, whole, on a simulated network.  It runs the classes
// that ps-serve and ps-train run over TCP: ShardServer and RemoteStore.  Used by tests, and by benchmarks that
// ask how long a cluster takes for its steps.
#ifndef PS_SIMULATE_SHARD_CLUSTER_H_
#define PS_SIMULATE_SHARD_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/sim/proxy.h"
#include "net/sim/sim_network.h"
#include "ps/client/remote_store.h"
#include "ps/server/shard_server.h"
#include "simulate/synthetic_job.h"

namespace ps {

struct ShardClusterSize {
  int servers = 1;       // each on a host of its own
  int ports = 1;         // of each server; they serve dense parameters, and sparse ones if sparse_ports is 0
  int sparse_ports = 0;  // further ports of each server, which serve sparse parameters alone
  ShardLimits limits = {};
};

// One owner thread, which drives the network; trainers are processes of it.
class ShardCluster {
 public:
  ShardCluster(const SyntheticJob& job, const ShardClusterSize& size, uint64_t seed = 1);
  ~ShardCluster();
  ShardCluster(const ShardCluster&) = delete;
  ShardCluster& operator=(const ShardCluster&) = delete;

  // Called by trainers with the reason for which they wait.
  std::function<void(const std::string&)> on_waiting = [](const std::string&) {};

  SimNetwork& network() { return network_; }
  std::vector<SimHost*> hosts() { return hosts_; }
  std::vector<std::unique_ptr<ShardServer>>& shards() { return shards_; }
  ServedJob& served() { return served_; }

  // Returns the options for a new process of trainer `rank`.
  RemoteOptions options(int rank);

  // Puts a proxy in front of every port, on a host of its own, at the same port.  To be called before
  // trainers are started.
  void put_proxies(const Proxy::Script& script);
  uint64_t num_proxy_faults() const;

  // Starts a process on the trainer's host that runs `body` with a store.
  void spawn(int rank, std::function<void(RemoteStore&)> body) { spawn(options(rank), std::move(body)); }
  void spawn(const RemoteOptions& options, std::function<void(RemoteStore&)> body);

  // Runs until all spawned processes have ended.  Throws what a process threw, and kInternal after an hour.
  void run();

  // Runs the whole job.  Returns its weights, which the trainer that speaks for all reads.
  std::vector<float> train();

  // Starts a process that acts as trainer `rank` to the end of the job.
  void start_trainer(int rank);

  // Kills the process of trainer `rank`, or cuts the power of its host, and starts it again after `later`.
  // Returns false if it has ended already.
  bool restart_trainer(int rank, Duration later, bool power_fails = false);

  // From now on run() does not wait for trainers that have not been started again.
  void forget_trainers_to_come() { num_pending_ = 0; }

  const std::vector<float>& weights() const { return weights_; }

 private:
  void add_server(const std::string& name, const ShardClusterSize& size);
  void add_host(SimHost& host);

  const SyntheticJob job_;
  ServedJob served_;
  SimNetwork network_;
  std::vector<SimHost*> hosts_;  // hosts of servers, proxies and trainers
  std::vector<Address> servers_;
  std::vector<std::unique_ptr<ShardServer>> shards_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  uint64_t num_processes_ = 100;
  int num_pending_ = 0;  // trainers that are to be started
  std::set<int> ended_;  // trainers that have trained everything and only have to report their end
  std::vector<float> weights_;
};

}  // namespace ps

#endif  // PS_SIMULATE_SHARD_CLUSTER_H_
