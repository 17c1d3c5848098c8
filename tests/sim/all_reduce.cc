// Trainers without servers on a simulated network: the weights of every one of them are those that servers would have,
// bit for bit; and they end, and write checkpoints, together.  Also trainers that train by themselves for some steps.
#include "store/all_reduce_store.h"

#include <gtest/gtest.h>

#include "base/wait_stopped.h"
#include "collective/net_communicator.h"
#include "math/device.h"
#include "sim/cluster.h"
#include "store/averaging_store.h"
#include "store/collective_group.h"

namespace ps {
namespace {

// All that one trainer has.
struct Peer {
  Peer(SimHost& host, const NetCommunicatorOptions& options, const SyntheticJob& job)
      : communicator(make_net_communicator(host, options)),
        device(1, best_cpu_level()),
        local(job.parameters(), job.plan(), UINT64_MAX, device),
        group(*communicator),
        run(options.rank, [] {}),
        store(job.parameters(), local, *communicator, run) {}

  std::unique_ptr<Communicator> communicator;
  Device device;
  LocalStore local;
  CollectiveGroup group;
  CollectiveRun run;
  AllReduceStore store;
};

using PeerBody = std::function<void(int rank, Peer& peer)>;

// Runs `body` for each trainer on a host of its own, to the end of all.
void run_peers(const SyntheticJob& job, const std::string& algorithm, const PeerBody& body,
               int connections = 1) {
  SimNetwork network(1);
  for (int rank = 0; rank < job.trainers(); ++rank) {
    SimHost& host = network.host(cat("trainer", rank));
    host.spawn([&, rank] {
      NetCommunicatorOptions options;
      options.rank = rank, options.size = job.trainers();
      options.rendezvous = {"trainer0", 7000};
      options.algorithm = algorithm;
      options.connections = connections;
      Peer peer(host, options, job);
      body(rank, peer);
    });
  }
  ASSERT_TRUE(network.run_until([&] { return network.processes_ended(); }, network.now() + 3600s))
      << "the trainers do not end";
}

std::vector<std::vector<float>> train_without_servers(const SyntheticJob& job, const std::string& algorithm,
                                                      int connections = 1) {
  std::vector<std::vector<float>> weights(job.steps.size());
  const PeerBody body = [&](int rank, Peer& peer) {
    run_trainer(peer.store, peer.group, peer.run, job, rank);
    weights[static_cast<size_t>(rank)] = all_weights(peer.store, job.parameters());
  };
  run_peers(job, algorithm, body, connections);
  return weights;
}

// Trainers with fewer batches than others, and with none in a pass; norms over all parameters.
SyntheticJob uneven_job(const char* optimizer) {
  SyntheticJob job;
  job.optimizer = Json::parse(optimizer);
  job.steps = {{5, 3}, {4, 4}, {2, 0}, {0, 1}};
  job.dense = true;
  return job;
}

TEST(AllReduce, EveryTrainerHasTheBitsOfServers) {
  for (const char* optimizer :
       {R"({"type": "sgd", "learning_rate": 0.1})",
        R"({"type": "momentum", "learning_rate": 0.1, "momentum": 0.9, "clip_global_norm": 2})",
        R"({"type": "adam", "learning_rate": 0.1, "clip_norm": 0.5,
            "schedule": {"type": "poly", "a": 0.01, "b": 0.5}})"}) {
    const SyntheticJob job = uneven_job(optimizer);
    ShardCluster cluster(job, {2, 2, 0});
    const std::vector<float> served = cluster.train();
    for (const char* algorithm : {"direct", "chain", "server"}) {
      for (int connections : {1, 3}) {
        SCOPED_TRACE(cat(optimizer, ", ", algorithm, ", ", connections));
        for (const std::vector<float>& weights : train_without_servers(job, algorithm, connections))
          expect_same_bits(weights, served);
      }
    }
  }
}

std::vector<std::vector<float>> train_by_themselves(const SyntheticJob& job,
                                                    const AveragingOptions& options) {
  std::vector<std::vector<float>> weights(job.steps.size());
  run_peers(job, "direct", [&](int rank, Peer& peer) {
    AveragingStore store(options, job.parameters(), peer.local, *peer.communicator, peer.run);
    run_trainer(store, peer.group, peer.run, job, rank);
    weights[static_cast<size_t>(rank)] = all_weights(store, job.parameters());
  });
  return weights;
}

TEST(AllReduce, TrainersThatTrainByThemselvesEndEveryPassWithTheSameBits) {
  const SyntheticJob job =
      uneven_job(R"({"type": "momentum", "learning_rate": 0.1, "momentum": 0.9, "clip_global_norm": 2})");
  AveragingOptions options;
  options.outer = {OuterRule::kNesterov, 0.7, 0.9};
  for (const int64_t begin_step : {0, 2, 6, 1000}) {  // in the first pass, in the second, and never
    for (const int64_t k_steps : {1, 3}) {
      SCOPED_TRACE(cat(begin_step, ", ", k_steps));
      options.begin_step = begin_step, options.interval.first = k_steps;
      const auto found = train_by_themselves(job, options);
      for (const std::vector<float>& weights : found) expect_same_bits(weights, found[0]);
      const auto whole = train_without_servers(job, "direct");
      if (begin_step == 1000) expect_same_bits(found[0], whole[0]);
      EXPECT_EQ(found[0] == whole[0], begin_step == 1000);
    }
  }
}

// Without statistics the header travels with the gradients.
TEST(AllReduce, TwoTrainersOfOneMatrixHaveTheBitsOfServers) {
  SyntheticJob job = uneven_job(R"({"type": "sgd", "learning_rate": 0.1})");
  const std::vector<ParameterSpec> specs = {
      synthetic_parameter("matrix", ParameterKind::kMatrix, false, 3, 2)};
  std::vector<std::vector<float>> weights(4);
  Device device(1, best_cpu_level());
  LocalStore alone(specs, job.plan(), UINT64_MAX, device);
  const std::vector<KeyPlan> plans(1);
  std::vector<ParameterView<float>> views;
  alone.pull(plans, PullMode::kTrain, views);
  std::fill_n(views[0].gradient, 6, 0.25f + 0.5f);
  alone.push(plans, views, {.samples = 70000, .pass = 0});
  run_peers(job, "direct", [&](int rank, Peer& peer) {
    LocalStore local(specs, job.plan(), UINT64_MAX, peer.device);
    AllReduceStore store(specs, local, *peer.communicator, peer.run);
    std::vector<ParameterView<float>> mine;
    store.pull(plans, PullMode::kTrain, mine);
    if (rank == 1 || rank == 3) {
      std::fill_n(mine[0].gradient, 6, rank == 1 ? 0.25f : 0.5f);
      store.push(plans, mine, {.samples = rank == 1 ? 69000 : 1000, .pass = 0});
    }
    store.end_pass(0);
    weights[static_cast<size_t>(rank)] = all_weights(store, specs);
  });
  for (const std::vector<float>& each : weights) expect_same_bits(each, all_weights(alone, specs));
}

// Trainer 2, which has no data left, is told to end while the others train; it asks for a checkpoint too, then.
TEST(AllReduce, AllEndAfterTheStepBeforeWhichOneWasTold) {
  const SyntheticJob job = uneven_job(R"({"type": "sgd", "learning_rate": 0.1})");
  std::vector<int64_t> steps(4, -1);
  std::vector<int> checkpoints(4);
  run_peers(job, "direct", [&](int rank, Peer& peer) {
    const size_t r = static_cast<size_t>(rank);
    auto due = [&] { return peer.local.schedule().steps() + 1 == 2; };
    peer.run.peer_checkpoints()->on_checkpoint(due, [&] {
      ++checkpoints[r];
      if (rank == 2 && checkpoints[r] == 1) peer.run.stops(/*asked=*/true);
    });
    int64_t step = 0;
    try {
      std::vector<ParameterView<float>> views;
      for (; step < job.steps[r][0] && !peer.run.stops(false); ++step) {
        const SyntheticBatch batch = job.batch(rank, step);
        peer.store.pull(batch.plans, PullMode::kTrain, views);
        batch.fill(rank, step, job.parameters(), views);
        peer.store.push(batch.plans, views, {batch.samples, 0, false});
      }
      if (!peer.run.stops(false)) peer.store.end_pass(0);
    } catch (const WaitStopped&) {
    }
    EXPECT_TRUE(peer.run.ends()) << rank;
    steps[r] = peer.local.schedule().steps();
  });
  // The checkpoint of step 2 is that in which trainer 2 is told, and step 3 the one before which it says so.
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(checkpoints, (std::vector<int>{2, 2, 2, 2}));
}

TEST(AllReduce, SparseRowsAreRefused) {
  EXPECT_THROW(check_all_dense(synthetic_parameters()), Error);
}

}  // namespace
}  // namespace ps
