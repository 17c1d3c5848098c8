// What the tests of clusters share: a small job whose gradients depend on the weights that were pulled, a
// cluster for it on a simulated network, and the same job in one process.
#ifndef PS_TESTS_SIM_CLUSTER_H_
#define PS_TESTS_SIM_CLUSTER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/json.h"
#include "net/sim/proxy.h"
#include "net/sim/sim_faults.h"
#include "net/sim/sim_host.h"
#include "net/sim/sim_network.h"
#include "ps/client/remote_store.h"
#include "ps/server/shard_server.h"
#include "store/local_store.h"
#include "support/test_parameter.h"

namespace ps {

using namespace std::chrono_literals;

// One parameter of each kind; the matrix and the embedding have several blocks, and the embedding's gradients
// are sent from where they lie, unless they are to be small.
inline std::vector<ParameterSpec> test_parameters(bool small = false) {
  return {test_parameter("table", ParameterKind::kRows, true, 0, 3),
          test_parameter("embedding", ParameterKind::kRows, false, 400, small ? 4 : 130),
          test_parameter("matrix", ParameterKind::kMatrix, false, 40, small ? 5 : 1000),
          test_parameter("bias", ParameterKind::kMatrix, false, 1, 5),
          test_parameter("running", ParameterKind::kStatistic, false, 1, 4)};
}

// What trainer `rank` does in step `step` of the job: some keys, and gradients made of weights and noise.
class TestBatch {
 public:
  // `counted`: says how often the keys of the table occur.
  TestBatch(int rank, int64_t step, bool counted = false)
      : random_(1000 + static_cast<uint64_t>(rank), static_cast<uint64_t>(step)) {
    std::vector<uint64_t> ids(40);
    for (uint64_t& id : ids) id = random_.below(300);
    const std::vector<uint32_t> offsets = {0, 10, 40};  // two examples
    const std::vector<float> labels = {1, 0};
    KeyList list{offsets, ids};
    plans.resize(5);
    KeyPlanner(KeyOrder::kAscending).plan({&list, 1}, plans[1]);
    for (uint64_t& id : ids) id = id * 0x9e3779b97f4a7c15;  // spread over 64 bits
    KeyPlanner(KeyOrder::kAscending).plan({&list, 1}, plans[0]);
    if (counted) count_keys(labels, plans[0]);
    for (KeyPlan& plan : plans) plan.uses.clear();
    samples = 10 + rank;
  }

  // Noise comes from the place of a weight alone.
  static float gradient(int rank, int64_t step, uint64_t place, float weight) {
    Random noise(place, static_cast<uint64_t>(step) * 16 + static_cast<uint64_t>(rank));
    return 0.5f * weight + static_cast<float>(noise.uniform()) - 0.5f;
  }

  void fill(int rank, int64_t step, std::span<const ParameterSpec> specs,
            std::span<const ParameterView<float>> views) const {
    for (size_t p = 0; p < specs.size(); ++p) {
      const int64_t cols = specs[p].cols;
      const bool by_keys = specs[p].kind == ParameterKind::kRows;
      const int64_t rows = by_keys ? static_cast<int64_t>(plans[p].keys.size()) : specs[p].rows;
      for (int64_t i = 0; i < rows * cols; ++i) {
        uint64_t row =
            by_keys ? plans[p].keys[static_cast<size_t>(i / cols)] : static_cast<uint64_t>(i / cols);
        uint64_t place = row * 1000 + static_cast<uint64_t>(i % cols);
        if (by_keys) {
          views[p].row_gradients[i] = gradient(rank, step, place, views[p].rows[i / cols][i % cols]);
        } else if (specs[p].kind == ParameterKind::kMatrix) {
          views[p].gradient[i] = gradient(rank, step, place, views[p].value[i]);
        } else {
          views[p].value[i] = 0.9f * views[p].value[i] + gradient(rank, step, place, 0);
        }
      }
    }
  }

  std::vector<KeyPlan> plans;
  int64_t samples;

 private:
  Random random_;
};

struct TestJob {
  Json optimizer = {{"type", "sgd"}, {"learning_rate", 0.1}};
  Consistency consistency;
  std::optional<RowPolicy> rows;                   // of the table
  std::vector<std::vector<int>> steps = {{5, 3}};  // of each trainer, by pass
  RowTypes types = {};
  bool small = false;
  Duration request_timeout = 15s;
  TrainerLoss on_loss;

