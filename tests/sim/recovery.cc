// Servers and trainers that crash, and come again, in jobs with checkpoints: a hundred seeds a run.
//
// A seed chooses the servers and their ports, the trainers and their data, the optimizer, how gradients are
// rounded, how often checkpoints are written and which of them are whole, whether pushes are logged, and who
// is killed when.  What a server has not synced is lost with its machine.  Whoever died comes again; all go
// back to the newest checkpoint, and the job ends with the bits of the undisturbed run.
//
//   PS_SIM_SEED=17 sim_recovery        that seed alone
//   PS_SIM_SEEDS=5000 sim_recovery     more of them
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "cluster.h"
#include "seeds.h"
#include "support/crashing_files.h"
#include "support/scratch_folder.h"

namespace ps {
namespace {

const SimLink kLink = {.latency = 1ms, .jitter = 3ms, .bytes_per_second = 2e7, .split = true};

struct Totals {
  uint64_t server_crashes = 0, trainer_crashes = 0, went_back = 0, increments = 0, lost_bytes = 0;
};

// What a seed chooses.
struct Plan : ClusterSize {
  TestJob job;
  int64_t steps;   // between two checkpoints
  int full_every;  // so many
  bool durable;
  int crashes;

  explicit Plan(Random& random) : ClusterSize(random) {
    draw_optimizer(random, job);
    job.small = true;
    draw_steps(random, job, 3, 2, 10);
    steps = draw(random, 1, 4);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 3) == 0;
    crashes = draw(random, 2, 5);
    constexpr RowType kTypes[] = {RowType::kF32, RowType::kF16, RowType::kBf16, RowType::kInt8};
    job.types.push = kTypes[draw(random, 0, 3)];
    if (draw(random, 0, 1) == 1) job.types.error_bytes = 2000;  // of a few rows alone
    job.types.error_piece_bytes = draw(random, 0, 1) == 1 ? 200 : 2000;
  }
};

// Servers that write checkpoints to one folder, and trainers that go back to them.
class RecoveringCluster {
 public:
  RecoveringCluster(const Plan& plan, uint64_t seed, Totals& totals)
      : plan_(plan), totals_(totals), network_(seed), random_(seed, 78) {
    network_.set_default_link(kLink);
    for (int s = 0; s < plan.servers; ++s) {
      servers_.push_back(std::make_unique<HostedServer>());
      HostedServer& server = *servers_.back();
      server.host = &network_.host(cat("server", s));
      describe(server);
      start(server);
      addresses_.push_back(server.shards[0]->address());
    }
  }
  ~RecoveringCluster() {
    for (auto& server : servers_) server->shards.clear();
  }

  SimNetwork& network() { return network_; }
  const std::vector<float>& weights() const { return weights_; }

  void start_trainer(int rank) {
    SimHost& host = trainer_host(rank);
    host.spawn([this, rank, &host] {
      for (uint64_t lost = 0;;) {
        try {
          return take_part(rank, host, lost);
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

  // Of two checkpoints or three.
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

  void describe(HostedServer& server) {
    ServedJob& served = server.served;
    served.fingerprint = {{"optimizer", plan_.job.optimizer}};
    served.parameters = [parameters = plan_.job.parameters()](const DataSchema&) { return parameters; };
    served.optimizers = plan_.job.plan();
    served.checkpoints.directory = folder_.path();
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
      server.shards.push_back(std::make_unique<ShardServer>(*server.host, address, server.served));
      port = server.shards.back()->address().port;
    }
    for (auto& shard : server.shards) shard->set_ports(server.ports);
  }

  void again(Duration later, std::function<void()> start) {
    ++num_pending_;
    network_.at(network_.now() + later, [this, start = std::move(start)] {
      --num_pending_;
      start();
    });
  }

  bool newest_is_increment() const {
    const std::vector<int64_t> steps = checkpoint_steps(folder_.path());
    if (steps.empty()) return false;
    return CheckpointReader(folder_.path(step_folder(steps.back()))).manifest().base.has_value();
  }

  void take_part(int rank, SimHost& host, uint64_t lost) {
    RemoteOptions options;
    options.servers = addresses_;
    options.hello.rank = rank;
    options.hello.trainers = plan_.job.trainers();
    options.hello.generation = ++num_processes_;
    options.hello.passes = static_cast<int>(plan_.job.steps[0].size());
    options.hello.lost = lost;
    options.hello.job = {{"optimizer", plan_.job.optimizer}};
    options.hello.schema = to_json(DataSchema());
    RemoteStore store(host, options, plan_.job.consistency, plan_.job.parameters(), plan_.job.types);
    if (store.finished()) return;
    run_trainer(store, store, plan_.job, rank);
    if (store.leader() == rank) weights_ = all_weights(store, plan_.job.small);
    store.end_run();
  }

  const Plan& plan_;
  Totals& totals_;
  const ScratchFolder folder_;
  SimNetwork network_;
  Random random_;
  std::vector<std::unique_ptr<HostedServer>> servers_;
  std::vector<Address> addresses_;
  uint64_t num_processes_ = 100;
  int num_pending_ = 0;  // that are to be started again
  std::vector<float> weights_;
};

// The weights of the undisturbed run, and how long it takes.
std::vector<float> train_calmly(const Plan& plan, uint64_t seed, Time& took) {
  Cluster calm(plan.job, plan.servers, plan.ports, plan.sparse_ports, seed);
  calm.network().set_default_link(kLink);
  const std::vector<float> weights = calm.train();
  took = calm.network().now();
  return weights;
}

void run_seed(uint64_t seed, Totals& totals) {
  Random random(seed, 0);
  const Plan plan(random);
  Time calm_time{};
  const std::vector<float> expected = train_calmly(plan, seed, calm_time);
  RecoveringCluster cluster(plan, seed, totals);
  for (int crash = 0; crash < plan.crashes; ++crash) {
    const Time when = seconds_duration(to_seconds(2 * calm_time) * random.uniform());
    cluster.network().at(when, [&cluster] { cluster.crash_some(); });
  }
  for (int rank = 0; rank < plan.job.trainers(); ++rank) cluster.start_trainer(rank);
  cluster.run();
  expect_same_bits(expected, cluster.weights());
}

TEST(Recovery, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) { run_seed(seed, totals); });
  std::printf("%s\n", cat("servers crashed ", totals.server_crashes, ", trainers crashed ",
                          totals.trainer_crashes, ", times a trainer went back ", totals.went_back,
                          ", increments gone on from ", totals.increments, ", bytes lost ", totals.lost_bytes)
                          .c_str());
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 50u);
  EXPECT_GT(totals.trainer_crashes, 30u);
  EXPECT_GT(totals.went_back, 30u) << "nobody ever went back: the test proves nothing";
  EXPECT_GT(totals.increments, 5u);
  EXPECT_GT(totals.lost_bytes, 0u) << "all was on the disk whenever a server crashed";
}

}  // namespace
}  // namespace ps
