// The simulator against the formulas, and what goes wrong in it.
#include "simulate/simulator.h"

#include <gmock/gmock.h>

#include "plain_cluster.h"

namespace ps::simulator_test {
namespace {

// Clusters in which each term matters, and numbers of ranks that nothing divides.
std::vector<ClusterParameters> varied_clusters() {
  std::vector<ClusterParameters> clusters;
  for (int64_t ranks : {2, 3, 5, 8, 13, 16, 100}) {
    for (int64_t servers : {0, 1, 3, 16}) {
      for (double slow : {0.0, 1.0}) {
        ClusterParameters cluster = plain_cluster(ranks);
        cluster.servers = servers;
        cluster.ports = 1 + servers % 2;
        cluster.latency = slow * 1e-3;
        cluster.overhead = slow * 2e-4;
        cluster.gap = slow * 3e-4;
        cluster.sum_rate = slow * 7e7;
        cluster.encode_rate = slow * 3e8;
        cluster.decode_rate = slow * 2e8;
        cluster.chunk_bytes = 3e5;
        cluster.one_round_bytes = 4.1e6;  // of megabytes: to five ranks
        cluster.cores = 2;
        cluster.processes = 3;
        clusters.push_back(cluster);
        cluster.machine_rate = 2.5 * cluster.bandwidth;
        clusters.push_back(cluster);
        cluster.flow_bandwidth = 0.15 * cluster.bandwidth;
        cluster.connections = 2;
        clusters.push_back(cluster);
      }
    }
  }
  return clusters;
}

TEST(Simulator, EqualsTheFormulasWithoutNoise) {
  constexpr double kCompute = 0.01;
  for (const ClusterParameters& cluster : varied_clusters()) {
    for (const ExchangeEntry& entry : exchange_catalog()) {
      for (int64_t period : {1, 4}) {
        const SimulatedRun run = simulate({entry.exchange, period}, cluster, kMegabyte, kCompute, 8, {});
        const double exchange = exchange_cost(entry.exchange, cluster, kMegabyte).total();
        const double expected = kCompute + exchange / static_cast<double>(period);
        EXPECT_NEAR(run.mean_seconds(), expected, 0.001 * expected)
            << entry.name << ", " << cluster.ranks << " ranks, " << cluster.servers << " servers, period "
            << period << ", latency " << cluster.latency;
      }
    }
  }
}

TEST(Simulator, TheSameSeedGivesTheSameRunAndAnotherSeedAnother) {
  Noise noise;
  noise.jitter = 0.2;
  noise.stragglers = 0.1;
  noise.link_failures = 0.05;
  auto run = [&](uint64_t seed) {
    noise.seed = seed;
    return simulate({ExchangeKind::kServer, 1}, plain_cluster(20), kMegabyte, 0.1, 50, noise);
  };
  const SimulatedRun first = run(1);
  EXPECT_EQ(first.step_seconds, run(1).step_seconds);
  EXPECT_NE(first.step_seconds, run(2).step_seconds);
  EXPECT_NEAR(static_cast<double>(first.stragglers), 100, 40) << "four deviations of 1000 draws";
  EXPECT_NEAR(static_cast<double>(first.link_failures), 50, 28);
}

TEST(Simulator, AStepLastsAsLongAsItsSlowestTrainer) {
  Noise noise;
  noise.stragglers = 1;
  noise.straggler_factor = 5;
  const double exchange = formula_seconds(ExchangeKind::kDirect, plain_cluster(4));
  EXPECT_NEAR(simulate({}, plain_cluster(4), kMegabyte, 0.1, 3, noise).mean_seconds(), 0.5 + exchange, 1e-9);
  noise = {};
  noise.link_failures = 1;
  noise.repair_seconds = 2;
  const SimulatedRun rarely =
      simulate({ExchangeKind::kDirect, 3}, plain_cluster(4), kMegabyte, 0.1, 6, noise);
  EXPECT_EQ(rarely.link_failures, 8) << "links are needed when there is an exchange";
  EXPECT_NEAR(rarely.mean_seconds(), 0.1 + (2 + exchange) / 3, 1e-9);
}

TEST(Simulator, CheckpointsStopAllTrainers) {
  Noise noise;
  noise.checkpoint_steps = 4;
  noise.checkpoint_seconds = 1;
  const SimulatedRun run = simulate({}, plain_cluster(4), kMegabyte, 0.1, 8, noise);
  EXPECT_EQ(run.checkpoints, 2);
  EXPECT_NEAR(run.mean_seconds(), 0.1 + formula_seconds(ExchangeKind::kDirect, plain_cluster(4)) + 0.25,
              1e-9);
  EXPECT_NEAR(run.quantile_seconds(1) - run.quantile_seconds(0.5), 1, 1e-9);
}

// Trainers that are in time have pushed while a late one still computes: the step takes its time, its own push
// of 10 ms, and the answers of 640 ms.
TEST(Simulator, OthersUseTheLinksWhileATrainerIsLate) {
  Noise noise;
  noise.stragglers = 0.002;
  noise.straggler_factor = 100;
  const ClusterParameters cluster = plain_cluster(64);
  const SimulatedRun run = simulate({ExchangeKind::kServer, 1}, cluster, kMegabyte, 0.1, 40, noise);
  ASSERT_GT(run.stragglers, 0);
  ASSERT_LT(run.stragglers, 20);
  EXPECT_LT(run.quantile_seconds(1), 10 + 0.01 * static_cast<double>(run.stragglers) + 0.64 + 1e-9);
  EXPECT_GE(run.quantile_seconds(1), 10 + 0.01 + 0.64 - 1e-9);
  EXPECT_NEAR(run.quantile_seconds(0), 0.1 + 1.28, 1e-9) << "steps without a late one";
}

TEST(Simulator, TenThousandTrainersAndAThousandServersEqualTheFormula) {
  ClusterParameters cluster = plain_cluster(10000);
  cluster.servers = 1000;
  const SimulatedRun run = simulate({ExchangeKind::kServer, 1}, cluster, kMegabyte, 0.1, 1, {});
  const double expected = 0.1 + formula_seconds(ExchangeKind::kServer, cluster);
  EXPECT_NEAR(run.mean_seconds(), expected, 0.001 * expected);
}

// All strategies of ten thousand trainers are simulated with so many messages as take seconds: one exchange of each, and no
// more than 200 million beside them.
TEST(Simulator, MessagesOfAllStrategiesAreBounded) {
  ClusterParameters cluster = plain_cluster(10000);
  cluster.servers = 1000;
  cluster.chunk_bytes = 1e5;
  const double share = 2e8 / static_cast<double>(exchange_catalog().size());
  double messages = 0, once = 0;
  for (const ExchangeEntry& entry : exchange_catalog()) {
    for (int64_t period : {1, 16}) {
      const int64_t steps = affordable_steps({entry.exchange, period}, cluster, kMegabyte, share);
      EXPECT_EQ(steps % period, 0) << entry.name;
      EXPECT_GE(steps, period);
      EXPECT_LE(steps, 112);
      if (period > 1) continue;
      const double exchange = exchange_messages(entry.exchange, cluster, kMegabyte);
      messages += exchange * static_cast<double>(steps);
      once += exchange;
    }
  }
  EXPECT_LE(messages, 2e8 + once);
  EXPECT_LE(once, 6e8);
  EXPECT_EQ(affordable_steps({ExchangeKind::kRing, 1}, plain_cluster(8), kMegabyte, share), 100);
}

}  // namespace
}  // namespace ps::simulator_test
