// Servers that write checkpoints to one folder and trainers that go back to them, on a simulated network,
// whose processes and machines crash.
#ifndef PS_TESTS_SIM_RECOVERING_CLUSTER_H_
#define PS_TESTS_SIM_RECOVERING_CLUSTER_H_

#include <cstdio>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "cluster.h"
#include "collective/net_communicator.h"
#include "device/device_store.h"
#include "device/device_type.h"
#include "ps/client/local_sgd_plan.h"
#include "ps/client/local_sgd_store.h"
#include "ps/client/remote_lender.h"
#include "seeds.h"
#include "strategy/hybrid_store.h"
#include "strategy/run_peers.h"
#include "support/crashing_files.h"
#include "support/scratch_folder.h"

namespace ps {

// Totals of all runs.
struct Totals {
  uint64_t server_crashes = 0, trainer_crashes = 0, went_back = 0, increments = 0, lost_bytes = 0;

  void print() const {
    std::printf("%s\n", cat("servers crashed ", server_crashes, ", trainers crashed ", trainer_crashes,
                            ", times a trainer went back ", went_back, ", increments gone on from ",
                            increments, ", bytes lost ", lost_bytes)
                            .c_str());
  }
};

// The run.
struct RecoveryPlan : ClusterSize {
  using ClusterSize::ClusterSize;

  SyntheticJob job;
  std::optional<LocalSgdOptions> geo = {};         // trainers train copies of their own
  bool hybrid = false;                             // trainers add dense gradients up among themselves
  std::vector<ParameterSpec> own_parameters = {};  // instead of the job's
  int64_t steps = 2;                               // between two checkpoints
  int full_every = 1;                              // so many
  bool durable = false;
  int crashes = 0;

  std::vector<ParameterSpec> parameters() const {
    return own_parameters.empty() ? job.parameters() : own_parameters;
  }
};

// A run of trainers that add dense gradients up among themselves, in passes of up to so many steps.
struct HybridPlan : RecoveryPlan {
  HybridPlan(Random& random, int most_steps) : RecoveryPlan(random) {
    hybrid = true;
    draw_optimizer(random, job);
    if (draw(random, 0, 2) == 0) job.optimizer["clip_norm"] = 0.4;
    if (draw(random, 0, 3) == 0 && job.optimizer["type"] == "momentum")
      job.optimizer["average"] = Json::object();
    job.small = true;
    draw_steps(random, job, 3, 0, most_steps);
    steps = draw(random, 1, 4);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 3) == 0;
  }
};

// Servers that write checkpoints to one folder, and trainers that go back to them.
class RecoveringCluster {
 public:
  // `resume`: what is in the folder is gone on from, by other servers perhaps.
  RecoveringCluster(const RecoveryPlan& plan, const std::string& folder, uint64_t seed, Totals& totals,
                    bool resume = false)
      : plan_(plan), totals_(totals), folder_(folder), resume_(resume), network_(seed), random_(seed, 78) {
    network_.set_default_link(link());
    for (int s = 0; s < plan.servers; ++s) {
      servers_.push_back(std::make_unique<HostedServer>());
      HostedServer& server = *servers_.back();
      server.host = &network_.host(cat("server", s));
      describe(server);
      start(server);
      addresses_.push_back(server.shards[0]->address());
    }
  }
  ~RecoveringCluster() { stop(); }

  static SimLink link() { return {.latency = 1ms, .jitter = 3ms, .bytes_per_second = 2e7, .split = true}; }

  // The work of a trainer with copies of its own.
  std::function<void(LocalSgdStore&, int rank)> geo_body = [this](LocalSgdStore& store, int rank) {
    train(store, store.remote(), rank);
  };

  // The work of a trainer that adds dense gradients up with others.
  using HybridBody = std::function<void(HybridStore&, RemoteStore&, CollectiveRun&, int rank)>;
  HybridBody hybrid_body = [this](HybridStore& store, RemoteStore& remote, CollectiveRun&, int rank) {
    train(store, remote, rank);
  };

  // `stop` and `stop_patience` of RemoteOptions, for all trainers.
  std::function<bool()> told_to_end;
  Duration stop_patience{};

  // The work of a trainer's process, instead of the job's.
  std::function<void(const RemoteOptions&, SimHost&)> own_body;

  SimNetwork& network() { return network_; }
  const std::vector<Address>& addresses() const { return addresses_; }
  const std::vector<float>& weights() const { return weights_; }

