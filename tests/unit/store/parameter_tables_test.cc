#include "store/parameter_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "store/dense_bytes.h"

namespace ps::parameter_tables_test {
namespace {

using testing::ElementsAre;

OptimizerPlan momentum() {
  return make_optimizer_plan({{"type", "momentum"}, {"momentum", 0.5}, {"learning_rate", 1}}, "sum");
}

// A matrix, rows of a dense and of a sparse table.
std::vector<ParameterSpec> specs() {
  return {synthetic_parameter("w", ParameterKind::kMatrix, false, 10, 4),
          synthetic_parameter("dense", ParameterKind::kRows, false, 20'000, 2),
          synthetic_parameter("sparse", ParameterKind::kRows, true, 20'000, 2)};
}

// Counts what a snapshot gives.
class Taken final : public SnapshotTarget {
 public:
  void add_rows(const TableLayout& layout, uint32_t, SnapshotRows&& rows) override {
    names_.insert(layout.name);
    num_rows_ += rows.size();
  }
  void add_dense(const TableLayout& layout, const BlockCyclicRows& blocks,
                 std::vector<float> floats) override {
    names_.insert(layout.name);
    EXPECT_EQ(static_cast<int64_t>(floats.size()), blocks.own_rows() * layout.values());
  }

  std::set<std::string> names_;
  uint64_t num_rows_ = 0;
};

class ParameterTablesTest : public testing::Test {
 protected:
  void train(ParameterTables& tables, size_t parameter, const std::vector<uint64_t>& keys) {
    Table& table = *tables.table(parameter);
    std::vector<float*> rows(keys.size());
    table.pull(keys, device_, rows);
    const std::vector<float> gradients(keys.size() * 2, 1.0f);
    const KeyedGradients piece{keys, rows, gradients.data()};
    table.push({&piece, 1}, 1, 1, device_);
  }

  std::vector<float> read(const ParameterTables& tables, size_t parameter, uint64_t key) {
    std::vector<float> weights(2);
    tables.table(parameter)->read_rows({&key, 1}, weights.data());
    return weights;
  }

  Device device_{2, best_cpu_level()};
};

TEST_F(ParameterTablesTest, EveryKeyIsOfOneShard) {
  constexpr int kShards = 3;
  for (size_t parameter : {1, 2}) {
    std::vector<int> owners(20'000);
    for (int shard = 0; shard < kShards; ++shard) {
      const ParameterTables tables(specs(), momentum(), {.place = {kShards, shard, kShards, shard}}, device_);
      for (uint64_t key = 0; key < owners.size(); ++key) {
        const auto foreign = tables.foreign_key(parameter, {&key, 1});
        EXPECT_EQ(foreign.value_or(key), key);
        owners[key] += !foreign;
      }
    }
    EXPECT_THAT(owners, testing::Each(1)) << parameter;
  }
}

TEST_F(ParameterTablesTest, ShardHasTheTablesOfItsPlaceAlone) {
  const ParameterTables dense(specs(), momentum(), {.place = {1, 0, 1, -1}}, device_);
  const ParameterTables sparse(specs(), momentum(), {.place = {1, -1, 1, 0}}, device_);
  EXPECT_EQ(dense.layouts().size(), 2);
  EXPECT_EQ(dense.table(2), nullptr);
  EXPECT_EQ(dense.optimizer(2), nullptr);
  EXPECT_EQ(sparse.layouts().size(), 1);
  EXPECT_NE(sparse.table(2), nullptr);
  EXPECT_EQ(dense.memory_bytes(), dense_bytes(specs(), momentum(), dense.place()).total);
}

TEST_F(ParameterTablesTest, TablesMadeAgainAreAsTheyWereAtFirst) {
  ParameterTables tables(specs(), momentum(), {.array_bytes = 1 << 20}, device_);
  for (size_t parameter : {1, 2}) {
    const std::vector<float> before = read(tables, parameter, 7);
    train(tables, parameter, {7, 9});
    EXPECT_NE(read(tables, parameter, 7), before);
    EXPECT_EQ(tables.optimizer(parameter)->steps(), 1);
    tables.make_again();
    EXPECT_EQ(read(tables, parameter, 7), before);
    EXPECT_EQ(tables.optimizer(parameter)->steps(), 0);
  }
  EXPECT_EQ(tables.table(2)->size(), 0);
}

TEST_F(ParameterTablesTest, SnapshotGivesAllTablesWhileTheyAreTrained) {
  ParameterTables tables(specs(), momentum(), {}, device_);
  std::vector<uint64_t> keys(1000);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i * 7;
  train(tables, 2, keys);
  Taken abandoned, taken;
  tables.begin_snapshot(1 << 20, abandoned);
  tables.begin_snapshot(1 << 20, taken);
  train(tables, 1, keys);
  train(tables, 2, {1, 2, 3});
  while (tables.sweep_snapshot(10)) continue;
  EXPECT_THAT(taken.names_, ElementsAre("dense", "sparse", "w"));
  EXPECT_EQ(taken.num_rows_, keys.size()) << "rows that were made later are left out";
  EXPECT_EQ(abandoned.num_rows_, 0) << "its snapshot ended before it was swept";
}

TEST(DenseBytes, CountsWeightsStateAndGradientsOfMatrices) {
  const std::vector<ParameterSpec> all = specs();
  const DenseBytes bytes = dense_bytes(all, momentum(), {}),
                   buffered = dense_bytes(all, momentum(), {}, true);
  EXPECT_EQ(bytes.total, (10 * 4 + 20'000 * 2) * 2 * sizeof(float));
  EXPECT_EQ(buffered.total, bytes.total + 10 * 4 * sizeof(float));
  EXPECT_EQ(bytes.worst, &all[1]);
  EXPECT_EQ(dense_bytes(all, momentum(), {1, -1, 1, 0}).total, 0);
}

}  // namespace
}  // namespace ps::parameter_tables_test
