// Results must not depend on the number of threads, on tests in between, or on the place where rows are
// stored.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/cpu.h"
#include "base/file.h"
#include "base/random.h"
#include "config/spec.h"
#include "data/reader.h"
#include "feed/reader_source.h"
#include "store/local_store.h"
#include "train/trainer.h"

namespace ps {
namespace {

// Wide & deep over one sparse slot, with decay and momentum, so that rows that sit out must be caught up.
Json wide_and_deep(bool sparse) {
  return {
      {"layers",
       Json::array(
           {{{"name", "wide"}, {"type", "fc"}, {"input", "features"}, {"size", 1}, {"sparse_update", sparse}},
            {{"name", "deep"},
             {"type", "fc"},
             {"input", "features"},
             {"size", 16},
             {"activation", "tanh"},
             {"sparse_update", sparse}},
            {{"name", "deeper"}, {"type", "fc"}, {"input", "deep"}, {"size", 1}},
            {{"name", "score"}, {"type", "add"}, {"input", {"wide", "deeper"}}}})},
      {"cost", {{"type", "binary_cross_entropy"}, {"input", "score"}}},
      {"evaluators", {"auc"}}};
}

std::string make_data(int examples, int dim) {
  Random random(7, 7);
  std::string text;
  for (int i = 0; i < examples; ++i) {
    text += random.below(2) ? "1" : "0";
    std::vector<int> ids;
    for (int k = 0; k < 8; ++k) ids.push_back(static_cast<int>(std::pow(random.uniform(), 3) * dim));
    for (int id : ids) text += cat(" ", id, ":", significant(random.uniform(), 3));
    text += "\n";
  }
  return text;
}

struct Outcome {
  double cost;
  std::vector<float> weights;  // of all ids, column by column of both fc layers
};

struct Way {
  CpuLevel cpu = best_cpu_level();
  bool test_in_between = false;
};

class SameBits : public testing::Test {
 protected:
  static constexpr int kDim = 500;

  SameBits() : path_(testing::TempDir() + "same_bits.libsvm") { write_file(path_, make_data(3000, kDim)); }

  Outcome train(int threads, bool sparse, const Json& optimizer, const Way& way = {}) {
    Device device(threads, way.cpu);
    DataOptions data;
    data.format = "libsvm";
    data.dim = kDim;
    data.batch_size = 64;
    data.shuffle = "full";
    ReaderSettings settings;
    settings.threads = threads;
    settings.passes = 3;
    BatchReader reader(data, {path_}, settings), test_reader(data, {path_}, settings);
    Network<float> network(ModelOptions::spec().parse(wide_and_deep(sparse), "model"), reader.schema(), 1);
    LocalStore store(network.parameters(), make_optimizer_plan(optimizer, "mean", way.cpu), UINT64_MAX,
                     device);
    LocalGroup group;
    Log log("test", LogLevel::kError);
    Reporter reporter(log, ProgressMode::kOff, "");
    Trainer trainer(network, store, device, TrainOptions{}, group, reporter);
    ReaderSource source(network, reader, {.threads = threads}),
        tests(network, test_reader, {.threads = threads});
    auto go_on = [] { return false; };
    Outcome outcome{};
    for (int pass = 0; pass < 3; ++pass) {
      outcome.cost = trainer.train_pass(pass, source, go_on).average_cost;
      if (way.test_in_between) trainer.test(pass, tests, go_on);
    }
    for (size_t p = 0; p < network.parameters().size(); ++p) {
      const ParameterSpec& spec = network.parameters()[p];
      if (spec.kind == ParameterKind::kRows)
        append_weights(store, static_cast<int>(p), spec, outcome.weights);
    }
    return outcome;
  }

  static void append_weights(ParameterStore& store, int p, const ParameterSpec& spec,
                             std::vector<float>& out) {
    std::vector<float> weights(static_cast<size_t>(kDim * spec.cols));
    std::vector<uint64_t> keys(kDim);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
    spec.sparse ? store.read_rows(p, keys, weights.data()) : store.read_all(p, weights.data());
    out.insert(out.end(), weights.begin(), weights.end());
  }

  static void expect_same(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(std::memcmp(&a.cost, &b.cost, sizeof a.cost), 0) << a.cost << " and " << b.cost;
    ASSERT_EQ(a.weights.size(), b.weights.size());
    EXPECT_EQ(std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)), 0);
  }

  const std::string path_;
};

const Json kMomentum = {
    {"type", "momentum"}, {"learning_rate", 0.05}, {"momentum", 0.9}, {"l2", 0.01}, {"l1", 0.0005}};

TEST_F(SameBits, AnyNumberOfThreadsGivesTheSameBits) {
  for (CpuLevel level : possible_levels(cpu_features())) {
    Outcome one = train(1, true, kMomentum, {level});
    expect_same(one, train(2, true, kMomentum, {level}));
    expect_same(one, train(5, true, kMomentum, {level}));
  }
}

// Levels round products of matrices differently; what that grows to in some 140 steps stays as small as
// between sparse and dense training, below.
TEST_F(SameBits, LevelsOfInstructionSetsTrainTheSameModelToRounding) {
  const Outcome baseline = train(2, true, kMomentum, {CpuLevel::kBaseline});
  for (CpuLevel level : possible_levels(cpu_features())) {
    const Outcome outcome = train(2, true, kMomentum, {level});
    EXPECT_NEAR(outcome.cost, baseline.cost, 1e-6) << cpu_level_name(level);
    ASSERT_EQ(outcome.weights.size(), baseline.weights.size());
    for (size_t i = 0; i < baseline.weights.size(); ++i)
      ASSERT_NEAR(outcome.weights[i], baseline.weights[i], 1e-4) << cpu_level_name(level) << ", weight " << i;
  }
}

TEST_F(SameBits, TestingInBetweenChangesNothing) {
  expect_same(train(2, true, kMomentum), train(2, true, kMomentum, {.test_in_between = true}));
}

// Every optimizer that claims to: the same job with and without sparse_update.  The two round differently
// over some 140 steps of float arithmetic, and no weight is larger than a few units.
TEST_F(SameBits, SparseTrainingEqualsDenseTraining) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    if (entry->lazy) continue;
    Json optimizer = {{"type", entry->name}, {"learning_rate", 0.02}, {"l2", 0.01}};
    Outcome sparse = train(2, true, optimizer), dense = train(2, false, optimizer);
    EXPECT_NEAR(sparse.cost, dense.cost, 1e-5) << entry->name;
    ASSERT_EQ(sparse.weights.size(), dense.weights.size());
    for (size_t i = 0; i < dense.weights.size(); ++i) {
      ASSERT_NEAR(sparse.weights[i], dense.weights[i], 1e-4) << entry->name << ", weight " << i;
    }
  }
}

}  // namespace
}  // namespace ps
