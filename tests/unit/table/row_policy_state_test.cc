// Tables whose rows come and go, with values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "config/spec.h"
#include "table/sparse_table.h"
#include "table/table_partition.h"

namespace ps::row_policy_state_test {
namespace {

using testing::ElementsAre;

// w <- w - g, and 1 less for each step that a row sits out.
class IdlingOptimizer final : public Optimizer<float> {
 public:
  CpuLevel cpu() const override { return best_cpu_level(); }
  int state_arrays() const override { return 0; }
  void initialize(const Row<float>&) const override {}
  void begin_step(double) override { ++steps_; }
  int64_t steps() const override { return steps_; }
  bool idle_is_identity() const override { return false; }
  void catch_up(const Row<float>& row, int64_t from, int64_t to) const override {
    for (int64_t i = 0; i < row.width; ++i) row.weight[i] -= static_cast<float>(to - from);
  }
  void update(const Row<float>& row, const float* gradient, float scale) const override {
    for (int64_t i = 0; i < row.width; ++i) row.weight[i] -= scale * gradient[i];
  }
  void read(const Row<float>& row, float* out) const override { std::copy_n(row.weight, row.width, out); }
  void save(std::string& out) const override { put(out, steps_); }
  void load(ByteReader& in) override { steps_ = in.get<int64_t>(); }

 private:
  int64_t steps_ = 0;
};

class RowPolicyStateTest : public testing::Test {
 protected:
  void make(const char* policy) {
    const Initializer initializer{Distribution::kConstant, 100, 0, 5};
    table_ = std::make_unique<SparseTable>(2, 0, initializer, std::make_unique<IdlingOptimizer>(),
                                           RowPolicy::spec().parse(parse_json(policy, "rows"), "rows"));
  }

  // One step of these keys, each of which occurs as often as `count` says, with gradient 1.
  void train(std::vector<uint64_t> keys, KeyCount count = {1, 0}, bool shrink = false) {
    KeyPlan plan;
    plan.keys = keys;
    plan.counts.assign(keys.size(), count);
    std::vector<float*> rows;
    table_->pull(plan, device_, rows);
    pulled_.clear();
    for (const float* row : rows) pulled_.push_back(row[1]);
    std::vector<float> gradients(keys.size() * 2, 1.0f);
    table_->push(plan, rows, gradients.data(), 1, 1, device_);
    table_->policy()->end_step(shrink, device_);
  }

  float read(uint64_t key) {
    std::vector<float> weights(2);
    table_->read_rows({&key, 1}, weights.data());
    EXPECT_EQ(weights[0], weights[1]);
    return weights[0];
  }

  RowHistory history(uint64_t key) {
    RowHistory found;
    table_->rows().for_each_row(key_partition(key), [&](uint64_t other, const float* row) {
      if (other == key) found = table_->rows().layout().history(row);
    });
    return found;
  }

  // Keys of one partition, ascending.
  static std::vector<uint64_t> neighbours(size_t count) {
    std::vector<uint64_t> keys;
    for (uint64_t key = 0; keys.size() < count; ++key) {
      if (key_partition(key) == 3) keys.push_back(key);
    }
    return keys;
  }

