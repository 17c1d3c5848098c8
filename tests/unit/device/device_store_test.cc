// A store whose rows are trained on a device gives what the store gives alone.
#include "device/device_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/random.h"
#include "store/local_store.h"

namespace ps::device_store_test {
namespace {

// Two tables with sparse update, of rows of different widths, a table without it, and a matrix.
std::vector<ParameterSpec> parameters(const std::optional<RowPolicy>& policy = std::nullopt) {
  std::vector<ParameterSpec> all(4);
  const char* const names[] = {"wide", "matrix", "deep", "dense_rows"};
  for (size_t p = 0; p < all.size(); ++p) {
    all[p].name = names[p];
    all[p].kind = p == 1 ? ParameterKind::kMatrix : ParameterKind::kRows;
    all[p].sparse = p % 2 == 0;
    if (all[p].sparse) all[p].row_policy = policy;
    all[p].rows = p == 1 ? 3 : p == 2 ? 0 : 90;
    all[p].cols = p == 2 ? 9 : 2;
    all[p].initializer = {Distribution::kNormal, 0, 0.5, 10 + p};
  }
  return all;
}

class Trained {
 public:
  explicit Trained(const OptimizerPlan& optimizers, const std::optional<RowPolicy>& policy = std::nullopt)
      : parameters_(parameters(policy)), local_(parameters_, optimizers, UINT64_MAX, processor_) {}

  void use_device(const OptimizerPlan& optimizers, int64_t rows = 64) {
    std::shared_ptr<RowDevice> device = make_emulated_device();
    DeviceOptions options;
    options.type = "emulated";
    options.rows = rows;
    const CachePlan plan = plan_caches(*device, options, parameters_, optimizers);
    on_device_ = std::make_unique<DeviceStore>(local_, local_, std::move(device), plan);
  }

  ParameterStore& store() { return on_device_ ? static_cast<ParameterStore&>(*on_device_) : local_; }
  LocalStore& local() { return local_; }
  DeviceStore& on_device() { return *on_device_; }

  // Makes a step with gradients that depend on the weights, so that a difference grows.
  void step(const std::vector<KeyPlan>& plans, int64_t pass, bool shrink = false) {
    std::vector<ParameterView<float>> views;
    store().pull(plans, PullMode::kTrain, views);
    for (size_t p = 0; p < plans.size(); ++p) {
      const size_t cols = static_cast<size_t>(parameters()[p].cols);
      for (size_t i = 0; p != 1 && i < plans[p].keys.size() * cols; ++i)
        views[p].row_gradients[i] = views[p].rows[i / cols][i % cols] + static_cast<float>(i % 7) - 3;
      for (size_t i = 0; p == 1 && i < 6; ++i) views[p].gradient[i] = views[p].value[i] - 1;
    }
    store().push(plans, views, {8, pass, shrink});
  }

