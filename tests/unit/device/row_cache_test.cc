// Rows that are trained in a small cache on an emulated device, and come and go there, are those of plain rows that the
// optimizer trains one by one: bit for bit, with their state and the number of steps that they have seen.
#include "device/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "config/json.h"
#include "device/device_type.h"
#include "optim/idle_row.h"
#include "store/local_store.h"
#include "support/bits.h"
#include "unit/device/narrow_table.h"

namespace ps::row_cache_test {
namespace {

// The oracle: a row is a vector of floats in a map.
class PlainRows {
 public:
  explicit PlainRows(const OptimizerPlan& plan, const ValueRounding& rounding)
      : rule_(plan.step_rule()),
        optimizer_(plan.make({})),
        average_(plan.average),
        spec_(table_spec()),
        rounding_(rounding) {}

  struct Plain {
    std::vector<float> floats;  // weights and state
    int64_t stamp = 0;
  };

  // The row with all steps begun.
  Plain& pull(uint64_t key) {
    auto [found, is_new] = rows_.try_emplace(key);
    if (is_new) found->second = first(key);
    bring_up_to_date(found->second);
    round(key, found->second);
    return found->second;
  }

  // The weights to read, of a row that may not exist.
  std::vector<float> read(uint64_t key) const {
    const auto found = rows_.find(key);
    Plain copy = found != rows_.end() ? found->second : first(key);
    bring_up_to_date(copy);
    std::vector<float> weights(kWidth);
    optimizer_->read(row(copy), weights.data());
    return weights;
  }

  void push(std::span<const uint64_t> keys, const float* gradients, const StepInfo& info) {
    const StepSize step = rule_.next(info);
    optimizer_->begin_step(step.learning_rate);
    for (uint64_t key : keys) {
      update(key, rows_.at(key), gradients, step.scale);
      gradients += kWidth;
    }
  }

  const std::map<uint64_t, Plain>& rows() const { return rows_; }

 private:
  static Row<float> row(Plain& plain) {
    return {plain.floats.data(), plain.floats.data() + kWidth, kWidth, kWidth};
  }
  Plain first(uint64_t key) const {
    Plain plain{std::vector<float>(static_cast<size_t>(kWidth * (1 + optimizer_->state_arrays()))), 0};
    spec_.initializer.fill(key, {plain.floats.data(), kWidth}, best_cpu_level());
    optimizer_->initialize(row(plain));
    return plain;
  }
  // The mean of weights that are rounded takes them in as they are rounded.
  void update(uint64_t key, Plain& plain, const float* gradient, float scale) const {
    const std::vector<float> before = plain.floats;
    optimizer_->update(row(plain), gradient, scale);
    plain.stamp = optimizer_->steps();
    round(key, plain);
    if (!average_ || plain.stamp <= average_->begin_step || rounding_.type == ValueType::kF32) return;
    float* const mean = plain.floats.data() + plain.floats.size() - kWidth;
    std::copy(before.end() - kWidth, before.end(), mean);
    hold_row<float>(1, {plain.floats.data(), nullptr, mean, plain.stamp - 1 - average_->begin_step, kWidth});
  }
  void bring_up_to_date(Plain& plain) const {
    optimizer_->catch_up(row(plain), plain.stamp, optimizer_->steps());
    plain.stamp = optimizer_->steps();
  }
  void round(uint64_t key, Plain& plain) const {
    const ValueRounding now = rounding_.at_step(static_cast<uint64_t>(plain.stamp));
    for (uint32_t c = 0; c < kWidth; ++c)
      plain.floats[c] = now.round(plain.floats[c], now.row_seed(hash_key(key)), c);
  }

  StepRule rule_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  const std::optional<AverageOptions> average_;
  const ParameterSpec spec_;
  const ValueRounding rounding_;
  std::map<uint64_t, Plain> rows_;
};

// The calls that cost most: rows that come to the process to be brought up to date, and work that the device does instead.
struct Calls {
  int rows_asked = 0, advanced = 0;
};

class WatchedRows final : public CachedRows {
 public:
  WatchedRows(std::unique_ptr<CachedRows> rows, Calls& calls) : rows_(std::move(rows)), calls_(calls) {}

