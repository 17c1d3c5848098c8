// Tables whose rows come and go: what comes and goes does not depend on who holds the table.
#include "cluster.h"
#include "config/spec.h"
#include "store/local_store.h"

namespace ps {
namespace {

// All that a table's policy decides, and what follows from it.
struct Outcome {
  std::vector<uint64_t> keys;
  std::vector<float> weights;
  RowReport report;
};

Outcome outcome_of(ParameterStore& store, const SyntheticJob& job) {
  return {store.keys(0), all_weights(store, job.small), store.row_report(0)};
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(RowReport::spec().to_json(a.report), RowReport::spec().to_json(b.report));
  expect_same_bits(a.weights, b.weights);
}

Outcome alone(const SyntheticJob& job, int threads = 1) {
  Device device(threads, best_cpu_level());
  LocalStore store(job.parameters(), job.plan(), UINT64_MAX, device);
  LocalGroup group;
  LocalRun run;
  run_trainer(store, group, run, job, 0);
  return outcome_of(store, job);
}

Outcome served(const SyntheticJob& job, int servers, int ports, int sparse_ports, uint64_t seed = 1) {
  ShardCluster cluster(job, {servers, ports, sparse_ports}, seed);
  Outcome outcome;
  for (int rank = 0; rank < job.trainers(); ++rank) {
    cluster.spawn(rank, [&job, &outcome, rank](RemoteStore& store) {
      run_trainer(store, store.group(), store.run(), job, rank);
      if (rank == 0) outcome = outcome_of(store, job);
      store.run().end_run();
    });
  }
  cluster.run();
  return outcome;
}

struct Case {
  const char* name;
  const char* rows;
  std::vector<std::string> happens;  // figures of the report that must not be 0
};

// 300 keys, of which a step has some 37, in partitions of 1 to 9.
const Case kCases[] = {
    {"Expiry", R"({"expire": {"unseen": 1, "below_score": 0.4}, "shrink_steps": 4})", {"expired"}},
    {"CountAndEviction",
     R"({"admission": {"count": 2}, "limit": 64, "when_full": "evict", "decay": 0.5,
         "expire": {"unseen": 0}, "shrink_steps": 5})",
     {"waiting", "expired", "evicted"}},
    {"CountOfFewKeys", R"({"admission": {"count": 3, "max_waiting": 64}})", {"waiting"}},
    {"ProbabilityAndRefusal",
     R"({"admission": {"probability": 0.3}, "limit": 64, "expire": {"below_score": 0.3}})",
     {"refused", "expired"}},
    {"Refusal", R"({"limit": 128, "shrink_passes": 0})", {"refused"}},
    {"Eviction",
     R"({"limit": 128, "when_full": "evict", "score": {"non_click": 0, "click": 1}})",
     {"evicted"}},
};

class EveryPolicy : public testing::TestWithParam<std::tuple<Case, const char*>> {
 protected:
  const Case& what() const { return std::get<0>(GetParam()); }
  SyntheticJob job() const {
    SyntheticJob job;
    job.optimizer = {{"type", std::get<1>(GetParam())}, {"learning_rate", 0.05}, {"l2", 0.001}};
    job.rows = RowPolicy::spec().parse(parse_json(what().rows, "rows"), "rows");
    job.steps = {{9, 8}};
    job.small = true;
    return job;
  }
};

TEST_P(EveryPolicy, HasTheSameRowsOnServersAsInOneProcess) {
  const Outcome local = alone(job());
  for (const std::string& figure : what().happens) {
    EXPECT_GT(RowReport::spec().to_json(local.report)[figure], 0) << figure;
  }
  EXPECT_EQ(local.report.rows, local.keys.size());
  expect_same(local, alone(job(), /*threads=*/3));
  expect_same(local, served(job(), 1, 1, 0));
  expect_same(local, served(job(), 3, 2, 2));
}

TEST_P(EveryPolicy, HasTheSameRowsOnAnyServersWithThreeTrainers) {
  SyntheticJob three = job();
  three.steps = {{4, 5}, {6, 0}, {1, 3}};
  const Outcome one = served(three, 1, 1, 0);
  EXPECT_FALSE(one.keys.empty());
  expect_same(one, served(three, 3, 2, 2, /*seed=*/2));
  expect_same(one, served(three, 2, 3, 0, /*seed=*/3));
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values("momentum", "adagrad")),
                         [](const auto& each) {
                           return cat(std::get<0>(each.param).name, "_", std::get<1>(each.param));
                         });

// Answers that are lost, and pushes that come twice, are no more occurrences.
TEST(Rows, FaultsOfTheNetworkMakeNoneComeOrGo) {
  SyntheticJob job;
  job.rows = RowPolicy::spec().parse(parse_json(kCases[1].rows, "rows"), "rows");
  job.steps = {{6, 4}, {5, 5}, {0, 7}};
  const Outcome calm = served(job, 2, 1, 1);
  uint64_t num_faults = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    ShardCluster cluster(job, {2, 1, 1}, seed);
    cluster.network().set_default_link(
        {.latency = 2ms, .jitter = 5ms, .bytes_per_second = 2e7, .split = true});
    std::vector<SimHost*> hosts = cluster.hosts();
    for (int rank = 0; rank < 3; ++rank) hosts.push_back(&cluster.network().host(cat("trainer", rank)));
    SimFaults faults(cluster.network(), hosts, {.mean_interval = 60ms, .longest = 500ms});
    expect_same_bits(calm.weights, cluster.train());
    num_faults += faults.num_faults();
  }
  EXPECT_GT(num_faults, 15u);
}

TEST(Rows, OfATableWithoutAPolicyThereIsNoReport) {
  ShardCluster cluster(SyntheticJob(), {1, 1, 0});
  cluster.spawn(0, [](RemoteStore& store) {
    EXPECT_THROW(store.row_report(0), Error);
    EXPECT_THROW(store.row_report(99), Error);
  });
  cluster.run();
}

// A trainer counts keys as the server's policy needs it.
TEST(Rows, GradientsWithoutCountsAreRefused) {
  SyntheticJob job;
  job.rows = RowPolicy{};
  ShardCluster cluster(job, {1, 1, 0});
  cluster.spawn(0, [](RemoteStore& store) {
    std::vector<ParameterView<float>> views;
    SyntheticBatch batch(0, 0, /*counted=*/false);
    store.pull(batch.plans, PullMode::kTrain, views);
    batch.fill(0, 0, synthetic_parameters(), views);
    store.push(batch.plans, views, {10, 0});
    try {
      store.end_pass(0);
      ADD_FAILURE() << "taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr("'table' needs counts of its keys"));
    }
  });
  cluster.run();
}

}  // namespace
}  // namespace ps