  Device device_{2, best_cpu_level()};
  std::unique_ptr<SparseTable> table_;
  std::vector<float> pulled_;  // what the keys of the last step read as
};

// Floats would stay at 2^24.
TEST(RowLayout, HistoriesCountBeyondWhatAFloatHolds) {
  const RowLayout layout(3, 1, /*stamped=*/true, /*has_history=*/true);
  std::vector<float> row(static_cast<size_t>(layout.stride()));
  layout.set_stamp(row.data(), 77);
  layout.set_history(row.data(), {});
  for (double shows : {0x1p24, 0x1p40, 0x1p40 + 1, 0.3}) {
    layout.set_history(row.data(), {shows, 5, 3});
    const RowHistory read = layout.history(row.data());
    layout.set_history(row.data(), {read.shows + 1, read.clicks, read.unseen});
    EXPECT_DOUBLE_EQ(layout.history(row.data()).shows, shows + 1);
    EXPECT_EQ(layout.history(row.data()).clicks, 5);
    EXPECT_EQ(layout.history(row.data()).unseen, 3u);
  }
  EXPECT_EQ(layout.stamp(row.data()), 77u);
  EXPECT_EQ(layout.floats(), 6 + 1 + static_cast<int64_t>(layout.statistics().size()));
}

TEST_F(RowPolicyStateTest, WithoutAdmissionARowIsThereFromItsFirstStepOn) {
  make("{}");
  EXPECT_EQ(read(7), 100);
  train({7}, {2, 1});
  EXPECT_THAT(pulled_, ElementsAre(100));
  EXPECT_EQ(read(7), 99);
  EXPECT_EQ(history(7), (RowHistory{2, 1, 0}));
  train({8});
  EXPECT_EQ(read(7), 98) << "sat out a step";
  EXPECT_EQ(read(8), 98) << "so did the initial weights of 8, before its gradient";
  EXPECT_EQ(read(9), 98) << "and those of a key that never came";
}

TEST_F(RowPolicyStateTest, ARowIsMadeAfterSoManyOccurrencesAndReadsAsZeroBefore) {
  make(R"({"admission": {"count": 3}})");
  EXPECT_EQ(read(7), 0);
  train({7}, {2, 1});
  EXPECT_THAT(pulled_, ElementsAre(0));
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_EQ(table_->policy()->report().waiting, 1u);
  train({7, 8}, {1, 0});
  EXPECT_THAT(pulled_, ElementsAre(0, 0)) << "until the step is done";
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(7));
  EXPECT_EQ(read(7), 100) << "the initial weights: the gradients of both steps are dropped";
  EXPECT_EQ(history(7), (RowHistory{3, 1, 0})) << "what it waited for counts";
  train({7}, {1, 1});
  EXPECT_THAT(pulled_, ElementsAre(100));
  EXPECT_EQ(read(7), 99);
  EXPECT_EQ(read(8), 0);
  EXPECT_EQ(table_->policy()->report(), (RowReport{.rows = 1, .waiting = 1, .created = 1}));
}

TEST_F(RowPolicyStateTest, AnOccurrenceAdmitsWithTheProbabilityThatIsAsked) {
  make(R"({"admission": {"probability": 0.25}})");
  std::vector<uint64_t> keys(40000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 31;
  train(keys);
  EXPECT_NEAR(static_cast<double>(table_->size()), 10000, 500);
  train(keys);  // a quarter of the rest
  EXPECT_NEAR(static_cast<double>(table_->size()), 17500, 500);
  make(R"({"admission": {"probability": 0.25}})");
  train(keys, {2, 0});  // two chances at once
  EXPECT_NEAR(static_cast<double>(table_->size()), 17500, 500);
}

TEST_F(RowPolicyStateTest, ShrinksDecayAgeAndRemove) {
  make(R"({"decay": 0.5, "expire": {"unseen": 1, "below_score": 0.3}, "shrink_passes": 2})");
  train({1}, {10, 0});  // worth 1
  train({2}, {2, 2});   // worth 2
  table_->policy()->end_pass(0, device_);
  EXPECT_EQ(history(1), (RowHistory{10, 0, 0})) << "every second pass shrinks";
  table_->policy()->end_pass(1, device_);
  EXPECT_EQ(history(1), (RowHistory{5, 0, 1}));
  EXPECT_EQ(history(2), (RowHistory{1, 1, 1}));
  train({2}, {1, 0}, /*shrink=*/true);
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(2)) << "1 is worth 0.25";
  EXPECT_EQ(history(2), (RowHistory{1, 0.5, 1})) << "seen, then aged";
  train({3}, {1000, 1000}, /*shrink=*/true);
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(3)) << "2 is worth 0.275";
  EXPECT_EQ(table_->policy()->report(), (RowReport{.rows = 1, .created = 3, .expired = 2}));
  EXPECT_EQ(read(1), 100 - 4) << "as if it had never been there";
}

TEST_F(RowPolicyStateTest, AKeyExpiresWhenItHasSatOutMoreIntervalsThanItMay) {
  make(R"({"expire": {"unseen": 1}})");
  train({1, 2, 3}, {1, 0}, /*shrink=*/true);
  train({1, 2}, {1, 0}, /*shrink=*/true);
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(1, 2, 3)) << "3 has sat out one";
  train({1}, {1, 0}, /*shrink=*/true);
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(1, 2)) << "and now two";
  train({4}, {1, 0}, /*shrink=*/true);
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(1, 4));
}

TEST_F(RowPolicyStateTest, StepsShrinkToo) {
  make(R"({"expire": {"unseen": 0}, "shrink_steps": 2, "shrink_passes": 0})");
  train({1});
  train({2});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(1, 2)) << "both occurred since the beginning";
  train({3});
  train({2});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(2, 3));
  table_->policy()->end_pass(0, device_);
  EXPECT_EQ(table_->size(), 2u);
}

