// Trainers with copies of their own, and servers, that crash and come again: what the checkpoints have of
// the copies, of their optimizers and of the schedule.
//
//   PS_SIM_SEED=17 sim_geo_recovery    that seed alone
//   PS_SIM_SEEDS=5000 sim_geo_recovery more of them
#include <set>

#include "recovering_cluster.h"

namespace ps {
namespace {

// The choices of a seed, of one trainer.
struct Plan : RecoveryPlan {
  explicit Plan(Random& random) : RecoveryPlan(random) {
    const char* const kOptimizers[] = {
        "sgd", "momentum", "adagrad", "decayed_adagrad", "rmsprop", "adadelta", "adam", "adamax", "ftrl"};
    job.optimizer = {{"type", kOptimizers[draw(random, 0, 8)]}, {"learning_rate", 0.05}, {"l2", 0.001}};
    job.optimizer["schedule"] = {{"type", "poly"}, {"a", 0.01}, {"b", 0.5}};
    if (draw(random, 0, 1) == 1) job.optimizer["l1"] = 0.0005;
    if (draw(random, 0, 2) == 0) job.optimizer["clip_global_norm"] = 0.5;
    job.small = true;
    job.consistency.async = true;
    draw_steps(random, job, 1, 4, 12);
    geo = LocalSgdOptions{.period = draw(random, 1, 4), .mean = draw(random, 0, 1) == 0};
    steps = draw(random, 1, 4);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 3) == 0;
    crashes = draw(random, 2, 5);
    if (draw(random, 0, 3) == 0) job.types.push = RowType::kBf16;
    job.types.state_chunk_bytes = draw(random, 0, 1) == 1 ? 1000 : 10000;
  }
};

// The weights of the undisturbed run after each pass, and how long it takes; with checkpoints at the end of
// passes alone.
std::map<int64_t, std::vector<float>> train_calmly(RecoveryPlan plan, uint64_t seed, Time& took) {
  plan.steps = 0;
  plan.durable = false;
  const ScratchFolder folder;
  Totals none;
  RecoveringCluster calm(plan, folder.path(), seed, none);
  calm.start_trainers();
  calm.run();
  took = calm.network().now();
  const std::vector<std::vector<float>> alone = train_passes_locally(plan.job);
  for (const auto& [pass, weights] : calm.passes()) {
    if (plan.job.types.push == RowType::kF32) expect_same_bits(alone[static_cast<size_t>(pass)], weights);
  }
  return calm.passes();
}

// The passes that the cluster has ended, including the last one, have these weights.
void expect_passes(const std::map<int64_t, std::vector<float>>& expected, const RecoveringCluster& cluster) {
  ASSERT_TRUE(cluster.passes().contains(expected.rbegin()->first));
  for (const auto& [pass, weights] : cluster.passes()) {
    SCOPED_TRACE(cat("pass ", pass));
    expect_same_bits(expected.at(pass), weights);
  }
}

void run_seed(uint64_t seed, Totals& totals) {
  Random random(seed, 0);
  const Plan plan(random);
  Time calm_time{};
  const auto expected = train_calmly(plan, seed, calm_time);
  const ScratchFolder folder;
  RecoveringCluster cluster(plan, folder.path(), seed, totals);
  cluster.train_through_crashes(calm_time, random);
  expect_passes(expected, cluster);
}

TEST(GeoRecovery, WhoeverCrashesATrainerAloneEndsAsIfNobodyHad) {
  Totals totals;
  const bool many = many_seeds_pass([&](uint64_t seed) { run_seed(seed, totals); });
  totals.print();
  if (!many) return;
  EXPECT_GT(totals.server_crashes, 50u);
  EXPECT_GT(totals.trainer_crashes, 20u);
  EXPECT_GT(totals.went_back, 30u) << "nobody ever went back: the test proves nothing";
}

// Everything is killed at some time, and goes on with other servers.
void move_all(uint64_t seed, uint64_t& went_on) {
  Random random(seed, 1);
  Plan plan(random);
  Time calm_time{};
  const auto expected = train_calmly(plan, seed, calm_time);
  const ScratchFolder folder;
  Totals none;
  {
    RecoveringCluster cluster(plan, folder.path(), seed, none);
    cluster.start_trainers();
    cluster.network().run_for(seconds_duration(to_seconds(calm_time) * (0.3 + 0.6 * random.uniform())));
    cluster.stop();
  }
  static_cast<ClusterSize&>(plan) = ClusterSize(random);
  RecoveringCluster other(plan, folder.path(), seed + 1, none, /*resume=*/true);
  other.geo_body = [&, body = other.geo_body](LocalSgdStore& store, int rank) {
    went_on += store.remote().run().position().batches > 0;
    body(store, rank);
  };
  other.start_trainers();
  other.run();
  expect_passes(expected, other);
}

TEST(GeoRecovery, OnOtherServersATrainerAloneEndsAsIfNothingHadBeen) {
  uint64_t went_on = 0;
  const auto run = [&](uint64_t seed) {
    if (seed % 3 == 0) move_all(seed, went_on);  // for the sake of time
  };
  if (!many_seeds_pass(run)) return;
  EXPECT_GT(went_on, 15u) << "too few went on in the midst of the run";
}

// ---- several trainers

constexpr int64_t kSteps = 30;

// Each trainer has keys of its own in one table, and differences are added: so each has the bits that it has
// alone.
RecoveryPlan apart_plan(Random& random, Json optimizer, int trainers) {
  RecoveryPlan plan(random);
  plan.job.optimizer = std::move(optimizer);
  plan.job.consistency.async = true;
  plan.job.steps.assign(static_cast<size_t>(trainers), {static_cast<int>(kSteps)});
  plan.job.types.state_chunk_bytes = 200;
  plan.geo = LocalSgdOptions{.period = 2, .mean = false};
  plan.own_parameters = {synthetic_parameter("table", ParameterKind::kRows, true, 0, 3)};
  return plan;
}

std::vector<uint64_t> keys_of(int rank) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 20; ++key) keys.push_back(1000 * static_cast<uint64_t>(rank) + key);
  return keys;
}

