// A cache of rows and the store that lends them: which rows it gets back, keeps, and is asked for ahead, and rows that wait for
// their admission.
#include "device/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "device/device_type.h"
#include "store/local_store.h"
#include "support/bits.h"
#include "unit/device/narrow_table.h"

namespace ps::row_lending_test {
namespace {

// A store that remembers for which rows of the next batch it was asked, and what it got.
class AskedStore final : public RowLender {
 public:
  explicit AskedStore(LocalStore& store) : store_(store) {}

  void lend_rows(int parameter, RowBorrower& borrower) override { store_.lend_rows(parameter, borrower); }
  TableLayout layout(int parameter) const override { return store_.layout(parameter); }
  const Optimizer<float>& optimizer(int parameter) const override { return store_.optimizer(parameter); }
  float last_scale(int parameter) const override { return store_.last_scale(parameter); }
  void fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) override {
    store_.fetch_rows(parameter, keys, rows);
  }
  void fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) override {
    store_.fetch_stored(parameter, keys, rows);
  }
  void put_rows(int parameter, const RowBlock& rows) override {
    store_.put_rows(parameter, rows);
    put.insert(put.end(), rows.keys.begin(), rows.keys.end());
  }
  void keep_rows(int, const RowBlock& rows) override { kept = rows; }
  bool is_used(int, uint64_t key) const override { return used.contains(key); }
  void take_stored(int, std::span<const uint64_t> keys, bool untrained, RowBlock& rows) override {
    keys_asked.assign(keys.begin(), keys.end());
    untrained_asked = untrained;
    rows.clear();
  }

  std::vector<uint64_t> keys_asked;
  std::optional<bool> untrained_asked;
  std::set<uint64_t> used;  // by coming batches
  std::vector<uint64_t> put;
  RowBlock kept;

 private:
  LocalStore& store_;
};

// The device has no room for the last of three batches beside the first, of which every other row is used again.
TEST(RowLending, RowsThatLeaveUnchangedAreKeptIfABatchUsesThem) {
  const OptimizerPlan plan = make_optimizer_plan({{"type", "adagrad"}}, "mean");
  Device processor(1, best_cpu_level());
  LocalStore store(std::vector{table_spec()}, plan, UINT64_MAX, processor);
  AskedStore lender(store);
  const auto device = open_row_device("emulated");
  RowCache cache(device->make_rows({static_cast<uint32_t>(kWidth), 1, /*rows=*/128, /*most_keys=*/128, {}}),
                 lender, 0, {});
  std::vector<float> weights(100 * kWidth);
  std::vector<ParameterView<float>> views;
  const auto pull = [&](uint64_t first, uint64_t count) {
    KeyPlan keys;
    for (uint64_t key = first; key < first + count; ++key) keys.keys.push_back(key);
    store.pull({&keys, 1}, PullMode::kTrain, views);
    cache.pull(keys.keys, weights.data());
    return keys;
  };
  const auto train = [&](uint64_t first, uint64_t count) {
    const KeyPlan keys = pull(first, count);
    std::fill_n(views[0].row_gradients, count * kWidth, 1.0f);
    store.push({&keys, 1}, views, {4, 0});
    cache.push(keys.keys, views[0].row_gradients);
  };
  train(0, 60);
  train(200, 5);
  cache.put_back();
  EXPECT_EQ(std::set<uint64_t>(lender.put.begin(), lender.put.end()).size(), 65u);
  for (uint64_t key = 0; key < 60; key += 2) lender.used.insert(key);
  lender.put.clear();
  lender.kept = {};
  pull(100, 100);
  for (uint64_t key : lender.put) EXPECT_GE(key, 200u) << "row " << key << " has not changed";
  ASSERT_GT(lender.kept.size(), 5u);
  for (uint64_t key : lender.kept.keys) EXPECT_TRUE(lender.used.contains(key));
  RowBlock stored;
  store.copy_rows(0, lender.kept.keys, stored);
  EXPECT_EQ(lender.kept.values, stored.values);
  EXPECT_EQ(lender.kept.stamps, stored.stamps);
}

