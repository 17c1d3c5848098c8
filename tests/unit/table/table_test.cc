#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "table/dense_table.h"
#include "table/sparse_table.h"

namespace ps {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// w <- w - rate g, and 1 subtracted for each step sat out: a row that was not caught up shows.  One state
// array counts updates.
class CountingOptimizer final : public Optimizer<float> {
 public:
  int state_arrays() const override { return 1; }
  void initialize(const Row<float>& row) const override { std::fill_n(row.state, row.width, 0.0f); }
  void begin_step(double learning_rate) override { rate_ = static_cast<float>(learning_rate), ++steps_; }
  int64_t steps() const override { return steps_; }
  bool idle_is_identity() const override { return false; }
  void catch_up(const Row<float>& row, int64_t from, int64_t to) const override {
    for (int64_t i = 0; i < row.width; ++i) row.weight[i] -= static_cast<float>(to - from);
  }
  void update(const Row<float>& row, const float* gradient, float scale) const override {
    for (int64_t i = 0; i < row.width; ++i) {
      row.weight[i] -= rate_ * scale * gradient[i];
      row.state[i] += 1;
    }
  }
  void read(const Row<float>& row, float* out) const override { std::copy_n(row.weight, row.width, out); }

 private:
  float rate_ = 0;
  int64_t steps_ = 0;
};

KeyPlan plan_of(std::vector<uint64_t> keys) {
  KeyPlanner planner(SparseTable::kPartitionBits);
  std::vector<uint32_t> offsets = {0, static_cast<uint32_t>(keys.size())};
  KeyList list{offsets, keys};
  KeyPlan plan;
  planner.plan({&list, 1}, false, plan);
  return plan;
}

class SparseTableTest : public testing::Test {
 protected:
  void train(const std::vector<uint64_t>& keys, float gradient, double rate) {
    KeyPlan plan = plan_of(keys);
    table_.pull(plan, pool_, rows_);
    std::vector<float> gradients(plan.keys.size() * 2, gradient);
    table_.push(plan, rows_, gradients.data(), 1, rate, pool_);
  }

  std::vector<float> read(uint64_t key) {
    std::vector<float> weights(2);
    table_.read_rows({&key, 1}, weights.data());
    return weights;
  }

  ThreadPool pool_{2};
  Initializer initializer_{Distribution::kConstant, 100, 0, 0};
  SparseTable table_{2, initializer_, std::make_unique<CountingOptimizer>()};
  std::vector<float*> rows_;
};

TEST_F(SparseTableTest, RowExistsFromItsFirstUpdateOn) {
  EXPECT_THAT(read(7), ElementsAre(100, 100));
  EXPECT_EQ(table_.size(), 0);
  train({7}, 1, 0.5);
  EXPECT_THAT(read(7), ElementsAre(99.5, 99.5));
  EXPECT_THAT(table_.sorted_keys(), ElementsAre(7));
}

TEST_F(SparseTableTest, RowThatSatOutIsCaughtUpWhenItIsReadOrTrained) {
  train({7, 8}, 1, 1);
  train({8}, 1, 1);
  train({8}, 1, 1);
  EXPECT_THAT(read(7), ElementsAre(97, 97)) << "99, less 2 for the steps without it";
  EXPECT_THAT(read(7), ElementsAre(97, 97)) << "reading changes nothing";
  train({7}, 1, 1);
  EXPECT_THAT(read(7), ElementsAre(96, 96));
}

TEST_F(SparseTableTest, RowMadeLateIsCaughtUpFromTheFirstStep) {
  train({7}, 1, 1);
  train({7}, 1, 1);
  EXPECT_THAT(read(9), ElementsAre(98, 98));
  train({9}, 1, 1);
  EXPECT_THAT(read(9), ElementsAre(97, 97));
}

TEST_F(SparseTableTest, PullGivesRowsInThePlansOrderWhereTheyLie) {
  KeyPlan plan = plan_of({5, 3, 5, 1});
  table_.pull(plan, pool_, rows_);
  ASSERT_EQ(rows_.size(), 3);
  std::map<uint64_t, float*> first;
  for (size_t n = 0; n < rows_.size(); ++n) first[plan.keys[n]] = rows_[n];
  for (uint64_t key = 100; key < 5000; ++key) train({key}, 0, 0);
  plan = plan_of({1, 3, 5});
  table_.pull(plan, pool_, rows_);
  for (size_t n = 0; n < rows_.size(); ++n) EXPECT_EQ(rows_[n], first[plan.keys[n]]) << "rows never move";
}

TEST_F(SparseTableTest, LoadedRowStartsAfreshWithItsWeights) {
  train({7}, 1, 1);
  table_.load_row(7, std::vector<float>{1, 2});
  table_.load_row(8, std::vector<float>{3, 4});
  EXPECT_THAT(read(7), ElementsAre(1, 2));
  EXPECT_THAT(read(8), ElementsAre(3, 4));
}

TEST(TablePartitionTest, FindsEveryKeyOfAnyValueWhileItGrows) {
  TablePartition partition({3, 0});
  Random random(1, 2);
  std::map<uint64_t, uint32_t> expected;
  std::vector<uint64_t> keys = {0, 1, UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 32};
  for (int i = 0; i < 20000; ++i) keys.push_back(random.next64() >> random.below(64));
  for (uint64_t key : keys) {
    uint32_t found = partition.find(key);
    auto known = expected.find(key);
    ASSERT_EQ(found, known == expected.end() ? TablePartition::kNone : known->second) << key;
    if (found != TablePartition::kNone) continue;
    expected[key] = partition.insert(key);
    std::fill_n(partition.row(expected[key]), 3, static_cast<float>(expected[key]));
    partition.set_stamp(expected[key], expected[key] + 1);
  }
  ASSERT_EQ(partition.size(), expected.size());
  for (const auto& [key, number] : expected) {
    EXPECT_EQ(partition.find(key), number);
    EXPECT_EQ(partition.key(number), key);
    EXPECT_EQ(partition.stamp(number), number + 1);
    EXPECT_EQ(partition.row(number)[2], static_cast<float>(number));
  }
}

TEST(DenseTableTest, RowsWithoutGradientAreStepsWithZeroGradient) {
  ThreadPool pool(2);
  Initializer initializer{Distribution::kNormal, 0, 1, 3};
  DenseTable whole(50, 3, initializer, std::make_unique<CountingOptimizer>(), pool);
  DenseTable by_rows(50, 3, initializer, std::make_unique<CountingOptimizer>(), pool);
  KeyPlan plan = plan_of({49, 0, 17});
  std::vector<float> gradient(150, 0), gradients(9);
  for (size_t n = 0; n < 3; ++n) {
    for (size_t d = 0; d < 3; ++d) {
      gradients[n * 3 + d] = static_cast<float>(n + 10 * d + 1);
      gradient[plan.keys[n] * 3 + d] = gradients[n * 3 + d];
    }
  }
  whole.push(gradient.data(), 0.5f, 0.1, pool);
  by_rows.push_rows(plan, gradients.data(), 0.5f, 0.1, pool);
  EXPECT_THAT(std::span(by_rows.values(), 150), ElementsAreArray(whole.values(), 150));
}

TEST(DenseTableTest, ByteCountOfHugeShapesSaturates) {
  EXPECT_EQ(DenseTable::bytes_needed(18182296, 256, 1), uint64_t{18182296} * 256 * 2 * 4);
  EXPECT_EQ(DenseTable::bytes_needed(int64_t{1} << 40, int64_t{1} << 40, 1), UINT64_MAX);
}

}  // namespace
}  // namespace ps
