#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "config/json.h"
#include "optim/optimizer_plan.h"
#include "plain_plans.h"
#include "table/dense_table.h"
#include "table/sparse_table.h"
#include "table/table_partition.h"

namespace ps::table_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// w <- w - rate g, and 1 subtracted for each step sat out: a row that was not caught up shows.  One state
// array counts updates.
class CountingOptimizer final : public Optimizer<float> {
 public:
  CpuLevel cpu() const override { return best_cpu_level(); }
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
  void save(std::string& out) const override { put(out, steps_); }
  void load(ByteReader& in) override { steps_ = in.get<int64_t>(); }

 private:
  float rate_ = 0;
  int64_t steps_ = 0;
};

// Rows that sit out steps stay as they are, so that no stamp is kept.
class StillOptimizer final : public Optimizer<float> {
 public:
  CpuLevel cpu() const override { return best_cpu_level(); }
  int state_arrays() const override { return 1; }
  void initialize(const Row<float>& row) const override { std::fill_n(row.state, row.width, 0.0f); }
  void begin_step(double) override { ++steps_; }
  int64_t steps() const override { return steps_; }
  bool idle_is_identity() const override { return true; }
  void catch_up(const Row<float>&, int64_t, int64_t) const override {}
  void update(const Row<float>& row, const float* gradient, float scale) const override {
    for (int64_t i = 0; i < row.width; ++i) row.weight[i] -= scale * gradient[i];
  }
  void read(const Row<float>& row, float* out) const override { std::copy_n(row.weight, row.width, out); }
  void save(std::string& out) const override { put(out, steps_); }
  void load(ByteReader& in) override { steps_ = in.get<int64_t>(); }

 private:
  int64_t steps_ = 0;
};

// With keys of any value, and with keys below a bound.
class SparseTableTest : public testing::TestWithParam<uint64_t> {
 protected:
  void train(const std::vector<uint64_t>& keys, float gradient, double rate) {
    KeyPlan plan = plan_of(keys);
    table_.pull(plan, device_, rows_);
    std::vector<float> gradients(plan.keys.size() * 2, gradient);
    table_.push(plan, rows_, gradients.data(), 1, rate, device_);
  }

  std::vector<float> read(uint64_t key) {
    std::vector<float> weights(2);
    table_.read_rows({&key, 1}, weights.data());
    return weights;
  }

  Device device_{2, best_cpu_level()};
  Initializer initializer_{Distribution::kConstant, 100, 0, 0};
  SparseTable table_{2, GetParam(), initializer_, std::make_unique<CountingOptimizer>()};
  std::vector<float*> rows_;
};

TEST_P(SparseTableTest, RowExistsFromItsFirstUpdateOn) {
  EXPECT_THAT(read(7), ElementsAre(100, 100));
  EXPECT_EQ(table_.size(), 0);
  train({7}, 1, 0.5);
  EXPECT_THAT(read(7), ElementsAre(99.5, 99.5));
  EXPECT_THAT(table_.sorted_keys(), ElementsAre(7));
}

TEST_P(SparseTableTest, RowThatSatOutIsCaughtUpWhenItIsReadOrTrained) {
  train({7, 8}, 1, 1);
  train({8}, 1, 1);
  train({8}, 1, 1);
  EXPECT_THAT(read(7), ElementsAre(97, 97)) << "99, less 2 for the steps without it";
  EXPECT_THAT(read(7), ElementsAre(97, 97)) << "reading changes nothing";
  train({7}, 1, 1);
  EXPECT_THAT(read(7), ElementsAre(96, 96));
}

TEST_P(SparseTableTest, RowMadeLateIsCaughtUpFromTheFirstStep) {
  train({7}, 1, 1);
  train({7}, 1, 1);
  EXPECT_THAT(read(9), ElementsAre(98, 98));
  train({9}, 1, 1);
  EXPECT_THAT(read(9), ElementsAre(97, 97));
}

