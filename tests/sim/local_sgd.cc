// Trainers that train copies of their own, and bring them together now and then.
#include <cmath>

#include "cluster.h"
#include "config/json.h"
#include "config/spec.h"
#include "ps/client/local_sgd_plan.h"
#include "ps/client/local_sgd_store.h"

namespace ps {
namespace {

using testing::ElementsAre;

SyntheticJob geo_job(Json optimizer) {
  SyntheticJob job;
  job.optimizer = std::move(optimizer);
  job.consistency.async = true;
  return job;
}

// A cluster whose servers add.
class GeoCluster {
 public:
  GeoCluster(const SyntheticJob& job, const LocalSgdOptions& options, int servers, int ports,
             int sparse_ports, uint64_t seed = 1)
      : job_(job), options_(options), cluster_(job, {servers, ports, sparse_ports}, seed) {
    cluster_.served().optimizers = addition_plan(best_cpu_level(), job.plan().average);
    cluster_.served().parameters = [this](const DataSchema&) { return without_tuning(specs_); };
  }

  ShardCluster& cluster() { return cluster_; }
  void use(std::vector<ParameterSpec> specs) { specs_ = std::move(specs); }

  using Body = std::function<void(LocalSgdStore&)>;
  void spawn(int rank, Body body) { spawn(cluster_.options(rank), std::move(body)); }
  void spawn(const RemoteOptions& options, Body body) {
    SimHost& host = cluster_.network().host(cat("trainer", options.hello.rank));
    host.spawn([this, options, &host, body = std::move(body)] {
      Device device(1, best_cpu_level());
      LocalStore local(without_policies(specs_), copies_plan(job_.optimizer, job_.plan()), UINT64_MAX,
                       device);
      LocalSgdCopies copies(specs_, options_.period, local);
      RemoteStore remote(host, options, job_.consistency, specs_, job_.types, &copies);
      LocalSgdStore store(options_, copies, remote);
      body(store);
    });
  }

  // The whole job; the servers' weights after it, as each trainer reads them.
  std::vector<std::vector<float>> train() {
    std::vector<std::vector<float>> weights(static_cast<size_t>(job_.trainers()));
    for (int rank = 0; rank < job_.trainers(); ++rank) {
      spawn(rank, [this, rank, &weights](LocalSgdStore& store) {
        run_trainer(store, store.remote().group(), store.remote().run(), job_, rank);
        weights[static_cast<size_t>(rank)] = all_weights(store, job_.small);
        store.remote().group().barrier();
      });
    }
    cluster_.run();
    return weights;
  }