 private:
  const std::vector<ParameterSpec> parameters_;
  Device processor_{2, best_cpu_level()};
  LocalStore local_;
  std::unique_ptr<DeviceStore> on_device_;
};

std::vector<KeyPlan> draw_plans(Random& random) {
  std::vector<KeyPlan> plans(4);
  for (size_t p : {0, 2, 3}) {
    std::set<uint64_t> keys;
    for (size_t i = 0, size = random.below(90); i < size; ++i) keys.insert(random.below(90));
    plans[p].keys.assign(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i)
      plans[p].counts.push_back(
          {static_cast<uint32_t>(1 + random.below(3)), static_cast<uint32_t>(random.below(2))});
  }
  return plans;
}

// Compares rows of sparse parameters as checkpoints have them, and all weights of the others.
void expect_same(Trained& one, Trained& other) {
  for (int p = 0; p < 4; ++p) {
    if (!parameters()[static_cast<size_t>(p)].sparse) {
      std::vector<float> floats, others;
      one.local().copy_stored(p, floats), other.local().copy_stored(p, others);
      ASSERT_EQ(floats, others) << "parameter " << p;
      continue;
    }
    const std::vector<uint64_t> keys = one.store().keys(p);
    ASSERT_EQ(keys, other.store().keys(p));
    RowBlock rows, others;
    one.local().copy_rows(p, keys, rows), other.local().copy_rows(p, keys, others);
    ASSERT_EQ(rows.values, others.values) << "parameter " << p;
    ASSERT_EQ(rows.stamps, others.stamps) << "parameter " << p;
    ASSERT_EQ(rows.statistics, others.statistics) << "parameter " << p;
    ASSERT_EQ(one.store().row_report(p), other.store().row_report(p)) << "parameter " << p;
  }
}

// Compares the weights that a test of the model would use.
void expect_same_read(Trained& one, Trained& other, const std::vector<KeyPlan>& plans) {
  std::vector<ParameterView<float>> views, others;
  one.store().pull(plans, PullMode::kRead, views);
  other.store().pull(plans, PullMode::kRead, others);
  for (size_t p : {0, 2, 3}) {
    const int64_t cols = parameters()[p].cols;
    for (size_t n = 0; n < plans[p].keys.size(); ++n)
      ASSERT_TRUE(std::equal(views[p].rows[n], views[p].rows[n] + cols, others[p].rows[n]));
  }
}

void train_both(const OptimizerPlan& optimizers) {
  Trained plain(optimizers), cached(optimizers);
  cached.use_device(optimizers);
  Random random(9, 1);
  for (int64_t pass = 0; pass < 2; ++pass) {
    for (int step = 0; step < 4; ++step) {
      const std::vector<KeyPlan> plans = draw_plans(random);
      plain.step(plans, pass), cached.step(plans, pass);
      if (step == 2) {
        ASSERT_NO_FATAL_FAILURE(expect_same_read(plain, cached, draw_plans(random)));
      }
    }
    plain.store().end_pass(pass), cached.store().end_pass(pass);
    ASSERT_NO_FATAL_FAILURE(expect_same(plain, cached));
    EXPECT_EQ(plain.store().learning_rate(), cached.store().learning_rate());
  }
  const Json counters = cached.on_device().counters();
  EXPECT_GT(counters["rows_evicted"], 0);
  EXPECT_GT(counters["rows_written_back"], counters["rows_evicted"]);
}

TEST(DeviceStore, TrainsAsTheStoreAlone) {
  train_both(make_optimizer_plan({{"type", "momentum"}, {"learning_rate", 0.05}, {"l2", 0.01}}, "mean"));
  train_both(make_optimizer_plan({{"type", "adam"}}, "sum"));
}

TEST(DeviceStore, ClipsByTheNormOfGradientsAsTheStoreAlone) {
  OptimizerPlan plan = make_optimizer_plan({{"type", "adagrad"}, {"learning_rate", 0.1}}, "mean");
  plan.clip_norm = 0.5;
  train_both(plan);
  plan.clip_norm.reset();
  plan.clip_global_norm = 0.75;
  train_both(plan);
}

// Trains with a policy on a device that has room for some of the rows, and once for less than a batch. Returns the report of
// the table of 90 keys.
RowReport train_with_policy(const char* policy_text, const Json& optimizer, int64_t rows) {
  SCOPED_TRACE(cat(policy_text, " ", optimizer.dump(), " ", rows));
  const RowPolicy policy = RowPolicy::spec().parse(parse_json(policy_text, "rows"), "rows");
  const OptimizerPlan optimizers = make_optimizer_plan(optimizer, "mean");
  Trained plain(optimizers, policy), cached(optimizers, policy);
  cached.use_device(optimizers, rows);
  Random random(9, 1);
  for (int64_t pass = 0; pass < 3; ++pass) {
    for (int step = 0; step < 6; ++step) {
      const std::vector<KeyPlan> plans = draw_plans(random);
      plain.step(plans, pass, step == 4), cached.step(plans, pass, step == 4);
      if (step == 3) expect_same(plain, cached);
      if (step == 2) expect_same_read(plain, cached, draw_plans(random));
    }
    plain.store().end_pass(pass), cached.store().end_pass(pass);
    expect_same(plain, cached);
    if (testing::Test::HasFatalFailure()) return {};
  }
  EXPECT_GT(cached.on_device().counters()["rows_evicted"], 0);
  return cached.store().row_report(0);
}

// Reports of one policy, under optimizers that idle steps change and under those that they do not, with much and little room.
std::vector<RowReport> train_with_policy(const char* policy) {
  std::vector<RowReport> reports;
  const Json momentum = {{"type", "momentum"}, {"learning_rate", 0.05}, {"l2", 0.01}};
  const Json l1 = {{"type", "momentum"}, {"learning_rate", 0.05}, {"l1", 0.01}};
  for (const Json& optimizer : {Json{{"type", "adagrad"}, {"learning_rate", 0.1}}, momentum, l1}) {
    for (int64_t rows : {32, 96}) reports.push_back(train_with_policy(policy, optimizer, rows));
  }
  return reports;
}

TEST(DeviceStore, RowsComeAndExpireByAPolicyAsInTheStoreAlone) {
  for (const RowReport& report : train_with_policy(R"({"expire": {"unseen": 1}, "shrink_steps": 2})")) {
    EXPECT_GT(report.expired, 2);
    EXPECT_GT(report.created, report.expired);
  }
  for (const RowReport& report : train_with_policy(R"({"expire": {"below_score": 2}})"))
    EXPECT_GT(report.expired, 2);
}

TEST(DeviceStore, KeysWaitForAdmissionAsInTheStoreAlone) {
  for (const char* admission : {R"({"count": 4})", R"({"probability": 0.2})"}) {
    const std::string policy =
        cat(R"({"admission": )", admission, R"(, "expire": {"unseen": 1}, "shrink_steps": 3})");
    for (const RowReport& report : train_with_policy(policy.c_str())) {
      EXPECT_GT(report.created, 10);
      EXPECT_GT(report.expired, 2);
    }
  }
}

TEST(DeviceStore, FullTablesRefuseAndEvictAsTheStoreAlone) {
  for (const RowReport& report : train_with_policy(R"({"limit": 64})")) EXPECT_GT(report.refused, 20);
  for (const RowReport& report : train_with_policy(R"({"limit": 64, "when_full": "evict"})"))
    EXPECT_GT(report.evicted, 20);
  for (const RowReport& report :
       train_with_policy(R"({"limit": 64, "when_full": "evict", "admission": {"count": 3}})"))
    EXPECT_GT(report.evicted, 20);
}

}  // namespace
}  // namespace ps::device_store_test