TEST_P(SparseTableTest, PullGivesRowsInThePlansOrderWhereTheyLie) {
  KeyPlan plan = plan_of({5, 3, 5, 1});
  table_.pull(plan, device_, rows_);
  ASSERT_EQ(rows_.size(), 3);
  std::map<uint64_t, float*> first;
  for (size_t n = 0; n < rows_.size(); ++n) first[plan.keys[n]] = rows_[n];
  for (uint64_t key = 100; key < 5000; ++key) train({key}, 0, 0);
  plan = plan_of({1, 3, 5});
  table_.pull(plan, device_, rows_);
  for (size_t n = 0; n < rows_.size(); ++n) EXPECT_EQ(rows_[n], first[plan.keys[n]]) << "rows never move";
}

TEST_P(SparseTableTest, GradientsThatLieInPiecesAreOneStep) {
  KeyPlan plan = plan_of({7, 8, 9});
  table_.pull(plan, device_, rows_);
  const std::vector<float> first = {1, 2, 3, 4}, second = {5, 6};
  const std::span<const uint64_t> keys(plan.keys);
  const std::span<float* const> rows(rows_);
  const std::vector<KeyedGradients> pieces = {{keys.first(2), rows.first(2), first.data()},
                                              {{}, {}, nullptr},
                                              {keys.last(1), rows.last(1), second.data()}};
  table_.push(pieces, 1, 1, device_);
  EXPECT_THAT(read(7), ElementsAre(99, 98));
  EXPECT_THAT(read(8), ElementsAre(97, 96));
  EXPECT_THAT(read(9), ElementsAre(95, 94));
}

TEST_P(SparseTableTest, LoadedRowStartsAfreshWithItsWeights) {
  train({7}, 1, 1);
  table_.load_rows(std::vector<uint64_t>{7, 8}, std::vector<float>{1, 2, 3, 4}.data(), device_);
  EXPECT_THAT(read(7), ElementsAre(1, 2));
  EXPECT_THAT(read(8), ElementsAre(3, 4));
}

TEST_P(SparseTableTest, ErasedRowReadsAsIfItNeverWas) {
  train({7, 8}, 1, 0.5);
  EXPECT_EQ(table_.erase(std::vector<uint64_t>{7, 9}), 1);
  EXPECT_THAT(read(7), ElementsAre(99, 99)) << "one step sat out";
  EXPECT_THAT(read(8), ElementsAre(99.5, 99.5));
  train({7}, 1, 0.5);
  EXPECT_THAT(read(7), ElementsAre(98.5, 98.5)) << "made anew, in the place that was free";
  EXPECT_THAT(table_.sorted_keys(), ElementsAre(7, 8));
}

TEST_P(SparseTableTest, RowsOfAllPartitionsAreAllRows) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 3000; key += 3) keys.push_back(key);
  train(keys, 1, 0.5);
  std::set<uint64_t> seen;
  for (uint32_t p = 0; p < 1u << kPartitionBits; ++p) {
    table_.rows().for_each_row(p, [&](uint64_t key, const float* row) {
      EXPECT_EQ(key_partition(key), p);
      EXPECT_EQ(row[0], 99.5f);
      EXPECT_EQ(table_.rows().layout().stamp(row), 1);
      seen.insert(key);
    });
  }
  EXPECT_EQ(seen, std::set<uint64_t>(keys.begin(), keys.end()));
}

TEST_P(SparseTableTest, GrowthUnderLoadFindsEveryKeyAndMovesNoRow) {
  Random random(1, 2);
  std::map<uint64_t, float*> known;
  std::vector<uint64_t> keys;
  for (int batch = 0; batch < 100; ++batch) {  // 100,000 rows: every partition's index splits some times
    keys.clear();
    for (int i = 0; i < 1000; ++i) {
      uint64_t key = random.next64() >> random.below(16);
      keys.push_back(GetParam() == 0 ? key : key % GetParam());
    }
    KeyPlan plan = plan_of(keys);
    table_.pull(plan, device_, rows_);
    for (size_t n = 0; n < rows_.size(); ++n) {
      auto [place, is_new] = known.emplace(plan.keys[n], rows_[n]);
      ASSERT_EQ(place->second, rows_[n]) << plan.keys[n];
      if (is_new) rows_[n][0] = static_cast<float>(plan.keys[n]);
    }
  }
  keys.clear();
  for (const auto& [key, row] : known) keys.push_back(key);
  EXPECT_EQ(table_.sorted_keys(), keys);
  EXPECT_EQ(table_.size(), keys.size());
  KeyPlan plan = plan_of(keys);
  table_.pull(plan, device_, rows_);
  for (size_t n = 0; n < rows_.size(); ++n) {
    ASSERT_EQ(rows_[n], known[plan.keys[n]]);
    ASSERT_EQ(rows_[n][0], static_cast<float>(plan.keys[n]));
  }
}