  // After each pass, where trainers train copies of their own.
  const std::map<int64_t, std::vector<float>>& passes() const { return passes_; }

  // The rows that have left devices of trainers of a hybrid job, before it has ended.
  uint64_t rows_evicted() const { return rows_evicted_; }

  void start_trainers() {
    for (int rank = 0; rank < plan_.job.trainers(); ++rank) start_trainer(rank);
  }

  void start_trainer(int rank) {
    SimHost& host = trainer_host(rank);
    host.spawn([this, rank, &host] {
      for (uint64_t lost = 0;;) {
        try {
          return take_part(rank, host, lost);
        } catch (const ServersMoved&) {
          continue;  // the run that it came to was just over
        } catch (const StateLost& error) {
          if (!error.checkpointed()) throw;
          lost = error.run();
          ++totals_.went_back;
        }
      }
    });
  }

  // Its process is killed, its machine ends, or that ends at one of the next things that it does with a file;
  // it comes again `later`.  Nothing when it is down already.
  enum class Crash { kProcess, kMachine, kMachineAtFile };
  void crash_server(size_t s, Duration later, Crash crash) {
    HostedServer& server = *servers_[s];
    if (server.shards.empty()) return;
    if (crash == Crash::kMachineAtFile) {
      const auto ends = [this, &server, later] {
        server.host->crash();
        network_.at(network_.now(), [this, &server, later] { end_server(server, later, /*machine=*/true); });
      };
      return server.files.end_at(random_.below(kMostFileCalls), ends);
    }
    if (crash == Crash::kMachine) server.host->crash();
    end_server(server, later, crash == Crash::kMachine);
  }

  void crash_trainer(int rank, Duration later, bool power_fails) {
    SimHost& host = trainer_host(rank);
    if (power_fails) host.crash();
    const bool killed = host.kill();
    if (power_fails) host.restart();
    if (!killed) return;
    ++totals_.trainer_crashes;
    again(later, [this, rank] { start_trainer(rank); });
  }

  // For good: nobody starts it again.
  void lose_trainer(int rank) { totals_.trainer_crashes += trainer_host(rank).kill(); }

  // The job's first, once it is up.
  const Shard& first_shard() const { return *servers_[0]->shards[0]->shard(); }

  // Steps that it has applied; 0 when it is down, or no trainer has come.
  uint64_t steps() const {
    const auto& shards = servers_[0]->shards;
    return shards.empty() || shards[0]->shard() == nullptr ? 0 : first_shard().counters().steps;
  }

  // Somebody, and sometimes all servers together.
  void crash_some() {
    const Duration later = std::chrono::milliseconds(random_.below(3000));
    const size_t victim = random_.below(servers_.size() + plan_.job.steps.size() + 1);
    const Crash crash = static_cast<Crash>(random_.below(3));
    if (victim < servers_.size()) return crash_server(victim, later, crash);
    if (victim > servers_.size()) {
      return crash_trainer(static_cast<int>(victim - servers_.size()) - 1, later, random_.below(2) == 0);
    }
    for (size_t s = 0; s < servers_.size(); ++s) crash_server(s, later, crash);
  }

  // All processes are killed.
  void stop() {
    for (int rank = 0; rank < plan_.job.ranks(); ++rank) trainer_host(rank).kill();
    for (auto& server : servers_) server->shards.clear();
  }

  // To its end, while somebody crashes now and then in about twice the time that it takes when nobody does.
  void train_through_crashes(Time calm_time, Random& random) {
    for (int crash = 0; crash < plan_.crashes; ++crash) {
      const Time when = seconds_duration(to_seconds(2 * calm_time) * random.uniform());
      network_.at(when, [this] { crash_some(); });
    }
    start_trainers();
    run();
  }

  // Something is started `later`, and run() waits for it.
  void again(Duration later, std::function<void()> start) {
    ++num_pending_;
    network_.at(network_.now() + later, [this, start = std::move(start)] {
      --num_pending_;
      start();
    });
  }

  // Until all that was started has ended.
  void run() {
    ASSERT_TRUE(network_.run_until([this] { return num_pending_ == 0 && network_.processes_ended(); },
                                   network_.now() + 3600s))
        << "the trainers do not end";
  }

 private:
  struct HostedServer {
    SimHost* host;
    CrashingFiles files;
    ServedJob served;
    std::vector<std::unique_ptr<ShardServer>> shards;  // none: it is down
    ServerPorts ports;
  };

  // The file calls of two checkpoints or three.
  static constexpr uint64_t kMostFileCalls = 150;