  uint32_t num_buckets() const override { return rows_->num_buckets(); }
  uint32_t bucket(uint64_t key) const override { return rows_->bucket(key); }
  uint32_t most_keys() const override { return rows_->most_keys(); }
  void look_up(std::span<const uint64_t> keys, uint8_t* found, uint64_t* stamps, float* rows) override {
    calls_.rows_asked += rows != nullptr;
    rows_->look_up(keys, found, stamps, rows);
  }
  void load(std::span<const uint64_t> keys, uint64_t touched, std::span<const uint64_t> stamps,
            std::span<const uint32_t> sources, std::span<const float> rows, StampedRows& evicted) override {
    rows_->load(keys, touched, stamps, sources, rows, evicted);
  }
  void advance(std::span<const uint64_t> keys, uint64_t touched, uint64_t stamp,
               std::span<const uint32_t> which, std::span<const IdleChange> changes) override {
    ++calls_.advanced;
    rows_->advance(keys, touched, stamp, which, changes);
  }
  void read(std::span<const uint64_t> keys, float* weights) override { rows_->read(keys, weights); }
  void step(std::span<const uint64_t> keys, uint64_t stamp, const float* gradients,
            const CurrentStep<float>& step, float scale) override {
    rows_->step(keys, stamp, gradients, step, scale);
  }
  void copy_buckets(uint32_t first, uint32_t count, StampedRows& out) override {
    rows_->copy_buckets(first, count, out);
  }
  void clear() override { rows_->clear(); }

 private:
  const std::unique_ptr<CachedRows> rows_;
  Calls& calls_;
};

class CachedTraining {
 public:
  CachedTraining(const Json& optimizer, uint64_t rows, uint32_t most_keys, uint64_t seed,
                 const std::string& devices = "emulated", const ValueRounding& rounding = {})
      : rounding_(rounding),
        device_(open_row_device(devices)),
        plan_(make_optimizer_plan(optimizer, "mean")),
        random_(seed, 7),
        store_({table_spec()}, plan_, UINT64_MAX, processor_),
        cache_(std::make_unique<WatchedRows>(device_->make_rows(options(rows, most_keys)), calls_), store_, 0,
               rounding),
        oracle_(plan_, rounding) {}

  // A step with `size` keys of `keys` different ones, some of them often.
  void step(size_t size, uint64_t keys) {
    KeyPlan plan;
    std::set<uint64_t> drawn;
    while (drawn.size() < size) drawn.insert(draw_key(keys));
    for (uint64_t key : drawn)
      plan.keys.insert(plan.keys.begin() + static_cast<ptrdiff_t>(random_.below(plan.keys.size() + 1)), key);
    store_.pull({&plan, 1}, PullMode::kTrain, views_);
    std::vector<float> weights(size * kWidth), expected;
    cache_.pull(plan.keys, weights.data());
    for (uint64_t key : plan.keys) {
      const auto& row = oracle_.pull(key).floats;
      expected.insert(expected.end(), row.begin(), row.begin() + kWidth);
    }
    ASSERT_EQ(bits_of(weights), bits_of(expected));
    for (size_t i = 0; i < size * kWidth; ++i)
      views_[0].row_gradients[i] = static_cast<float>(random_.normal());
    store_.push({&plan, 1}, views_, {4, 0});
    cache_.push(plan.keys, views_[0].row_gradients);
    oracle_.push(plan.keys, views_[0].row_gradients, {4, 0});
  }

  // Compares weights as tests and models read them.
  void compare_weights() {
    std::vector<uint64_t> keys = {123456789};  // one that nobody has used
    for (const auto& [key, row] : oracle_.rows()) keys.push_back(key);
    std::vector<float> weights(keys.size() * kWidth), expected;
    store_.read_rows(0, keys, weights.data());
    for (uint64_t key : keys) {
      for (float weight : oracle_.read(key)) expected.push_back(weight);
    }
    ASSERT_EQ(bits_of(weights), bits_of(expected));
  }