  int trainers() const { return static_cast<int>(steps.size()); }
  OptimizerPlan plan() const { return make_optimizer_plan(optimizer, "mean"); }
  std::vector<ParameterSpec> parameters() const {
    std::vector<ParameterSpec> specs = test_parameters(small);
    specs[0].row_policy = rows;
    return specs;
  }
  TestBatch batch(int rank, int64_t step) const { return TestBatch(rank, step, rows.has_value()); }
  // Whether the trainer asks to shrink the table after this step.
  bool shrinks(int rank, int64_t step) const { return rows && step % 7 == 3 + rank; }
};

// The weights of a trained job, of every parameter, in a fixed order.
inline std::vector<float> all_weights(ParameterStore& store, bool small = false) {
  std::vector<float> all;
  std::vector<ParameterSpec> specs = test_parameters(small);
  for (size_t p = 0; p < specs.size(); ++p) {
    const size_t cols = static_cast<size_t>(specs[p].cols), begin = all.size();
    const int parameter = static_cast<int>(p);
    if (specs[p].sparse) {
      std::vector<uint64_t> keys = store.keys(parameter);
      all.resize(begin + keys.size() * cols);
      store.read_rows(parameter, keys, all.data() + begin);
    } else {
      all.resize(begin + static_cast<size_t>(specs[p].rows) * cols);
      store.read_all(parameter, all.data() + begin);
    }
  }
  return all;
}

// Trains batches [done, …) of a pass; `step` numbers them over all passes.
inline void train_pass(ParameterStore& store, const TestJob& job, int rank, int64_t pass, int64_t done,
                       int64_t& step) {
  const std::vector<ParameterSpec> specs = job.parameters();
  const int64_t count = job.steps[static_cast<size_t>(rank)][static_cast<size_t>(pass)];
  std::vector<ParameterView<float>> views;
  PullTicket begun;  // of the batch that comes next
  auto batch = std::make_unique<TestBatch>(job.batch(rank, step)), next = std::unique_ptr<TestBatch>();
  for (int64_t i = done; i < count; ++i, ++step, batch = std::move(next)) {
    begun ? store.finish_pull(begun, batch->plans, views) : store.pull(batch->plans, PullMode::kTrain, views);
    next = std::make_unique<TestBatch>(job.batch(rank, step + 1));
    begun = i + 1 < count && i % 3 != 2 ? store.begin_pull(next->plans) : PullTicket{};
    batch->fill(rank, step, specs, views);
    store.push(batch->plans, views, {batch->samples, pass, job.shrinks(rank, step)});
  }
  store.end_pass(pass);
}

// Takes a trainer's part in a run.  A process that takes a rank's part up passes over what is trained already.
using AfterPass = std::function<void(int64_t pass)>;
inline void run_trainer(
    ParameterStore& store, TrainerGroup& group, RunControl& run, const TestJob& job, int rank,
    const AfterPass& after_pass = [](int64_t) {}) {
  const RunPosition start = run.position();
  if (!start.resumed) group.barrier();
  int64_t step = start.batches;
  for (int64_t pass = start.pass; pass < static_cast<int64_t>(job.steps[0].size()); ++pass) {
    const bool first = pass == start.pass;
    if (!first || !start.pass_ended) {
      train_pass(store, job, rank, pass, first ? start.pass_batches : 0, step);
    }
    after_pass(pass);
    group.gather("figures");
  }
}

// The job with one trainer, in one process: its weights after each pass, and at the end.
inline std::vector<std::vector<float>> train_passes_locally(const TestJob& job) {
  Device device(1);
  LocalStore store(job.parameters(), job.plan(), UINT64_MAX, device);
  LocalGroup group;
  LocalRun run;
  std::vector<std::vector<float>> weights;
  run_trainer(store, group, run, job, 0, [&](int64_t) { weights.push_back(all_weights(store, job.small)); });
  return weights;
}
inline std::vector<float> train_locally(const TestJob& job) {
  return train_passes_locally(job).back();
}

inline void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0) return;
  size_t i = 0;
  while (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) ++i;
  FAIL() << "weight " << i << " of " << a.size() << " is " << a[i] << " and " << b[i];
}

// Servers of a job on a simulated network, each on a host of its own, and its trainers.
class Cluster {
 public:
  Cluster(const TestJob& job, int servers, int ports, int sparse_ports, uint64_t seed = 1)
      : job_(job), network_(seed) {
    served_.fingerprint = {{"optimizer", job.optimizer}};
    served_.parameters = [parameters = job.parameters()](const DataSchema&) { return parameters; };
    served_.optimizers = job.plan();
    served_.consistency = job.consistency;
    served_.request_timeout = job.request_timeout;
    served_.trainer_loss = job.on_loss;
    for (int s = 0; s < servers; ++s) add_server(cat("server", s), ports, sparse_ports);
  }
  ~Cluster() {
    proxies_.clear();
    shards_.clear();
  }

  // What trainers say while they wait.
  std::function<void(const std::string&)> on_waiting = [](const std::string&) {};

  SimNetwork& network() { return network_; }
  std::vector<SimHost*> hosts() { return hosts_; }
  std::vector<std::unique_ptr<ShardServer>>& shards() { return shards_; }
  ServedJob& served() { return served_; }