void train_apart(ParameterStore& store, int rank, int64_t step) {
  std::vector<KeyPlan> plans(1);
  for (uint64_t key : keys_of(rank)) {
    if ((key + static_cast<uint64_t>(step)) % 3 == 0) plans[0].keys.push_back(key);
  }
  std::vector<ParameterView<float>> views;
  store.pull(plans, PullMode::kTrain, views);
  for (size_t n = 0; n < plans[0].keys.size(); ++n) {
    for (size_t j = 0; j < 3; ++j) {
      views[0].row_gradients[3 * n + j] =
          SyntheticBatch::gradient(rank, step, 10 * plans[0].keys[n] + j, views[0].rows[n][j]);
    }
  }
  store.push(plans, views, {10 + rank, 0});
}

std::vector<float> weights_of(ParameterStore& store, int rank) {
  const std::vector<uint64_t> keys = keys_of(rank);
  std::vector<float> weights(3 * keys.size());
  store.read_rows(0, keys, weights.data());
  return weights;
}

std::vector<float> train_apart_locally(const RecoveryPlan& plan, int rank) {
  Device device(1, best_cpu_level());
  LocalStore store(plan.parameters(), plan.job.plan(), UINT64_MAX, device);
  for (int64_t step = 0; step < kSteps; ++step) train_apart(store, rank, step);
  store.end_pass(0);
  return weights_of(store, rank);
}

// Runs trainers until all of the job is killed in its midst, then others to the end.
struct Moved {
  std::map<int, std::vector<float>> weights;  // of the keys of each trainer, at the end
  std::map<int, int64_t> begun_at;            // batch where those who went on began
  std::map<int, double> first_rate;           // of these
  std::set<double> rates;                     // of those before
  int64_t steps = 0;                          // of the first of them
};

void move_apart(const RecoveryPlan& before, const RecoveryPlan& after, uint64_t seed, Moved& moved) {
  const ScratchFolder folder;
  Totals none;
  {
    RecoveringCluster cluster(before, folder.path(), seed, none);
    cluster.geo_body = [&](LocalSgdStore& store, int rank) {
      if (!store.remote().run().position().resumed) store.remote().group().barrier();
      for (int64_t step = 0; step < kSteps; ++step) {
        train_apart(store, rank, step);
        moved.rates.insert(store.learning_rate());
        moved.steps += rank == 0;
        store.remote().checkpoints().wait([] { return false; }, 0.01 * (1 + rank));
      }
    };
    cluster.start_trainers();
    ASSERT_TRUE(cluster.network().run_until([&] { return moved.steps == kSteps / 2; }, Time() + 60s));
    cluster.stop();
  }
  RecoveringCluster cluster(after, folder.path(), seed + 1, none, /*resume=*/true);
  cluster.geo_body = [&](LocalSgdStore& store, int rank) {
    const RunPosition start = store.remote().run().position();
    if (!start.resumed) store.remote().group().barrier();
    moved.begun_at[rank] = start.batches;
    for (int64_t step = start.batches; step < kSteps; ++step) {
      train_apart(store, rank, step);
      moved.first_rate.try_emplace(rank, store.learning_rate());
    }
    store.end_pass(0);
    store.remote().group().barrier();
    moved.weights[rank] = weights_of(store, rank);
    store.remote().run().end_run();
  };
  cluster.start_trainers();
  cluster.run();
}