  // Compares all that a checkpoint has.
  void compare_stored() {
    std::vector<uint64_t> keys;
    std::vector<float> expected;
    std::vector<uint32_t> stamps;
    for (const auto& [key, row] : oracle_.rows()) {
      keys.push_back(key);
      expected.insert(expected.end(), row.floats.begin(), row.floats.end());
      stamps.push_back(static_cast<uint32_t>(row.stamp));
    }
    cache_.put_back();
    RowBlock stored;
    store_.copy_rows(0, keys, stored);
    ASSERT_EQ(store_.keys(0), keys);
    ASSERT_EQ(bits_of(stored.values), bits_of(expected));
    if (store_.layout(0).stamped) {
      ASSERT_EQ(stored.stamps, stamps);
    }
  }

  RowCache& cache() { return cache_; }
  const Calls& calls() const { return calls_; }
  LocalStore& store() { return store_; }

 private:
  CachedRowsOptions options(uint64_t rows, uint32_t most_keys) const {
    return {static_cast<uint32_t>(kWidth), static_cast<uint32_t>(plan_.make({})->state_arrays()), rows,
            most_keys, rounding_};
  }
  uint64_t draw_key(uint64_t keys) {
    const uint64_t number = random_.below(2) == 0 ? random_.below(keys / 4) : random_.below(keys);
    return number == 0 ? ~uint64_t{0} : number - 1;
  }