TEST_P(SparseTableTest, ReadOfManyKeysMixesThoseWithAndWithoutRows) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 3000; key += 3) keys.push_back(key);
  train(keys, 1, 0.5);
  std::vector<float*> pulled = rows_;
  std::vector<uint64_t> all;
  for (uint64_t key = 0; key < 3000; ++key) all.push_back(key);
  KeyPlan plan = plan_of(all);
  std::vector<float> weights(all.size() * 2);
  table_.read_rows(plan.keys, weights.data(), device_);
  for (size_t n = 0; n < all.size(); ++n) {
    float expected = plan.keys[n] % 3 == 0 ? 99.5f : 99.0f;
    ASSERT_EQ(weights[n * 2 + 1], expected) << "an update of 0.5, or a step sat out: key " << plan.keys[n];
  }
  EXPECT_EQ(table_.size(), keys.size());
}

INSTANTIATE_TEST_SUITE_P(Bounds, SparseTableTest, testing::Values(0, 5'000'000),
                         [](const auto& bound) { return bound.param == 0 ? "any" : "bounded"; });

// The same steps through the interface, by keys, for a table of the rows that were used and one of all rows.
TEST(TableInterface, SparseAndDenseRowsAreTheSameBits) {
  constexpr uint64_t kRows = 200;
  Device device(2, best_cpu_level());
  const Initializer initializer{Distribution::kNormal, 0, 1, 3};
  SparseTable sparse(3, 0, initializer, std::make_unique<StillOptimizer>());
  DenseTable dense(BlockCyclicRows::whole(kRows), 3, initializer, std::make_unique<StillOptimizer>(), device);
  Table* tables[] = {&sparse, &dense};
  Random random(7, 8);
  for (int step = 0; step < 20; ++step) {
    std::set<uint64_t> chosen;
    while (chosen.size() < 20) chosen.insert(random.below(kRows));
    const std::vector<uint64_t> keys(chosen.begin(), chosen.end());
    std::vector<float> gradients(keys.size() * 3);
    for (float& gradient : gradients) gradient = static_cast<float>(random.below(9)) - 4;
    for (Table* table : tables) {
      std::vector<float*> rows(keys.size());
      table->pull(keys, device, rows);
      ASSERT_TRUE(table->rows_stay());
      const std::span<const uint64_t> all(keys);
      const KeyedGradients pieces[] = {{all.first(7), std::span(rows).first(7), gradients.data()},
                                       {all.subspan(7), std::span(rows).subspan(7), gradients.data() + 21}};
      table->push(pieces, 0.5f, 0.25, device);
    }
    if (step == 10) {
      for (Table* table : tables) table->load_rows(keys, gradients.data(), device);
    }
  }
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < kRows; ++key) keys.push_back(key);
  std::vector<float> of_sparse(kRows * 3), of_dense(kRows * 3);
  sparse.read_rows(keys, of_sparse.data(), device);
  dense.read_rows(keys, of_dense.data(), device);
  EXPECT_EQ(of_sparse, of_dense);
  EXPECT_EQ(dense.sorted_keys(), keys);
  EXPECT_EQ(sparse.num_missing(keys), kRows - sparse.size());
  EXPECT_EQ(dense.num_missing(keys), 0);
}

