// Rows that travel in fewer bytes: the same bits on any servers, errors that come back, and the bytes
// counted.
#include <array>
#include <cmath>

#include "cluster.h"
#include "codec/residual_rows.h"

namespace ps {
namespace {

SyntheticJob job_of(RowType pull, RowType push) {
  SyntheticJob job;
  job.optimizer = {{"type", "adagrad"}, {"learning_rate", 0.05}};
  job.types.pull = holds_weights(pull) ? pull : RowType::kF32;
  job.types.push = push;
  return job;
}

class EveryRowType : public testing::TestWithParam<RowType> {};

TEST_P(EveryRowType, HasTheSameBitsOnAnyServers) {
  for (auto [pull, push] : {std::pair(GetParam(), RowType::kF32), std::pair(RowType::kF32, GetParam()),
                            std::pair(GetParam(), GetParam())}) {
    SyntheticJob job = job_of(pull, push);
    const std::vector<float> one = ShardCluster(job, {1, 1, 0}).train();
    expect_same_bits(one, ShardCluster(job, {3, 2, 2}).train());
    const std::vector<float> local = train_locally(job);
    double worst = 0;
    for (size_t i = 0; i < one.size(); ++i) worst = std::max<double>(worst, std::fabs(one[i] - local[i]));
    EXPECT_EQ(worst > 0, job.types.pull != RowType::kF32 || job.types.push != RowType::kF32);
    EXPECT_LT(worst, 0.2);
  }
}

TEST_P(EveryRowType, HasTheSameBitsOnAnyServersWithThreeTrainersAndClipping) {
  SyntheticJob job = job_of(GetParam(), GetParam());
  job.optimizer["clip_global_norm"] = 0.5;
  job.steps = {{4, 2}, {5, 0}, {1, 3}};
  expect_same_bits(ShardCluster(job, {1, 1, 0}).train(), ShardCluster(job, {3, 2, 2}, /*seed=*/2).train());
}

TEST_P(EveryRowType, ChangesNoBitUnderFaults) {
  SyntheticJob job = job_of(GetParam(), GetParam());
  job.steps = {{6, 4}, {5, 5}};
  expect_no_bit_changes_under_faults(job, 4);
}

// Errors that are dropped for want of memory are the same on any servers, too.
TEST_P(EveryRowType, HasTheSameBitsWithLittleMemoryForErrors) {
  SyntheticJob job = job_of(GetParam(), GetParam());
  job.types.error_bytes = 2000;
  uint64_t dropped[2] = {};
  std::vector<float> weights[2];
  for (int i = 0; i < 2; ++i) {
    ShardCluster cluster(job, {i == 0 ? 1 : 3, 1, i});
    cluster.spawn(0, [&](RemoteStore& store) {
      run_trainer(store, store.group(), store.run(), job, 0);
      weights[i] = all_weights(store);
      dropped[i] = store.errors_dropped();
    });
    cluster.run();
  }
  expect_same_bits(weights[0], weights[1]);
  EXPECT_EQ(dropped[0], dropped[1]);
  EXPECT_EQ(dropped[0] > 0, GetParam() != RowType::kF32);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryRowType, testing::ValuesIn(kRowTypes),
                         [](const auto& each) { return std::string(row_type_name(each.param)); });

// One parameter of rows, one of its keys a step.
struct Rows {
  explicit Rows(std::vector<uint64_t> keys) : plans(5) { plans[0].keys = std::move(keys); }

  void push(RemoteStore& store, float gradient) {
    store.pull(plans, PullMode::kTrain, views);
    std::fill_n(views[0].row_gradients, 3 * plans[0].keys.size(), gradient);
    std::fill_n(views[2].gradient, 40000, gradient);
    std::fill_n(views[3].gradient, 5, gradient);
    store.push(plans, views, {1, 0});
  }