// Key 1 occurs in each step, key 2 in every second one, key 3 only at the beginning; passes have four steps, shrinks come
// after two and after each pass.
TEST_F(RowPolicyStateTest, AShrinkThatNoStepCameBeforeRemovesNoKeyThatOccurs) {
  for (const char* unseen : {R"({"expire": {"unseen": 0}, "shrink_steps": 2, "decay": 0.5})",
                             R"({"expire": {"unseen": 1}, "shrink_steps": 2, "decay": 0.5})"}) {
    make(unseen);
    for (int64_t pass = 0; pass < 3; ++pass) {
      for (int64_t step = 0; step < 4; ++step) {
        std::vector<uint64_t> keys = {1};
        if (step % 2 == 0) keys.push_back(2);
        if (pass + step == 0) keys.push_back(3);
        train(keys, {8, 0});
      }
      table_->policy()->end_pass(pass, device_);
      const RowHistory before = history(1);
      table_->policy()->end_pass(pass, device_);
      EXPECT_EQ(history(1), before) << unseen;
      EXPECT_GE(table_->size(), 2u) << unseen << ", pass " << pass;
    }
    EXPECT_THAT(table_->sorted_keys(), ElementsAre(1, 2)) << unseen;
    EXPECT_EQ(table_->policy()->report(), (RowReport{.rows = 2, .created = 3, .expired = 1})) << unseen;
    EXPECT_LT(history(1).shows, 32) << "decayed";
  }
}

// Shrinks come after steps 3, 6, …, and after passes of four: one step after the first of these.
TEST_F(RowPolicyStateTest, AShrinkSoonAfterAnotherAgesNothing) {
  make(R"({"expire": {"unseen": 0}, "shrink_steps": 3, "decay": 0.5})");
  train({1, 2}, {8, 0});
  train({1}, {8, 0});
  train({1, 2}, {8, 0});
  EXPECT_EQ(history(2), (RowHistory{8, 0, 1}));
  train({1}, {8, 0});
  table_->policy()->end_pass(0, device_);
  EXPECT_EQ(history(2), (RowHistory{4, 0, 1})) << "decayed, neither aged nor removed";
  train({2}, {8, 0}, /*shrink=*/true);
  train({3}, {8, 0});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(1, 2, 3)) << "1 occurred in step 4, 2 in step 5";
}

// A checkpoint between the shrink of a step and that of the pass.
TEST_F(RowPolicyStateTest, TheStepOfTheLastShrinkIsSaved) {
  constexpr const char* kPolicy = R"({"expire": {"unseen": 1}})";
  make(kPolicy);
  train({1}, {4, 2}, /*shrink=*/true);
  std::string state, optimizer;
  table_->policy()->save(state);
  table_->optimizer()->save(optimizer);
  RowBlock rows;
  table_->copy_rows(std::vector<uint64_t>{1}, rows);
  const RowHistory before = history(1);
  for (const bool whole : {true, false}) {
    make(kPolicy);
    const std::string_view saved = state;
    ByteReader optimizer_in(optimizer), in(whole ? saved : saved.substr(0, saved.size() - sizeof(int64_t)));
    table_->optimizer()->load(optimizer_in);
    table_->restore_rows(rows, device_);
    table_->policy()->load(in, [](uint32_t) { return true; });
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.remaining(), 0u);
    table_->policy()->end_pass(0, device_);
    EXPECT_EQ(history(1) == before, whole) << "an earlier version does not tell, and shrinks once more";
  }
}

// Announced in lists in any order, some keys again and again.
TEST_F(RowPolicyStateTest, HeldCountsAreThoseThatEachKeyCameWithLast) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    make("{}");
    Random random(seed, 1);
    std::map<uint64_t, KeyCount> expected;
    for (uint64_t lists = 1 + random.below(8); lists > 0; --lists) {
      std::set<uint64_t> drawn;
      const uint64_t first = random.below(100);
      for (uint64_t n = 1 + random.below(20); n > 0; --n) drawn.insert(first + random.below(30));
      std::vector<KeyCount> counts;
      for (uint64_t key : drawn) {
        counts.push_back({static_cast<uint32_t>(1 + random.below(9)), 0});
        expected[key] = counts.back();
      }
      table_->policy()->hold_counts(std::vector<uint64_t>(drawn.begin(), drawn.end()), counts);
    }
    EXPECT_EQ(table_->policy()->memory_bytes(), expected.size() * (16 + table_->new_row_bytes()));
    std::string saved;
    table_->policy()->save(saved);
    if (seed % 2 == 0) {
      make("{}");
      ByteReader in(saved);
      table_->policy()->load(in, [](uint32_t) { return true; });
      EXPECT_EQ(table_->policy()->memory_bytes(), expected.size() * (16 + table_->new_row_bytes()));
    }
    train({});
    std::vector<uint64_t> keys;
    for (const auto& [key, count] : expected) {
      keys.push_back(key);
      EXPECT_EQ(history(key), (RowHistory{static_cast<double>(count.shows), 0, 0})) << key;
    }
    EXPECT_EQ(table_->sorted_keys(), keys);
    EXPECT_EQ(table_->policy()->memory_bytes(), 0u);
  }
}