  void end_server(HostedServer& server, Duration later, bool machine) {
    if (server.shards.empty()) return;
    ++totals_.server_crashes;
    server.shards.clear();
    if (machine) totals_.lost_bytes += server.files.crash();
    again(later, [this, &server] {
      server.host->restart();
      server.served.checkpoints.resume = true;
      totals_.increments += newest_is_increment();
      start(server);
    });
  }

  SimHost& trainer_host(int rank) { return network_.host(cat("trainer", rank)); }

  std::vector<ParameterSpec> served_parameters() const {
    if (plan_.hybrid) return with_dense_by_trainers(plan_.parameters());
    return plan_.geo ? without_tuning(plan_.parameters()) : plan_.parameters();
  }

  void describe(HostedServer& server) {
    ServedJob& served = server.served;
    served.fingerprint = {{"optimizer", plan_.job.optimizer}};
    served.parameters = [parameters = served_parameters()](const DataSchema&) { return parameters; };
    served.optimizers = plan_.geo ? addition_plan() : plan_.job.plan();
    served.consistency = plan_.job.consistency;
    served.push_codec = plan_.job.types.push_codec;
    served.trainer_loss = plan_.job.on_loss;
    served.checkpoints.directory = folder_;
    served.checkpoints.resume = resume_;
    served.checkpoints.steps = plan_.steps;
    served.checkpoints.full_every = plan_.full_every;
    served.checkpoints.job = served.fingerprint;
    served.checkpoints.durable = plan_.durable;
    served.checkpoints.own_thread = false;
    served.checkpoints.files = &server.files;
    server.ports.dense = plan_.ports;
    server.ports.sparse = plan_.sparse_ports > 0 ? plan_.sparse_ports : plan_.ports;
    server.ports.ports.assign(static_cast<size_t>(plan_.ports + plan_.sparse_ports), 0);
  }

  // On the ports that it had before, if any.
  void start(HostedServer& server) {
    for (int& port : server.ports.ports) {
      const Address address{server.host->name(), static_cast<uint16_t>(port)};
      server.shards.push_back(
          std::make_unique<ShardServer>(*server.host, address, server.served, plan_.limits));
      port = server.shards.back()->address().port;
    }
    for (auto& shard : server.shards) shard->set_ports(server.ports);
  }

  bool newest_is_increment() const {
    const std::vector<int64_t> steps = checkpoint_steps(folder_);
    if (steps.empty()) return false;
    return CheckpointReader(join_path(folder_, step_folder(steps.back()))).manifest().base.has_value();
  }

  void take_part(int rank, SimHost& host, uint64_t lost) {
    RemoteOptions options;
    options.servers = addresses_;
    options.hello.rank = rank;
    options.hello.trainers = plan_.job.trainers();
    options.hello.max_trainers = plan_.job.ranks();
    options.hello.generation = ++num_processes_;
    options.hello.passes = static_cast<int>(plan_.job.steps[0].size());
    options.hello.lost = lost;
    options.hello.job = {{"optimizer", plan_.job.optimizer}};
    options.hello.schema = to_json(DataSchema());
    options.hello.resume = resume_;
    options.sparse_here = plan_.job.device.has_value();
    options.stop = told_to_end;
    options.stop_patience = stop_patience;
    if (own_body) return own_body(options, host);
    if (plan_.geo) return take_geo_part(options, host);
    if (plan_.hybrid) return take_hybrid_part(options, host);
    RemoteStore remote(host, options, plan_.job.consistency, plan_.job.parameters(), plan_.job.types);
    if (remote.run().finished()) return;
    with_store(remote, plan_.job, [&](ParameterStore& store) { train(store, remote, rank); });
  }

  void take_geo_part(const RemoteOptions& options, SimHost& host) {
    Device device(1, best_cpu_level());
    LocalStore local(without_policies(plan_.parameters()), plan_.job.plan(), UINT64_MAX, device);
    LocalSgdCopies copies(plan_.parameters(), plan_.geo->period, local);
    RemoteStore remote(host, options, plan_.job.consistency, plan_.parameters(), plan_.job.types, &copies);
    if (remote.run().finished()) return;
    LocalSgdStore store(*plan_.geo, copies, remote);
    geo_body(store, options.hello.rank);
  }