TEST(RowLending, UntrainedRowsAreAskedForAheadOnlyIfTheDeviceTypeHoldsThem) {
  const OptimizerPlan plan = make_optimizer_plan({{"type", "sgd"}}, "mean");
  Device processor(1, best_cpu_level());
  const auto device = open_row_device("emulated");
  const ValueRounding rounding{ValueType::kBf16, false, 1};
  for (const bool loads_untrained : {false, true}) {
    LocalStore store(std::vector{table_spec()}, plan, UINT64_MAX, processor);
    AskedStore lender(store);
    auto rows =
        device->make_rows({static_cast<uint32_t>(kWidth), 0, /*rows=*/64, /*most_keys=*/64, rounding});
    RowCache cache(std::move(rows), lender, 0, rounding, NewRows::kAtFirstUse, loads_untrained);
    const std::vector<uint64_t> present = {1, 2}, next = {2, 3};
    std::vector<float> weights(present.size() * kWidth);
    cache.pull(present, weights.data());
    cache.load_ahead(present, next);
    EXPECT_THAT(lender.keys_asked, testing::ElementsAre(3));
    EXPECT_EQ(lender.untrained_asked, loads_untrained);
  }
}

// Two buckets of rows that wait for admission, which the second occurrence of a key brings.
class WaitingRows : public testing::Test {
 protected:
  WaitingRows() {
    ParameterSpec spec = table_spec();
    spec.row_policy.emplace().admission.emplace().count = 2;
    plain_ = std::make_unique<LocalStore>(std::vector{spec}, plan_, UINT64_MAX, processor_);
    lender_ = std::make_unique<LocalStore>(std::vector{spec}, plan_, UINT64_MAX, processor_);
    auto rows = device_->make_rows({static_cast<uint32_t>(kWidth), 0, /*rows=*/64, /*most_keys=*/64, {}});
    for (uint64_t key = 0; key < 300; ++key) keys_of_[rows->bucket(key)].push_back(key);
    cache_ = std::make_unique<RowCache>(std::move(rows), *lender_, 0, ValueRounding(), NewRows::kByAdmission);
  }

  // Returns the next `count` keys of a bucket that no batch has had.
  std::vector<uint64_t> fresh(uint32_t bucket, size_t count) {
    std::vector<uint64_t>& left = keys_of_[bucket];
    std::vector<uint64_t> keys(left.end() - static_cast<ptrdiff_t>(count), left.end());
    left.resize(left.size() - count);
    return keys;
  }

  // One step with each key once.  Returns the weights that were pulled, which are those of plain rows.
  std::vector<float> step(const std::vector<uint64_t>& keys) {
    KeyPlan plan;
    plan.keys = keys;
    plan.counts.assign(keys.size(), {1, 0});
    std::vector<float> weights(keys.size() * kWidth), expected;
    std::vector<ParameterView<float>> views, own;
    plain_->pull({&plan, 1}, PullMode::kTrain, views);
    lender_->pull({&plan, 1}, PullMode::kTrain, own);
    cache_->pull(keys, weights.data());
    for (size_t i = 0; i < keys.size(); ++i)
      expected.insert(expected.end(), views[0].rows[i], views[0].rows[i] + kWidth);
    EXPECT_EQ(bits_of(weights), bits_of(expected));
    for (const auto& view : {views[0], own[0]}) std::fill_n(view.row_gradients, weights.size(), 0.5f);
    plain_->push({&plan, 1}, views, {4, 0});
    lender_->push({&plan, 1}, own, {4, 0});
    cache_->push(keys, own[0].row_gradients);
    return weights;
  }

  const OptimizerPlan plan_ = make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 0.1}}, "mean");
  Device processor_{1, best_cpu_level()};
  const std::unique_ptr<RowDevice> device_ = open_row_device("emulated");
  std::unique_ptr<LocalStore> plain_, lender_;
  std::map<uint32_t, std::vector<uint64_t>> keys_of_;
  std::unique_ptr<RowCache> cache_;
};

// The first bucket has more keys of the last batch but one than rows, so that it is pulled in two rounds.  In the first
// round the other bucket, which is full, loses the key's stand-in, and in the second round gets it again.
TEST_F(WaitingRows, AStandInThatComesBackWithinAPullGivesWayToTheRow) {
  const uint64_t key = fresh(1, 1)[0];
  EXPECT_THAT(step({key}), testing::Each(0));
  step(fresh(1, 31));
  std::vector<uint64_t> batch = fresh(1, 1);
  const std::vector<uint64_t> many = fresh(0, 33);
  batch.insert(batch.end(), many.begin(), many.end());
  batch.push_back(key);
  const uint64_t evicted = cache_->counts().evicted;
  step(batch);
  EXPECT_GE(cache_->counts().evicted, evicted + 2);
  EXPECT_THAT(step({key}), testing::Not(testing::Each(0))) << "it was admitted";
}

}  // namespace
}  // namespace ps::row_lending_test
