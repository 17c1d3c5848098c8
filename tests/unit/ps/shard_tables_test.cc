// Row pointers that a shard's tables keep from a pull to its push.
#include "ps/server/shard_tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "config/json.h"
#include "config/spec.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/slice_checks.h"
#include "ps/server/table_updater.h"
#include "store/optimizer_states.h"

namespace ps::shard_tables_test {
namespace {

class ShardTablesTest : public testing::TestWithParam<bool> {
 protected:
  using Keys = std::vector<uint64_t>;

  static std::vector<ParameterSpec> specs() {
    return {synthetic_parameter("rows", ParameterKind::kRows, /*sparse=*/GetParam(), 100, 2)};
  }

  static OptimizerPlan plan() {
    return make_optimizer_plan({{"type", "momentum"}, {"momentum", 0.5}, {"learning_rate", 1}}, "sum");
  }

  static RowSlice slice_of(const Keys& keys) {
    RowSlice slice;
    slice.keys = keys;
    return slice;
  }

  // A pull, with what it found.
  struct Pull {
    RowSlice slice;
    PulledRows rows;
  };
  static Pull pull(ShardTables& tables, const Keys& keys) {
    Pull pull{slice_of(keys), {}};
    std::vector<char> out(tables.bytes_of({&pull.slice, 1}, RowType::kF32));
    pull.rows = tables.pull({&pull.slice, 1}, RowType::kF32, out.data());
    return pull;
  }

  // Both pushes in one step; `by_pointers` uses what the pulls found.
  void push(ShardTables& tables, const std::vector<const Pull*>& pulls, bool by_pointers) {
    std::vector<Contribution> contributions;
    for (const Pull* pull : pulls) {
      const RowPointers* rows = by_pointers ? &pull->rows[0] : nullptr;
      const int trainer = static_cast<int>(contributions.size());
      contributions.push_back({&pull->slice, gradients_.data(), trainer, 0.5f, rows});
    }
    TableUpdater(tables).apply(0, contributions, {0.25, 1, false});
  }

  static std::vector<float> read(ShardTables& tables) {
    Keys keys;
    for (uint64_t key = 0; key < 100; ++key) keys.push_back(key);
    const RowSlice slice = slice_of(keys);
    std::vector<char> out(tables.bytes_of({&slice, 1}, RowType::kF32));
    tables.read({&slice, 1}, PullMode::kRead, RowType::kF32, out.data());
    std::vector<float> weights(200);
    std::memcpy(weights.data(), out.data(), weights.size() * sizeof(float));
    return weights;
  }

  ShardTables known_{specs(), plan(), {}}, searched_{specs(), plan(), {}};
  const std::vector<float> gradients_ = {1, 2, 3, 4, 5, 6};
};

// Alone, together with another trainer that has some of the same keys, and after a step of others.
TEST_P(ShardTablesTest, PushByRowPointersIsThePushByKeys) {
  for (ShardTables* tables : {&known_, &searched_}) {
    const bool by_pointers = tables == &known_;
    const Pull first = pull(*tables, {3, 5, 9}), second = pull(*tables, {5, 9, 70});
    ASSERT_EQ(first.rows[0].rows.size(), 3);
    push(*tables, {&first}, by_pointers);
    push(*tables, {&first, &second}, by_pointers);
    const Pull apart = pull(*tables, {10, 11, 12}), behind = pull(*tables, {20, 21, 22});
    push(*tables, {&second}, by_pointers);
    push(*tables, {&apart, &behind}, by_pointers);
  }
  EXPECT_EQ(read(known_), read(searched_));
  EXPECT_NE(read(known_), read(*std::make_unique<ShardTables>(specs(), plan(), ShardPlace())));
}

TEST(ShardTablesByNumber, KeepNoRowPointers) {
  ShardTables tables({synthetic_parameter("rows", ParameterKind::kRows, false, 100, 2)},
                     make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 1}}, "sum"), {});
  RowSlice slice;
  slice.by_keys = false;
  slice.first = 2;
  slice.count = 3;
  std::vector<char> out(tables.bytes_of({&slice, 1}, RowType::kF32));
  EXPECT_TRUE(tables.pull({&slice, 1}, RowType::kF32, out.data())[0].rows.empty());
}

TEST(ShardTablesWithAPolicy, KeepNoRowPointers) {
  ParameterSpec spec = synthetic_parameter("rows", ParameterKind::kRows, true, 0, 2);
  spec.row_policy = RowPolicy::spec().parse(parse_json("{}", "rows"), "rows");
  ShardTables tables({spec}, make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 1}}, "sum"), {});
  RowSlice slice;
  slice.keys = {1, 2};
  std::vector<char> out(tables.bytes_of({&slice, 1}, RowType::kF32));
  EXPECT_TRUE(tables.pull({&slice, 1}, RowType::kF32, out.data())[0].rows.empty());
}

// Servers of trainers that move the dense parameters: steps count, and change nothing but that.
TEST(ShardTablesByTrainers, KeepWhatTrainersSetAndCountSteps) {
  ParameterSpec spec = synthetic_parameter("matrix", ParameterKind::kMatrix, false, 3, 2);
  spec.by_trainers = true;
  ShardTables tables({spec}, make_optimizer_plan({{"type", "adam"}, {"learning_rate", 1}}, "sum"),
                     ShardPlace());
  RowSlice stored;
  stored.by_keys = false, stored.first = 3, stored.count = 9;  // weights and two state arrays
  std::vector<float> set(18);
  for (size_t i = 0; i < set.size(); ++i) set[i] = static_cast<float>(i);
  check_slices(tables.parameters(), {&stored, 1});
  tables.load(stored, set.data());
  TableUpdater(tables).apply(0, {}, {0.25, 1, false});
  std::vector<char> out(tables.bytes_of({&stored, 1}, RowType::kF32));
  tables.read({&stored, 1}, PullMode::kRead, RowType::kF32, out.data());
  EXPECT_EQ(std::memcmp(out.data(), set.data(), set.size() * sizeof(float)), 0);
  std::string optimizers;
  save_optimizers(tables.parameters(), /*sparse=*/false, optimizers);
  ByteReader in(optimizers);
  in.get<uint64_t>();
  EXPECT_EQ(in.get<int64_t>(), 1) << "steps of the optimizer";
  EXPECT_THROW(check_gradients(tables.parameters(), {&stored, 1}), Error);
  stored.first = 0, stored.count = 3;
  EXPECT_THROW(check_gradients(tables.parameters(), {&stored, 1}), Error);
  stored.count = 4;
  EXPECT_THROW(check_slices(tables.parameters(), {&stored, 1}), Error)
      << "weights and stored rows in one range";
  stored.first = 4, stored.count = 9;
  EXPECT_THROW(check_slices(tables.parameters(), {&stored, 1}), Error);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShardTablesTest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "sparse" : "dense"; });

}  // namespace
}  // namespace ps::shard_tables_test