// Averages begin with the third step; row 9 sits out all steps but the first.
TEST(SparseTableParts, RowsReadAsBeforeAStepUntilTheirPartHasMadeIt) {
  const OptimizerPlan plan = make_optimizer_plan({{"type", "sgd"}, {"average", {{"begin_step", 2}}}}, "sum");
  Device device(1, best_cpu_level());
  SparseTable table(2, 0, {Distribution::kNormal, 0, 1, 3}, plan.make({}));
  const std::vector<uint64_t> keys = {3, 5, 9};
  const std::vector<float> gradients = {1, 2, 3, 4, 5, 6};
  const auto read = [&](size_t row) {
    std::vector<float> weights(2);
    table.read_rows({&keys[row], 1}, weights.data());
    return weights;
  };
  for (int step = 0; step < 5; ++step) {
    const std::vector<float> before = read(1);
    std::vector<float*> rows(step == 0 ? 3 : 2);
    table.pull(std::span(keys).first(rows.size()), device, rows);
    table.begin_step(0.5);
    table.push_part({std::span(keys).first(1), std::span(rows).first(1), gradients.data()}, 1, device);
    const std::vector<float> first = read(0);
    EXPECT_EQ(read(1), before) << step;
    table.push_part({std::span(keys).subspan(1, rows.size() - 1), std::span(rows).subspan(1), &gradients[2]},
                    1, device);
    table.end_step();
    EXPECT_EQ(read(0), first) << step;
    EXPECT_NE(read(1), before) << step;
  }
}

TEST(SparseTableBound, KeyThatIsNotBelowItIsRefused) {
  Device device(1, best_cpu_level());
  SparseTable table(1, 10, Initializer{}, std::make_unique<StillOptimizer>());
  std::vector<float*> rows;
  table.pull(plan_of({9}), device, rows);
  EXPECT_THROW(table.pull(plan_of({10}), device, rows), Error);
  uint64_t key = 10;
  float weight;
  table.read_rows({&key, 1}, &weight);  // as any row that does not exist
  EXPECT_THAT(table.sorted_keys(), ElementsAre(9));
}

TEST(SparseTableMemory, StaysNearTheRowsWhileItGrows) {
  constexpr uint64_t kRows = 400000;
  Device device(1, best_cpu_level());
  SparseTable table(16, /*bound=*/0, Initializer{},
                    std::make_unique<StillOptimizer>());  // 16 + 16 floats: 128 bytes
  std::vector<float*> rows;
  double worst = 0;
  for (uint64_t first = 0; first < kRows; first += 2000) {
    std::vector<uint64_t> keys(2000);
    for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = (first + i) * 977;
    table.pull(plan_of(keys), device, rows);
    double ratio = static_cast<double>(table.memory_bytes()) / (static_cast<double>(table.size()) * 128);
    if (table.size() >= 100000) worst = std::max(worst, ratio);
  }
  EXPECT_EQ(table.size(), kRows);
  EXPECT_LT(worst, 1.35);
}

TEST(RowLayoutTest, RowThatFitsACacheLineNeverCrossesOne) {
  for (int64_t width = 1; width <= 40; ++width) {
    for (int arrays = 0; arrays <= 3; ++arrays) {
      for (bool stamped : {false, true}) {
        RowLayout layout(width, arrays, stamped);
        int64_t floats = width * (1 + arrays) + stamped;
        ASSERT_GE(layout.stride(), floats);
        ASSERT_LE(layout.stride() * 2, floats * 4);
        if (floats > 16) continue;
        for (int64_t row = 0; row < 32; ++row) {
          int64_t first = row * layout.stride();
          ASSERT_EQ(first / 16, (first + floats - 1) / 16) << width << " " << arrays << " " << stamped;
        }
      }
    }
  }
}

TEST(TablePartitionTest, FindsEveryKeyOfAnyValueWhileItGrows) {
  HugeArena arena;
  const RowLayout layout(3, 0, true);
  TablePartition partition(layout, arena, 17);
  Random random(1, 2);
  std::map<uint64_t, float*> expected;
  std::vector<uint64_t> keys = {0, 1, UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 32};
  for (int i = 0; i < 20000; ++i) keys.push_back(random.next64() >> random.below(64));
  for (uint64_t key : keys) {
    float* found = partition.find(key, partition.bucket(key));
    auto known = expected.find(key);
    ASSERT_EQ(found, known == expected.end() ? nullptr : known->second) << key;
    if (found != nullptr) continue;
    float* row = expected[key] = partition.insert(key);
    std::fill_n(row, 3, static_cast<float>(expected.size()));
    RowLayout(3, 0, true).set_stamp(row, static_cast<int64_t>(expected.size()));
  }
  ASSERT_EQ(partition.size(), expected.size());
  std::set<float> values;
  for (const auto& [key, row] : expected) {
    EXPECT_EQ(partition.find(key, partition.bucket(key)), row);
    EXPECT_EQ(row[2], static_cast<float>(RowLayout(3, 0, true).stamp(row)));
    values.insert(row[2]);
  }
  EXPECT_EQ(values.size(), expected.size()) << "no two rows overlap";
}