// A held key that has a row needs no room for another.
TEST_F(RowPolicyStateTest, HeldKeysTakeTheMemoryOfTheRowsThatTheyMayGet) {
  make("{}");
  train({7, 8});
  const std::vector<KeyCount> counts(3, {1, 0});
  table_->policy()->hold_counts(std::vector<uint64_t>{6, 7, 8}, counts);
  EXPECT_EQ(table_->policy()->memory_bytes(), 3 * 16 + table_->new_row_bytes());
  table_->policy()->hold_counts(std::vector<uint64_t>{6, 7, 9}, counts);
  EXPECT_EQ(table_->policy()->memory_bytes(), 4 * 16 + 2 * table_->new_row_bytes());
  table_->policy()->forget_held();
  EXPECT_EQ(table_->policy()->memory_bytes(), 0u);
}

TEST_F(RowPolicyStateTest, AFullPartitionRefusesNewRowsTheSmallestKeysFirstServed) {
  make(R"({"limit": 128})");  // two a partition
  const std::vector<uint64_t> keys = neighbours(4);
  train({keys[3]});
  train({keys[2], keys[0], keys[1]});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(keys[0], keys[3]));
  EXPECT_EQ(read(keys[1]), 100 - 2) << "reads as if no gradient had come";
  train({keys[1], keys[3]});
  EXPECT_EQ(table_->policy()->report(), (RowReport{.rows = 2, .created = 2, .refused = 3}));
  train({keys[3]}, {1, 0});
  EXPECT_EQ(table_->erase(std::vector<uint64_t>{keys[3], keys[2]}), 1u);
  train({keys[1]});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(keys[0], keys[1])) << "there was room again";
}

TEST_F(RowPolicyStateTest, AFullPartitionGivesUpItsLeastValuableRows) {
  make(R"({"limit": 192, "when_full": "evict"})");  // three a partition
  const std::vector<uint64_t> keys = neighbours(6);
  train({keys[0]}, {10, 0});  // worth 1
  train({keys[1]}, {1, 1});   // worth 1
  train({keys[2]}, {50, 0});  // worth 5
  train({keys[3]}, {2, 1});   // worth 1.1
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(keys[1], keys[2], keys[3])) << "the smaller of equals goes";
  table_->policy()->end_pass(0, device_);
  train({keys[1]}, {0, 0});  // as old as the next, worth less
  train({keys[4]}, {10, 0});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(keys[2], keys[3], keys[4]));
  EXPECT_EQ(table_->policy()->report(), (RowReport{.rows = 3, .created = 5, .evicted = 2}));
}

TEST_F(RowPolicyStateTest, OfEqualWorthTheLongestUnseenGoes) {
  make(R"({"limit": 128, "when_full": "evict", "decay": 1})");
  const std::vector<uint64_t> keys = neighbours(3);
  train({keys[0]}, {4, 0});
  train({keys[1]}, {4, 0}, /*shrink=*/true);
  train({keys[0]}, {0, 0});  // seen
  train({keys[2]}, {8, 0});
  EXPECT_THAT(table_->sorted_keys(), ElementsAre(keys[0], keys[2])) << "though its key is smaller";
}

TEST_F(RowPolicyStateTest, EvictionMakesRoomForASixteenthAtOnce) {
  make(R"({"limit": 2048, "when_full": "evict"})");  // 32 a partition
  const std::vector<uint64_t> keys = neighbours(34);
  train({keys.begin(), keys.begin() + 32}, {5, 0});
  EXPECT_EQ(table_->size(), 32u);
  train({keys[32]}, {5, 0});
  EXPECT_EQ(table_->size(), 30u);
  EXPECT_EQ(table_->sorted_keys().front(), keys[3]);
}

TEST_F(RowPolicyStateTest, RowsOfAModelAreThereAtOnceAndHaveNoScoreToFail) {
  make(R"({"admission": {"count": 5}, "expire": {"unseen": 1, "below_score": 10}})");
  const std::vector<uint64_t> keys = {7};
  const std::vector<float> weights = {3, 3};
  table_->load_rows(keys, weights.data(), device_);
  EXPECT_EQ(read(7), 3);
  for (int64_t pass = 0; pass < 2; ++pass) {
    train({8});
    table_->policy()->end_pass(pass, device_);
    EXPECT_EQ(table_->size(), 1u);
  }
  train({8});
  table_->policy()->end_pass(2, device_);
  EXPECT_EQ(table_->size(), 0u) << "but they grow old";
}

TEST_F(RowPolicyStateTest, KeysThatWaitAreBounded) {
  make(R"({"admission": {"count": 9, "max_waiting": 640}})");
  std::vector<uint64_t> keys(100000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  train({1, 2, 3}, {8, 0});
  train(keys);
  EXPECT_LE(table_->policy()->report().waiting, 640u);
  EXPECT_EQ(table_->sorted_keys(), (std::vector<uint64_t>{1, 2, 3})) << "counted before any is forgotten";
}

}  // namespace
}  // namespace ps::row_policy_state_test