  RemoteOptions options(int rank) {
    RemoteOptions options;
    options.servers = servers_;
    options.request_timeout = job_.request_timeout;
    options.on_waiting = [this](const std::string& text) { on_waiting(text); };
    options.hello.rank = rank;
    options.hello.trainers = job_.trainers();
    options.hello.generation = ++num_processes_;
    options.hello.job = {{"optimizer", job_.optimizer}};
    options.hello.schema = to_json(DataSchema());
    return options;
  }

  // In front of every port, on a host of its own with the same port.
  void put_proxies(const Proxy::Script& script) {
    for (auto& shard : shards_) {
      const Address& target = shard->address();
      const std::string name = "proxy of " + target.host;
      SimHost& host = network_.host(name);
      proxies_.push_back(std::make_unique<Proxy>(host, Address{name, target.port}, target, script));
      if (std::find(hosts_.begin(), hosts_.end(), &host) == hosts_.end()) hosts_.push_back(&host);
    }
    for (Address& server : servers_) server.host = "proxy of " + server.host;
  }
  uint64_t num_proxy_faults() const {
    uint64_t sum = 0;
    for (const auto& proxy : proxies_) sum += proxy->num_faults();
    return sum;
  }

  // Runs `body` with a store, on a host of the trainer's own.
  void spawn(int rank, std::function<void(RemoteStore&)> body) { spawn(options(rank), std::move(body)); }
  void spawn(const RemoteOptions& options, std::function<void(RemoteStore&)> body) {
    SimHost& host = network_.host(cat("trainer", options.hello.rank));
    if (std::find(hosts_.begin(), hosts_.end(), &host) == hosts_.end()) hosts_.push_back(&host);
    host.spawn([this, &host, options, body = std::move(body)] {
      RemoteStore store(host, options, job_.consistency, job_.parameters(), job_.types);
      body(store);
    });
  }

  // Until all that was spawned has ended.
  void run() {
    ASSERT_TRUE(network_.run_until([this] { return num_pending_ == 0 && network_.processes_ended(); },
                                   network_.now() + 3600s))
        << "the trainers do not end";
  }

  // The whole job; its weights, as the trainer that speaks for all reads them.
  std::vector<float> train() {
    for (int rank = 0; rank < job_.trainers(); ++rank) start_trainer(rank);
    run();
    return weights_;
  }

  // A process that takes the part of trainer `rank` to the end of the job.
  void start_trainer(int rank) {
    spawn(rank, [this, rank](RemoteStore& store) {
      run_trainer(store, store.group(), store.run(), job_, rank);
      if (store.group().leader() == rank) weights_ = all_weights(store, job_.small);
      ended_.insert(rank);
      store.run().end_run();
    });
  }

  // Kills it, or takes its host from the net, and starts it again `later`; false when it has ended.
  bool restart_trainer(int rank, Duration later, bool power_fails = false) {
    SimHost& host = network_.host(cat("trainer", rank));
    if (ended_.contains(rank)) return false;
    if (power_fails) host.crash();
    if (!host.kill()) return false;
    network_.at(network_.now() + later, [this, &host, rank] {
      host.restart();
      start_trainer(rank);
    });
    ++num_pending_;
    network_.at(network_.now() + later, [this] { --num_pending_; });
    return true;
  }

  // Nobody is waited for who has not been started again.
  void forget_trainers_to_come() { num_pending_ = 0; }

  const std::vector<float>& weights() const { return weights_; }

 private:
  // The first `ports` have dense parameters, `sparse_ports` more sparse ones; without these all have both.
  void add_server(const std::string& name, int ports, int sparse_ports) {
    SimHost& host = network_.host(name);
    hosts_.push_back(&host);
    ServerPorts description;
    description.dense = ports;
    description.sparse = sparse_ports > 0 ? sparse_ports : ports;
    size_t first = shards_.size();
    for (int i = 0; i < ports + sparse_ports; ++i) {
      shards_.push_back(std::make_unique<ShardServer>(host, Address{name, 0}, served_));
      description.ports.push_back(shards_.back()->address().port);
    }
    for (size_t i = first; i < shards_.size(); ++i) shards_[i]->set_ports(description);
    servers_.push_back(shards_[first]->address());
  }

  const TestJob job_;
  ServedJob served_;
  SimNetwork network_;
  std::vector<SimHost*> hosts_;
  std::vector<Address> servers_;
  std::vector<std::unique_ptr<ShardServer>> shards_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  uint64_t num_processes_ = 100;
  int num_pending_ = 0;  // trainers that are to be started
  std::set<int> ended_;  // trainers that only have to say so
  std::vector<float> weights_;
};

}  // namespace ps

#endif  // PS_TESTS_SIM_CLUSTER_H_