 private:
  const SyntheticJob job_;
  const LocalSgdOptions options_;
  std::vector<ParameterSpec> specs_ = job_.parameters();
  ShardCluster cluster_;
};

class EveryGeoOptimizer : public testing::TestWithParam<const OptimizerEntry*> {};

TEST_P(EveryGeoOptimizer, GivesOneTrainerTheBitsOfOneProcess) {
  SyntheticJob job = geo_job({{"type", GetParam()->name}, {"learning_rate", 0.05}, {"l2", 0.001}});
  job.optimizer["schedule"] = {{"type", "poly"}, {"a", 0.01}, {"b", 0.5}};
  job.optimizer["clip_global_norm"] = 0.5;
  const std::vector<float> local = train_locally(job);
  expect_same_bits(local, GeoCluster(job, {1, true}, 1, 1, 0).train()[0]);
  expect_same_bits(local, GeoCluster(job, {3, false}, 3, 2, 2).train()[0]);
  expect_same_bits(local, GeoCluster(job, {100, true}, 1, 1, 1).train()[0]);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EveryGeoOptimizer, testing::ValuesIn(optimizer_catalog()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST(Geo, TrainersWithUnequalDataEndTogetherWithTheSameWeights) {
  SyntheticJob job = geo_job({{"type", "adagrad"}, {"learning_rate", 0.05}});
  job.steps = {{8, 2}, {6, 3}, {0, 1}};
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    GeoCluster geo(job, {3, true}, 2, 1, 1, seed);
    geo.cluster().network().set_default_link({.latency = 1ms, .jitter = 20ms, .split = true});
    const auto weights = geo.train();
    expect_same_bits(weights[0], weights[1]);
    expect_same_bits(weights[0], weights[2]);
  }
}

// One table of width 1 that begins with zeros.
std::vector<ParameterSpec> one_table() {
  ParameterSpec spec = synthetic_parameter("table", ParameterKind::kRows, true, 0, 1);
  spec.initializer = {};
  return {spec};
}

// Plain descent of rate 1, so that a gradient of -1 counts.
SyntheticJob counting_job(int trainers) {
  SyntheticJob job = geo_job({{"type", "sgd"}, {"learning_rate", 1}});
  job.steps.assign(static_cast<size_t>(trainers), {});
  return job;
}

float pull_one(LocalSgdStore& store, std::vector<KeyPlan>& plans, std::vector<ParameterView<float>>& views) {
  store.pull(plans, PullMode::kTrain, views);
  return views[0].rows[0][0];
}

// One step in which all rows of the plan grow by 1.  With counts, the table has a row policy.
void count_up(ParameterStore& store, const std::vector<uint64_t>& keys,
              const std::vector<KeyCount>& counts = {}, bool shrink = false) {
  std::vector<KeyPlan> plans(1);
  plans[0].keys = keys;
  plans[0].counts = counts;
  std::vector<ParameterView<float>> views;
  store.pull(plans, PullMode::kTrain, views);
  std::fill_n(views[0].row_gradients, keys.size(), -1.0f);
  store.push(plans, views, {.samples = 1, .shrink = shrink});
}

std::vector<float> read(ParameterStore& store, const std::vector<uint64_t>& keys) {
  std::vector<float> rows(keys.size());
  store.read_rows(0, keys, rows.data());
  return rows;
}

// Every difference is added once, whatever the network does: the counts come out, which are exact in floats.
TEST(Geo, EveryDifferenceIsAddedOnceUnderFaults) {
  uint64_t repeated = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    const bool mean = seed % 2 == 0;
    GeoCluster geo(counting_job(4), {1 + static_cast<int64_t>(seed % 3), mean}, 2, 1, 1, seed);
    geo.use(one_table());
    SimNetwork& network = geo.cluster().network();
    network.set_default_link({.latency = 2ms, .jitter = 5ms, .bytes_per_second = 2e7, .split = true});
    std::vector<SimHost*> hosts = geo.cluster().hosts();
    for (int rank = 0; rank < 4; ++rank) hosts.push_back(&network.host(cat("trainer", rank)));
    SimFaults faults(network, hosts, {.mean_interval = 40ms, .longest = 300ms});
    std::vector<float> counts;
    for (int rank = 0; rank < 4; ++rank) {
      geo.spawn(rank, [rank, &counts](LocalSgdStore& store) {
        for (int step = 0; step < 8 * (rank + 1); ++step) {
          count_up(store, {7, 100 + static_cast<uint64_t>(rank)});
        }
        store.end_pass(0);
        if (rank == 0) counts = read(store, {7, 100, 101, 102, 103, 104});
        store.remote().group().barrier();
      });
    }
    geo.cluster().run();
    const float share = mean ? 0.25f : 1;
    EXPECT_THAT(counts, ElementsAre(80 * share, 8 * share, 16 * share, 24 * share, 32 * share, 0));
    for (auto& shard : geo.cluster().shards()) repeated += shard->shard()->counters().pushes_repeated;
  }
  EXPECT_GT(repeated, 0u) << "no push was ever sent twice: the test proves nothing";
}

TEST(Geo, WhatOthersSentIsUsedFromTheNextRoundOn) {
  GeoCluster geo(counting_job(2), {2, false}, 1, 1, 0);
  geo.use(one_table());
  for (int rank = 0; rank < 2; ++rank) {
    geo.spawn(rank, [rank](LocalSgdStore& store) {
      std::vector<KeyPlan> plans(1);
      plans[0].keys = {5};
      std::vector<ParameterView<float>> views;
      if (rank == 0) {
        count_up(store, {5});
        store.remote().group().barrier();
        EXPECT_EQ(read(store, {5})[0], 1) << "what is read from the servers was sent before";
        count_up(store, {5});
        count_up(store, {5});
        store.remote().group().barrier();
        store.remote().group().barrier();
        return;
      }
      EXPECT_EQ(pull_one(store, plans, views), 0);
      store.remote().group().barrier();
      store.remote().group().barrier();
      EXPECT_EQ(pull_one(store, plans, views), 0) << "the round has read the row already";
      count_up(store, {6});
      count_up(store, {6});
      EXPECT_EQ(pull_one(store, plans, views), 3);
      store.remote().group().barrier();
    });
  }
  geo.cluster().run();
}

// At the end of a pass all rows go out that decay has moved.
TEST(Geo, WhatDecayDidToManyRowsIsThereAtTheEndOfThePass) {
  SyntheticJob job = counting_job(1);
  job.optimizer["l2"] = 0.01;
  std::vector<uint64_t> keys((1 << 17) + 1000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 3;
  auto train = [&](ParameterStore& store) {
    for (int step = 0; step < 2; ++step) count_up(store, keys);
    for (int step = 0; step < 4; ++step) count_up(store, {3});
    store.end_pass(0);
    return read(store, keys);
  };
  Device device(1, best_cpu_level());
  LocalStore local(one_table(), job.plan(), UINT64_MAX, device);
  const std::vector<float> expected = train(local);
  GeoCluster geo(job, {2, true}, 1, 1, 1);
  geo.use(one_table());
  geo.spawn(0, [&](LocalSgdStore& store) { expect_same_bits(expected, train(store)); });
  geo.cluster().run();
}

TEST(Geo, WhoTakesARankUpBeginsBehindTheBatchesThatWereSent) {
  SyntheticJob job = counting_job(2);
  GeoCluster geo(job, {3, false}, 1, 1, 0);
  geo.use(one_table());
  geo.spawn(1, [](LocalSgdStore& store) {
    store.remote().group().barrier();
    store.end_pass(0);
    store.remote().group().barrier();
  });
  geo.spawn(0, [&](LocalSgdStore& store) {
    store.remote().group().barrier();
    for (int step = 0; step < 7; ++step) count_up(store, {5});  // six were sent when it goes
  });
  geo.cluster().network().at(5s, [&] {
    geo.spawn(0, [&](LocalSgdStore& store) {
      EXPECT_TRUE(store.remote().run().position().resumed);
      EXPECT_EQ(store.remote().run().position().pass_batches, 6);
      count_up(store, {5});
      store.end_pass(0);
      EXPECT_THAT(read(store, {5}), ElementsAre(7));
      store.remote().group().barrier();
    });
  });
  geo.cluster().run();
}

// Keys that come again and again travel once a round.
TEST(Geo, ExchangesTakeFewBytes) {
  auto bytes = [](int64_t period) {
    GeoCluster geo(counting_job(1), {period, true}, 1, 1, 0);
    geo.use(one_table());
    uint64_t sum = 0;
    geo.spawn(0, [](LocalSgdStore& store) {
      std::vector<uint64_t> keys(10000);
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 3;
      for (int step = 0; step < 20; ++step) count_up(store, keys);
    });
    geo.cluster().run();
    for (auto& shard : geo.cluster().shards()) {
      sum += shard->net_counters().bytes_received + shard->net_counters().bytes_sent;
    }
    return static_cast<double>(sum);
  };
  EXPECT_LT(bytes(10), bytes(1) / 6);
}

// Differences are rounded as gradients are, and what rounding takes goes out with the next ones.
TEST(Geo, DifferencesInHalvesAddUp) {
  SyntheticJob job = counting_job(1);
  job.types.push = RowType::kBf16;
  job.optimizer["learning_rate"] = 0.01 * (1 + 0x1p-8 / 1.5);
  GeoCluster geo(job, {1, true}, 1, 1, 0);
  geo.use(one_table());
  geo.spawn(0, [](LocalSgdStore& store) {
    for (int step = 0; step < 300; ++step) count_up(store, {1});
    store.end_pass(0);
    EXPECT_NEAR(read(store, {1})[0], 300 * 0.01 * (1 + 0x1p-8 / 1.5), 1e-3);
  });
  geo.cluster().run();
}

// The row is 2, 4 and 6 after the exchanges, and training goes on from there; models have the mean.
TEST(Geo, ServersKeepTheMeanOfTheirWeightsAfterEachExchange) {
  for (int64_t begin : {0, 1}) {
    SyntheticJob job = counting_job(1);
    job.optimizer["average"] = {{"begin_step", begin}};
    GeoCluster geo(job, {2, true}, 1, 1, 0);
    geo.use(one_table());
    geo.spawn(0, [begin](LocalSgdStore& store) {
      for (int step = 0; step < 6; ++step) count_up(store, {1});
      EXPECT_EQ(read(store, {1})[0], begin == 0 ? 4 : 5);
      std::vector<KeyPlan> plans(1);
      plans[0].keys = {1};
      std::vector<ParameterView<float>> views;
      EXPECT_EQ(pull_one(store, plans, views), 6);
      count_up(store, {1});
      count_up(store, {1});
      EXPECT_EQ(read(store, {1})[0], begin == 0 ? 5 : 6) << "after a fourth exchange, which gives 8";
    });
    geo.cluster().run();
  }
}

// A row that no exchange has moved counts as it is: 1 after the first exchange, and after the two others.
TEST(Geo, TheMeanCountsRowsThatAnExchangeDoesNotMove) {
  SyntheticJob job = counting_job(1);
  job.optimizer["average"] = Json::object();
  GeoCluster geo(job, {1, true}, 1, 1, 0);
  geo.use(one_table());
  geo.spawn(0, [](LocalSgdStore& store) {
    count_up(store, {1});
    count_up(store, {2});
    count_up(store, {2});
    EXPECT_EQ(read(store, {1})[0], 1);
    EXPECT_EQ(read(store, {2})[0], 1) << "the mean of 0, 1 and 2";
  });
  geo.cluster().run();
}

// A key gets its row with the third show, whichever trainers have shown it.  Only a key with a click has a score above 13.5
// at the shrink: 4 shows without a click, and one with it, are 14.
TEST(Geo, RowsComeAndGoByTheShowsAndClicksOfAllTrainers) {
  GeoCluster geo(counting_job(2), {2, false}, 1, 1, 0);
  std::vector<ParameterSpec> specs = one_table();
  specs[0].row_policy = RowPolicy::spec().parse(
      parse_json(R"({"admission": {"count": 3}, "decay": 1, "score": {"non_click": 1, "click": 10},
                     "expire": {"below_score": 13.5}, "shrink_passes": 0})",
                 "rows"),
      "rows");
  geo.use(specs);
  const KeyCount shown{1, 0}, clicked{1, 1};
  geo.spawn(0, [&](LocalSgdStore& store) {
    for (int batch = 0; batch < 2; ++batch) count_up(store, {7}, {shown});
    EXPECT_THAT(store.keys(0), ElementsAre()) << "two shows are too few";
    EXPECT_EQ(read(store, {7})[0], 0) << "nothing is kept for a key without a row";
    store.remote().group().barrier();
    store.remote().group().barrier();
    EXPECT_THAT(store.keys(0), ElementsAre(7));
    for (int batch = 0; batch < 2; ++batch) count_up(store, {7}, {shown});
    EXPECT_EQ(read(store, {7})[0], 2);
    EXPECT_EQ(store.row_report(0).waiting, 1u) << "key 8";
    for (int batch = 0; batch < 2; ++batch) count_up(store, {9}, {{2, 0}});
    EXPECT_THAT(store.keys(0), ElementsAre(7, 9));
    count_up(store, {9}, {shown}, /*shrink=*/true);
    count_up(store, {9}, {shown});
    EXPECT_THAT(store.keys(0), ElementsAre(7));
    EXPECT_EQ(store.row_report(0).expired, 1u);
    store.end_pass(0);
    store.remote().group().barrier();
  });
  geo.spawn(1, [&](LocalSgdStore& store) {
    store.remote().group().barrier();
    count_up(store, {7, 8}, {clicked, shown});
    EXPECT_EQ(read(store, {7})[0], 0) << "the row begins with the push that admits its key";
    store.remote().group().barrier();
    store.end_pass(0);
    store.remote().group().barrier();
  });
  geo.cluster().run();
}

// One step of a table that has one weight in use; a matrix has no other one.
void step_one(ParameterStore& store, ParameterKind kind, float gradient) {
  std::vector<KeyPlan> plans(1);
  if (kind == ParameterKind::kRows) plans[0].keys = {0};
  std::vector<ParameterView<float>> views;
  store.pull(plans, PullMode::kTrain, views);
  (kind == ParameterKind::kRows ? views[0].row_gradients : views[0].gradient)[0] = gradient;
  store.push(plans, views, {1, 0});
}

float read_one(ParameterStore& store, ParameterKind kind) {
  if (kind == ParameterKind::kRows) return read(store, {0})[0];
  float weight = 0;
  store.read_all(0, &weight);
  return weight;
}

// Each trainer moves the weight from 0 to `own`, without having seen what the other did.  A step without a gradient then
// leaves the sum of both as it is: ftrl alone would make it the weight of its own state, `own`, again.
void train_by_state(const ParameterSpec& spec) {
  constexpr float kRate = 0.5f, kL1 = 0.01f, kOwn = (1 - kL1) * kRate / 2;
  SyntheticJob job = geo_job({{"type", "ftrl"}, {"learning_rate", kRate}, {"l1", kL1}});
  job.steps.assign(2, {});
  GeoCluster geo(job, {1, false}, 1, 1, 0);
  geo.use({spec});
  for (int rank = 0; rank < 2; ++rank) {
    geo.spawn(rank, [rank, kind = spec.kind](LocalSgdStore& store) {
      std::vector<KeyPlan> plans(1);
      if (kind == ParameterKind::kRows) plans[0].keys = {0};
      std::vector<ParameterView<float>> views;
      store.pull(plans, PullMode::kTrain, views);  // 0: what the other sends later is not in this round
      store.remote().group().barrier();
      if (rank == 0) step_one(store, kind, -1);
      store.remote().group().barrier();
      if (rank == 1) step_one(store, kind, -1);
      EXPECT_NEAR(read_one(store, kind), (rank == 0 ? 1 : 2) * kOwn, 1e-6);
      store.remote().group().barrier();
      for (int again = 0; again < 2; ++again) {
        step_one(store, kind, 0);
        EXPECT_NEAR(read_one(store, kind), 2 * kOwn, 1e-6) << "trainer " << rank;
      }
      store.remote().group().barrier();
      if (rank == 0) step_one(store, kind, -1);
      store.remote().group().barrier();
      EXPECT_GT(read_one(store, kind), 2.2f * kOwn) << "nothing is learned any more";
      store.remote().group().barrier();
    });
  }
  geo.cluster().run();
}

TEST(Geo, OptimizersThatMakeWeightsFromStateGoOnFromThoseOfOthers) {
  for (const bool sparse : {true, false}) {
    ParameterSpec rows = synthetic_parameter("rows", ParameterKind::kRows, sparse, sparse ? 0 : 3, 1);
    rows.initializer = {};
    train_by_state(rows);
  }
  ParameterSpec matrix = synthetic_parameter("matrix", ParameterKind::kMatrix, false, 1, 1);
  matrix.initializer = {};
  train_by_state(matrix);
}

}  // namespace
}  // namespace ps