TEST(GeoRecovery, EachOfSeveralTrainersGetsItsOwnBack) {
  const Json adam = {{"type", "adam"},
                     {"learning_rate", 0.05},
                     {"l2", 0.01},
                     {"schedule", {{"type", "linear"}, {"a", 0.00001}, {"b", 0.001}}}};
  int went_on = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Random random(seed, 2);
    const RecoveryPlan before = apart_plan(random, adam, 3), after = apart_plan(random, adam, 3);
    Moved moved;
    move_apart(before, after, seed, moved);
    for (int rank = 0; rank < 3; ++rank) {
      expect_same_bits(train_apart_locally(before, rank), moved.weights.at(rank));
      went_on += moved.begun_at.at(rank) > 0;
    }
  }
  EXPECT_GT(went_on, 15) << "too few went on in the midst of the run";
}

TEST(GeoRecovery, TheScheduleGoesOnWithAnotherNumberOfTrainers) {
  const Json sgd = {{"type", "sgd"},
                    {"learning_rate", 0.05},
                    {"schedule", {{"type", "linear"}, {"a", 0.00001}, {"b", 0.001}}}};
  for (const auto& [before, after] : {std::pair(3, 2), std::pair(1, 3), std::pair(2, 1)}) {
    SCOPED_TRACE(cat(before, " trainers, then ", after));
    Random random(3, static_cast<uint64_t>(before));
    const RecoveryPlan one = apart_plan(random, sgd, before), other = apart_plan(random, sgd, after);
    Moved moved;
    move_apart(one, other, 1, moved);
    ASSERT_EQ(moved.first_rate.size(), static_cast<size_t>(after));
    for (const auto& [rank, rate] : moved.first_rate) {
      EXPECT_LT(rate, 0.05) << "trainer " << rank << " begins anew";
      EXPECT_EQ(rate, moved.first_rate.at(0));
      EXPECT_LT(*moved.rates.begin() - 0.0003, rate) << "further than anybody was";
    }
  }
}

// ---- one of several

// Kills trainer 0 of two in the midst of a pass; how often somebody went back.
uint64_t replace_one(Json optimizer) {
  Random random(5, 5);
  RecoveryPlan plan = apart_plan(random, std::move(optimizer), 2);
  const ScratchFolder folder;
  Totals totals;
  RecoveringCluster cluster(plan, folder.path(), 1, totals);
  std::map<int, std::vector<float>> weights;
  cluster.geo_body = [&](LocalSgdStore& store, int rank) {
    const RunPosition start = store.remote().run().position();
    if (!start.resumed) store.remote().group().barrier();
    for (int64_t step = start.pass_batches; step < kSteps; ++step) {
      train_apart(store, rank, step);
      store.remote().checkpoints().wait([] { return false; }, 0.05);
    }
    store.end_pass(0);
    weights[rank] = weights_of(store, rank);
    store.remote().run().end_run();
  };
  for (Duration when : {330ms, 700ms, 1100ms}) {
    cluster.network().at(Time() + when, [&] { cluster.crash_trainer(0, 20ms, /*power_fails=*/false); });
  }
  cluster.start_trainers();
  cluster.run();
  EXPECT_EQ(totals.trainer_crashes, 3u);
  for (int rank = 0; rank < 2 && totals.went_back > 0; ++rank) {
    expect_same_bits(train_apart_locally(plan, rank), weights[rank]);
  }
  return totals.went_back;
}

TEST(GeoRecovery, AllGoBackWhereTheOptimizerOfOneThatDiedIsLost) {
  EXPECT_GT(replace_one({{"type", "momentum"}, {"learning_rate", 0.05}}), 0u);
  EXPECT_GT(replace_one({{"type", "sgd"},
                         {"learning_rate", 0.05},
                         {"schedule", {{"type", "linear"}, {"a", 0.00001}, {"b", 0.001}}}}),
            0u);
}

TEST(GeoRecovery, NobodyGoesBackWhereNothingIsLost) {
  EXPECT_EQ(replace_one({{"type", "sgd"}, {"learning_rate", 0.05}}), 0u);
  EXPECT_EQ(replace_one({{"type", "sgd"},
                         {"learning_rate", 0.05},
                         {"schedule", {{"type", "pass_manual"}, {"segments", {{1, 1.0}, {2, 0.5}}}}}}),
            0u);
}

}  // namespace
}  // namespace ps