TEST(DenseTableTest, RowsWithoutGradientAreStepsWithZeroGradient) {
  Device device(2, best_cpu_level());
  Initializer initializer{Distribution::kNormal, 0, 1, 3};
  DenseTable whole(BlockCyclicRows::whole(50), 3, initializer, std::make_unique<CountingOptimizer>(), device);
  DenseTable by_rows(BlockCyclicRows::whole(50), 3, initializer, std::make_unique<CountingOptimizer>(),
                     device);
  KeyPlan plan = plan_of({49, 0, 17});
  std::vector<float> gradient(150, 0), gradients(9);
  for (size_t n = 0; n < 3; ++n) {
    for (size_t d = 0; d < 3; ++d) {
      gradients[n * 3 + d] = static_cast<float>(n + 10 * d + 1);
      gradient[plan.keys[n] * 3 + d] = gradients[n * 3 + d];
    }
  }
  whole.whole()->push_all(gradient.data(), 0.5f, 0.1, device);
  std::vector<float*> rows;
  by_rows.pull(plan, device, rows);
  by_rows.push(plan, rows, gradients.data(), 0.5f, 0.1, device);
  EXPECT_THAT(std::span(by_rows.whole()->values(), 150), ElementsAreArray(whole.whole()->values(), 150));
}

// The rows of the second of three owners, in blocks of 4.
TEST(DenseTableTest, OwnerOfBlocksHasTheRowsOfTheWholeByTheirKeys) {
  Device device(1, best_cpu_level());
  const Initializer initializer{Distribution::kNormal, 0, 1, 3};
  const BlockCyclicRows blocks{50, 4, 3, 1};
  DenseTable whole(BlockCyclicRows::whole(50), 3, initializer, std::make_unique<CountingOptimizer>(), device);
  DenseTable own(blocks, 3, initializer, std::make_unique<CountingOptimizer>(), device);
  const std::vector<uint64_t> keys = own.sorted_keys();
  ASSERT_EQ(keys.size(), own.size());
  for (uint64_t key : keys) EXPECT_EQ(blocks.owner_of(static_cast<int64_t>(key)), 1) << key;
  RowBlock all, some;
  whole.copy_rows(whole.sorted_keys(), all);
  for (float& value : all.values) value += 1;
  EXPECT_EQ(whole.restore_rows(all, device), 50);
  EXPECT_EQ(own.restore_rows(all, device), own.size()) << "rows of other owners are left out";
  whole.copy_rows(keys, all);
  own.copy_rows(keys, some);
  EXPECT_EQ(some.keys, keys);
  EXPECT_EQ(some.values, all.values);
}

// Ranges of stored rows may begin and end in the weights or in any state array.
TEST(DenseTableTest, StoredRowsAreWeightsAndThenStateArrays) {
  Device device(1, best_cpu_level());
  const OptimizerPlan plan = make_optimizer_plan({{"type", "adam"}, {"learning_rate", 1}}, "sum");
  DenseTable table(BlockCyclicRows::whole(4), 2, Initializer(), plan.make({}), device);
  ASSERT_EQ(table.whole()->num_stored_rows(), 12);
  std::vector<float> all(24), some(24);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
  for (const int64_t cut : {0, 2, 4, 7, 12}) {
    table.whole()->set_stored(0, cut, all.data());
    table.whole()->set_stored(cut, 12 - cut, all.data() + 2 * cut);
    for (const int64_t first : {0, 3, 4, 9}) {
      for (int64_t count = 0; first + count <= 12; ++count) {
        table.whole()->copy_stored(first, count, some.data());
        EXPECT_TRUE(std::equal(some.begin(), some.begin() + 2 * count, all.begin() + 2 * first))
            << first << " " << count;
      }
    }
    for (float& value : all) value += 1;
  }
  RowBlock row;
  const uint64_t key = 1;
  table.whole()->set_stored(0, 12, all.data());
  table.copy_rows({&key, 1}, row);
  EXPECT_EQ(row.values, (std::vector<float>{all[2], all[3], all[10], all[11], all[18], all[19]}));
}

}  // namespace
}  // namespace ps::table_test