  std::vector<KeyPlan> plans;
  std::vector<ParameterView<float>> views;
};

// Gradients so that each is rounded down by a third of a unit: without feedback, all steps together would be
// off by as much a step.
TEST(ErrorFeedback, NoStepsErrorIsLost) {
  constexpr int kSteps = 60;
  SyntheticJob job;
  job.optimizer = {{"type", "sgd"}, {"learning_rate", 1}};
  job.types.push = RowType::kBf16;
  const float gradient = 0.01f * (1 + 0x1p-8f / 1.5f);
  ShardCluster cluster(job, {2, 1, 1});
  cluster.spawn(0, [&](RemoteStore& store) {
    const std::vector<float> before = all_weights(store);
    std::array<float, 3> old_row, row;
    Rows rows({77});
    store.read_rows(0, rows.plans[0].keys, old_row.data());
    for (int step = 0; step < kSteps; ++step) rows.push(store, gradient);
    store.read_rows(0, rows.plans[0].keys, row.data());
    for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(old_row[j] - row[j], kSteps * gradient, 1e-4);
    std::vector<float> matrix(40000), old_matrix(before.end() - 40009, before.end() - 9);
    store.read_all(2, matrix.data());
    for (size_t i = 0; i < matrix.size(); i += 997) {
      EXPECT_NEAR(old_matrix[i] - matrix[i], kSteps * gradient, 1e-4);
    }
  });
  cluster.run();
}

TEST(ResidualRows, KeepsWhatIsUsedAndDropsTheOldest) {
  constexpr int64_t kWidth = 4;
  ResidualRows memory(kWidth, 20 * KeyedRows::row_bytes(kWidth));
  std::vector<float*> errors;
  for (uint64_t step = 0; step < 100; ++step) {
    const std::vector<uint64_t> keys = {1, 1000 + step};  // one that always comes, others that never do again
    memory.find(keys, errors);
    EXPECT_EQ(errors[0][kWidth - 1], static_cast<float>(step));
    EXPECT_EQ(errors[1][0], 0);
    errors[0][kWidth - 1] += 1;
    EXPECT_LE(memory.rows(), 22u);
    EXPECT_EQ(memory.rows() + memory.dropped(), step + 2);
  }
  EXPECT_GT(memory.dropped(), 0u);
}

TEST(ResidualRows, AStepLargerThanTheLimitKeepsItsErrorsApart) {
  ResidualRows memory(1, 1);
  std::vector<uint64_t> keys(1000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * i;
  std::vector<float*> errors;
  memory.find(keys, errors);
  for (size_t i = 0; i < keys.size(); ++i) *errors[i] = static_cast<float>(i);
  memory.find(keys, errors);
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(*errors[i], static_cast<float>(i));
}

// The bytes of a key at the frame layer, both ways, headers and padding included.
class WireBytes {
 public:
  WireBytes(int64_t cols, RowTypes types) {
    job_.types = types;
    cluster_ = std::make_unique<ShardCluster>(job_, ShardClusterSize{1, 1, 0});
    cluster_->served().parameters = [=](const DataSchema&) { return parameters(cols); };
    cols_ = cols;
  }

  struct Traffic {
    double pull = 0, push = 0;
  };

  Traffic per_key(const std::vector<uint64_t>& keys) {
    Traffic traffic;
    SimHost& host = cluster_->network().host("trainer0");
    host.spawn([&] {
      RemoteStore store(host, cluster_->options(0), {}, parameters(cols_), job_.types);
      std::vector<KeyPlan> plans(1);
      plans[0].keys = keys;
      std::vector<ParameterView<float>> views;
      const uint64_t start = bytes();
      store.pull(plans, PullMode::kTrain, views);
      const uint64_t pulled = bytes();
      std::fill_n(views[0].row_gradients, keys.size() * static_cast<size_t>(cols_), 1.0f);
      store.push(plans, views, {1, 0});
      std::vector<float> row(static_cast<size_t>(cols_));
      store.read_rows(0, {keys.data(), 1}, row.data());  // waits for the push, and costs some 300 bytes
      const uint64_t pushed = bytes();
      traffic.pull = static_cast<double>(pulled - start) / static_cast<double>(keys.size());
      traffic.push = static_cast<double>(pushed - pulled) / static_cast<double>(keys.size());
    });
    cluster_->run();
    return traffic;
  }

 private:
  static std::vector<ParameterSpec> parameters(int64_t cols) {
    return {synthetic_parameter("table", ParameterKind::kRows, true, 0, cols)};
  }
  uint64_t bytes() {
    const NetCounters& counters = cluster_->shards()[0]->net_counters();
    return counters.bytes_received + counters.bytes_sent;
  }

  SyntheticJob job_;
  int64_t cols_;
  std::unique_ptr<ShardCluster> cluster_;
};

// 10,000 keys of 4 million, ascending, as a batch has them.
std::vector<uint64_t> sorted_keys() {
  std::vector<uint64_t> keys;
  Random random(5, 5);
  for (uint64_t key = random.below(800); keys.size() < 10000; key += 1 + random.below(799))
    keys.push_back(key);
  return keys;
}

TEST(WireBytes, AKeyOfWidthOneTakesHalfOfKeyAndValue) {
  WireBytes::Traffic traffic = WireBytes(1, {}).per_key(sorted_keys());
  RecordProperty("pull_bytes_per_key", std::to_string(traffic.pull));
  RecordProperty("push_bytes_per_key", std::to_string(traffic.push));
  EXPECT_LT(traffic.pull, 0.51 * (8 + 4));
  EXPECT_LT(traffic.push, 0.35 * (8 + 4)) << "keys that were pulled do not go out again";
  EXPECT_LT(traffic.pull + traffic.push, 0.5 * 2 * (8 + 4));
}

TEST(WireBytes, AKeyOfWidth16WithHalvesTakesHalfOfKeyAndValues) {
  WireBytes::Traffic traffic =
      WireBytes(16, {.pull = RowType::kF16, .push = RowType::kF16}).per_key(sorted_keys());
  EXPECT_LT(traffic.pull, 0.5 * (8 + 64));
  EXPECT_LT(traffic.push, 0.47 * (8 + 64));
}

// Also where keys are hashes, of which no bit can be spared.
TEST(WireBytes, ScatteredKeysOfWidth16WithHalvesStayBelowTheBar) {
  std::vector<uint64_t> keys = sorted_keys();
  for (uint64_t& key : keys) key = hash_key(key);
  std::ranges::sort(keys);
  WireBytes::Traffic traffic = WireBytes(16, {.pull = RowType::kF16, .push = RowType::kF16}).per_key(keys);
  EXPECT_LT(traffic.pull, 0.6 * (8 + 64));
  EXPECT_LT(traffic.push, 0.47 * (8 + 64));
}

}  // namespace
}  // namespace ps