  void take_hybrid_part(RemoteOptions options, SimHost& host) {
    options.dense_here = true;
    const std::vector<ParameterSpec> specs = plan_.parameters();
    Device device(1, best_cpu_level());
    LocalStore local(dense_parameters(specs), plan_.job.plan(), UINT64_MAX, device);
    RemoteStore remote(host, options, plan_.job.consistency, specs, plan_.job.types);
    if (remote.run().finished()) return;
    // Answers to the lender may come as long as the loop runs, which the end of the communicator does.
    LocalStore sparse(sparse_parameters(specs), plan_.job.plan(), UINT64_MAX, device);
    std::unique_ptr<RemoteLender> lender;
    std::unique_ptr<DeviceStore> rows;
    NetCommunicatorOptions peers;
    peers.rank = options.hello.rank, peers.size = options.hello.trainers;
    peers.rendezvous = {"trainer0", 7000};
    peers.nonce = options.hello.generation;
    peers.algorithm = "direct";
    peers.patient = true;
    const auto communicator = meet_in_run(remote, host.loop(), 60s, [&](Duration timeout) {
      peers.join_timeout = timeout;
      return make_net_communicator(host, peers);
    });
    CollectiveRun run(options.hello.rank, [] {});
    HybridStore::Context context{remote, local, *communicator, run};
    if (plan_.job.device) {
      const std::shared_ptr<RowDevice> cards = open_row_device(plan_.job.device->type);
      lender = std::make_unique<RemoteLender>(specs, plan_.job.plan(), remote, sparse,
                                              static_cast<size_t>(plan_.job.device->window));
      rows = std::make_unique<DeviceStore>(*lender, *lender, cards,
                                           plan_caches(*cards, *plan_.job.device, specs, plan_.job.plan()),
                                           /*own_thread=*/false);
      context.rows.emplace(HybridStore::DeviceRows{*lender, *rows});
    }
    HybridStore store(specs, plan_.job.plan(), context);
    hybrid_body(store, remote, run, options.hello.rank);
    if (rows) rows_evicted_ += rows->counters()["rows_evicted"].get<uint64_t>();
  }

  void train(ParameterStore& store, RemoteStore& remote, int rank) {
    const auto keep = [&](int64_t pass) {
      if (plan_.geo) passes_[pass] = all_weights(store, plan_.job.small);
    };
    run_trainer(store, remote.group(), remote.run(), plan_.job, rank, keep);
    if (remote.group().leader() == rank) weights_ = all_weights(store, plan_.job.small);
    remote.run().end_run();
  }

  const RecoveryPlan& plan_;
  Totals& totals_;
  const std::string folder_;
  const bool resume_;
  SimNetwork network_;
  Random random_;
  std::vector<std::unique_ptr<HostedServer>> servers_;
  std::vector<Address> addresses_;
  uint64_t num_processes_ = 100;
  int num_pending_ = 0;  // that are to be started again
  std::vector<float> weights_;
  std::map<int64_t, std::vector<float>> passes_;
  uint64_t rows_evicted_ = 0;
};

// Trains the job of the plan through crashes: the weights have the bits of a run of servers alone that nothing disturbs.
inline void expect_bits_of_undisturbed(const RecoveryPlan& plan, uint64_t seed, Random& random,
                                       Totals& totals, uint64_t* rows_evicted = nullptr) {
  SyntheticJob plain = plan.job;
  plain.consistency.ahead = 0;
  plain.device.reset();
  ShardCluster calm(plain, {plan.servers, plan.ports, plan.sparse_ports}, seed);
  calm.network().set_default_link(RecoveringCluster::link());
  const std::vector<float> expected = calm.train();
  const ScratchFolder folder;
  RecoveringCluster cluster(plan, folder.path(), seed, totals);
  cluster.train_through_crashes(calm.network().now(), random);
  expect_same_bits(expected, cluster.weights());
  if (rows_evicted != nullptr) *rows_evicted += cluster.rows_evicted();
}

// The same for many seeds, with three crashes each; make_plan(random) draws a plan.  So often at least a trainer must have
// gone back in all, or the test has proven nothing.
template <class MakePlan>
void expect_crashes_to_change_nothing(uint64_t least_returns, const MakePlan& make_plan) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    auto plan = make_plan(random);
    plan.crashes = 3;
    expect_bits_of_undisturbed(plan, seed, random, totals);
  });
  totals.print();
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 40u);
  EXPECT_GT(totals.trainer_crashes, 20u);
  EXPECT_GT(totals.went_back, least_returns) << "trainers seldom went back: the test proves nothing";
}

}  // namespace ps

#endif  // PS_TESTS_SIM_RECOVERING_CLUSTER_H_