  const ValueRounding rounding_;
  const std::unique_ptr<RowDevice> device_;
  const OptimizerPlan plan_;
  Random random_;
  Device processor_{1, best_cpu_level()};
  LocalStore store_;
  Calls calls_;
  RowCache cache_;
  PlainRows oracle_;
  std::vector<ParameterView<float>> views_;
};

const std::vector<Json>& optimizers() {
  static const std::vector<Json> all = {
      {{"type", "sgd"}},
      {{"type", "sgd"}, {"l1", 0.001}, {"l2", 0.01}},
      {{"type", "momentum"}, {"l2", 0.01}},
      {{"type", "momentum"}, {"nesterov", true}, {"l1", 0.01}},
      {{"type", "adagrad"}, {"clip_value", 0.1}},
      {{"type", "decayed_adagrad"}, {"l2", 0.01}},
      {{"type", "adadelta"}},
      {{"type", "rmsprop"}},
      {{"type", "adam"}},
      {{"type", "adam"}, {"l2", 0.01}},
      {{"type", "adamax"}},
      {{"type", "ftrl"}, {"l1", 0.1}},
      {{"type", "sgd"}, {"average", Json::object()}},
      {{"type", "sgd"}, {"l1", 0.001}, {"l2", 0.01}, {"average", {{"begin_step", 2}}}},
      {{"type", "momentum"}, {"l2", 0.01}, {"average", {{"begin_step", 1}}}},
      {{"type", "adagrad"}, {"l2", 0.01}, {"average", Json::object()}},
      {{"type", "rmsprop"}, {"average", {{"begin_step", 3}}}},
      {{"type", "adam"}, {"average", {{"begin_step", 2}}}},
      // A step whose rate is 0 changes no weight.
      {{"type", "ftrl"},
       {"average", Json::object()},
       {"schedule",
        {{"type", "manual"}, {"segments", Json::array({Json::array({8, 1}), Json::array({9, 0})})}}}},
  };
  return all;
}

TEST(RowCache, RowsThatComeAndGoAreThoseOfPlainRows) {
  for (const Json& optimizer : optimizers()) {
    SCOPED_TRACE(optimizer.dump());
    CachedTraining training(optimizer, /*rows=*/96, /*most_keys=*/96, /*seed=*/1);
    for (int step = 0; step < 8; ++step) {
      ASSERT_NO_FATAL_FAILURE(training.step(20, 240));
      if (step == 4) {
        ASSERT_NO_FATAL_FAILURE(training.compare_weights());
      }
    }
    ASSERT_NO_FATAL_FAILURE(training.compare_stored());
    EXPECT_GT(training.cache().counts().evicted, 10u);
    EXPECT_LT(training.cache().counts().fetched, training.cache().counts().asked);
  }
}

TEST(RowCache, RowsOnSeveralDevicesAreThoseOfPlainRows) {
  for (const char* devices : {"emulated:0,emulated:1", "emulated:2,emulated:0,emulated:1", "emulated:7"}) {
    for (const Json& optimizer : optimizers()) {
      SCOPED_TRACE(cat(devices, " ", optimizer.dump()));
      // One bucket on each device: some batches are trained in rounds.
      CachedTraining training(optimizer, /*rows=*/32, /*most_keys=*/64, /*seed=*/8, devices);
      for (int step = 0; step < 5; ++step) ASSERT_NO_FATAL_FAILURE(training.step(step == 3 ? 90 : 25, 240));
      ASSERT_NO_FATAL_FAILURE(training.compare_weights());
      ASSERT_NO_FATAL_FAILURE(training.compare_stored());
      EXPECT_GT(training.cache().counts().evicted, 10u);
    }
  }
}

// The store gets back rows of rounded weights, whenever they were on a device, and on which.
TEST(RowCache, RowsOf16BitsThatComeAndGoAreThoseOfPlainRowsThatAreRounded) {
  uint64_t seed = 0;
  for (const ValueRounding& rounding :
       {ValueRounding{ValueType::kF16, false, 1}, ValueRounding{ValueType::kBf16, true, 2}}) {
    for (const Json& optimizer : optimizers()) {
      SCOPED_TRACE(cat(optimizer.dump(), " rounding ", rounding.seed));
      ++seed;
      // In rounds, some of them, and with room for all.
      CachedTraining training(optimizer, /*rows=*/seed % 3 == 0 ? 512 : 32, /*most_keys=*/64, seed,
                              seed % 2 == 0 ? "emulated" : "emulated:0,emulated:1", rounding);
      for (int step = 0; step < 5; ++step) ASSERT_NO_FATAL_FAILURE(training.step(step == 3 ? 90 : 25, 240));
      ASSERT_NO_FATAL_FAILURE(training.compare_weights());
      ASSERT_NO_FATAL_FAILURE(training.compare_stored());
    }
  }
}

TEST(RowCache, BatchesThatDoNotFitAreTrainedInRounds) {
  for (const Json& optimizer : optimizers()) {
    SCOPED_TRACE(optimizer.dump());
    CachedTraining training(optimizer, /*rows=*/32, /*most_keys=*/32, /*seed=*/2);
    for (int step = 0; step < 3; ++step) ASSERT_NO_FATAL_FAILURE(training.step(step == 1 ? 10 : 80, 120));
    ASSERT_NO_FATAL_FAILURE(training.compare_stored());
    // Rows of the first batch leave between its pull and its push.
    EXPECT_GT(training.cache().counts().fetched, 160u);
  }
}

TEST(RowCache, CallsTakeNoMoreKeysThanTheDeviceAllows) {
  CachedTraining training({{"type", "momentum"}}, /*rows=*/512, /*most_keys=*/32, /*seed=*/3);
  for (int step = 0; step < 3; ++step) ASSERT_NO_FATAL_FAILURE(training.step(70, 100));
  ASSERT_NO_FATAL_FAILURE(training.compare_stored());
  EXPECT_EQ(training.cache().counts().evicted, 0u);
}

TEST(RowCache, RowsGoBackOnceAndOnlyIfTheyWereTrainedSince) {
  CachedTraining training({{"type", "adagrad"}}, /*rows=*/512, /*most_keys=*/64, /*seed=*/4);
  ASSERT_NO_FATAL_FAILURE(training.step(30, 100));
  training.cache().put_back();
  EXPECT_EQ(training.cache().counts().written, 30u);
  training.cache().put_back();
  EXPECT_EQ(training.cache().counts().written, 30u);
  ASSERT_NO_FATAL_FAILURE(training.step(30, 100));
  ASSERT_NO_FATAL_FAILURE(training.step(30, 100));
  ASSERT_NO_FATAL_FAILURE(training.compare_stored());
}

// The store is one that knows of no coming batch, so that all rows go back early, and again if they are trained after that.
TEST(RowCache, RowsThatGoBackEarlyHaveTheirLastBits) {
  for (const Json& optimizer : optimizers()) {
    for (const char* devices : {"emulated", "emulated:0,emulated:1"}) {
      SCOPED_TRACE(cat(devices, " ", optimizer.dump()));
      // With two devices, a call takes a bucket, and some batches are trained in rounds.
      const bool small = std::string_view(devices) != "emulated";
      CachedTraining training(optimizer, /*rows=*/small ? 64 : 512, /*most_keys=*/64, /*seed=*/9, devices);
      for (int pass = 0; pass < 2; ++pass) {
        for (int step = 0; step < 5; ++step) {
          ASSERT_NO_FATAL_FAILURE(training.step(step == 3 && small ? 90 : 30, 120));
          if (step >= 2) training.cache().put_back_unused();
        }
        while (training.cache().put_back_unused()) {
        }
        training.cache().put_back_unused();  // rows that were trained after their bucket was gone through
        const uint64_t before = training.cache().counts().written;
        training.cache().put_back();
        EXPECT_EQ(training.cache().counts().written, before) << "nothing is left";
        ASSERT_NO_FATAL_FAILURE(training.compare_stored());
        const uint64_t written = training.cache().counts().written;
        training.cache().put_back();
        EXPECT_EQ(training.cache().counts().written, written);
      }
    }
  }
}

TEST(RowCache, RowsThatSatOutStepsComeToTheProcessOnlyIfThereIsNoRuleForThem) {
  struct Case {
    Json optimizer;
    bool advanced, asked;
  };
  const Case cases[] = {{{{"type", "adagrad"}}, false, false},
                        {{{"type", "adagrad"}, {"l1", 0.01}}, true, false},
                        {{{"type", "momentum"}}, true, false},
                        {{{"type", "momentum"}, {"l1", 0.01}}, false, true},
                        {{{"type", "rmsprop"}}, false, true},
                        {{{"type", "adagrad"}, {"average", Json::object()}}, true, false},
                        {{{"type", "adagrad"}, {"l1", 0.01}, {"average", Json::object()}}, false, true},
                        {{{"type", "momentum"}, {"l2", 0.01}, {"average", Json::object()}}, true, false}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.optimizer.dump());
    CachedTraining training(each.optimizer, /*rows=*/512, /*most_keys=*/64, /*seed=*/6);
    for (int step = 0; step < 4; ++step) ASSERT_NO_FATAL_FAILURE(training.step(30, 80));
    EXPECT_EQ(training.calls().advanced > 0, each.advanced);
    EXPECT_EQ(training.calls().rows_asked > 0, each.asked);
  }
}

TEST(RowCache, RowsThatAreSetElsewhereAreFetchedAgain) {
  CachedTraining training({{"type", "sgd"}}, /*rows=*/64, /*most_keys=*/64, /*seed=*/5);
  ASSERT_NO_FATAL_FAILURE(training.step(10, 40));
  const std::vector<uint64_t> keys = training.store().keys(0);
  const std::vector<float> weights(keys.size() * kWidth, 2.5f);
  training.store().load_rows(0, keys, weights.data());
  std::vector<float> pulled(weights.size());
  training.cache().pull(keys, pulled.data());
  EXPECT_EQ(pulled, weights);
  EXPECT_EQ(training.cache().counts().fetched, 2 * keys.size());
}

}  // namespace
}  // namespace ps::row_cache_test
