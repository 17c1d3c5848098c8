// Sparse equals dense: for every optimizer, schedule, kind of weight decay and option, rows that are touched
// now and then and caught up in between end as rows that were given a zero gradient at every other step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/spec.h"
#include "optim/kernels/arithmetic.h"
#include "optim/optimizer.h"
#include "optim/options.h"
#include "optim/schedule.h"
#include "support/environment.h"

namespace ps {
namespace {

constexpr int64_t kSteps = 11000;
constexpr int64_t kRows = 5;
constexpr int64_t kWidth = 3;
// Row 0 is touched all along; row 1 sits out 10,000 steps; row 2 is never touched; the others are touched
// rarely, so that momentum, L1 and L2 have all kinds of time to act.
constexpr double kTouched[kRows] = {0.2, 0.2, 0, 0.02, 0.002};
constexpr int64_t kSilentFrom = 500, kSilentTo = 10500;

// Float rows round twice at every touch, by up to 2^-23 of the weight of that time, at random: over 2,200
// touches that walks about 3e-6.  The bound is relative to the largest weight that the row has had:
// subtraction, by L1 or by gradients, keeps the absolute error of what it takes away from.
constexpr double kFloatTolerance = 1e-5;
// In double the same is below 1e-12; what is left is how composed maps round over 10,000 steps.
constexpr double kDoubleTolerance = 1e-11;

// Schedules that change the rate within kSteps batches of 10 samples and passes of 500 steps.
std::vector<Json> schedules() {
  Json warmup = {{"length", 1500}, {"start", 0.1}, {"unit", "steps"}};
  return {
      {{"type", "constant"}},
      {{"type", "poly"}, {"a", 0.0005}, {"b", 0.7}},
      {{"type", "caffe_poly"}, {"a", 9000}, {"unit", "steps"}},
      {{"type", "exp"}, {"a", 0.5}, {"b", 40000}},
      {{"type", "discexp"}, {"a", 0.5}, {"b", 1234}, {"unit", "steps"}},
      {{"type", "linear"}, {"a", 1e-7}, {"b", 1e-4}},
      {{"type", "manual"}, {"segments", {{7000, 1}, {40000, 0.3}, {80000, 2}, {100000, 0.1}}}},
      {{"type", "pass_manual"}, {"segments", {{3, 1}, {9, 0.4}, {20, 0.2}}}},
      {{"type", "cosine"}, {"period", 90000}, {"floor", 0.01}, {"warmup", warmup}},
  };
}

bool has_field(const OptimizerEntry& entry, std::string_view name) {
  const auto& fields = entry.spec().fields();
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field->name == name; });
}

// True when l2 acts at the steps that touch a row alone: it is a part of the gradients of an adaptive optimizer.
bool l2_is_lazy(const OptimizerEntry& entry, const Json& setting) {
  return setting.value("l2_mode", "") == "coupled" && !has_field(entry, "momentum");
}

// The settings of an entry that the test turns: decay and what the entry itself may switch.
std::vector<Json> settings(const OptimizerEntry& entry) {
  std::vector<Json> out;
  for (double l1 : {0.0, 0.02}) {
    for (double l2 : {0.0, 0.02}) out.push_back({{"l1", l1}, {"l2", l2}});
  }
  out.push_back({{"l1", 0.02}, {"l2", 0.02}, {"average", {{"begin_step", 700}}}, {"clip_value", 0.8}});
  out.push_back({{"l2", 0.02}, {"average", {{"begin_step", 0}}}});
  size_t count = out.size();
  for (const auto& field : entry.spec().fields()) {
    if (field->type().value("type", "") != "boolean") continue;
    for (size_t i = 0; i < count; ++i) {
      out.push_back(out[i]);
      out.back()[field->name] = true;
    }
  }
  if (has_field(entry, "l2_mode")) {
    const bool coupled = entry.spec().complete(Json::object(), "")["l2_mode"] == "coupled";
    for (size_t i = 0, all = out.size(); i < all; ++i) {
      if (!out[i].contains("l2") || out[i]["l2"] == 0) continue;
      out.push_back(out[i]);
      out.back()["l2_mode"] = coupled ? "decoupled" : "coupled";
    }
  }
  // A lazy entry's average has no simple dense twin; unit tests have it.
  if (entry.lazy) std::erase_if(out, [](const Json& setting) { return setting.contains("average"); });
  return out;
}

// Rows of one optimizer, and what the steps do to them.
template <class T>
class Rows {
 public:
  explicit Rows(std::unique_ptr<Optimizer<T>> optimizer)
      : optimizer_(std::move(optimizer)),
        arrays_(1 + optimizer_->state_arrays()),
        largest_(kRows),
        seen_(kRows) {
    values_.resize(static_cast<size_t>(kRows * arrays_ * kWidth));
    Random random(7, 1);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t i = 0; i < kWidth; ++i)
        row(r).weight[i] = static_cast<T>(static_cast<float>(random.normal()));
      optimizer_->initialize(row(r));
      note(r);
    }
  }

  Optimizer<T>& optimizer() { return *optimizer_; }
  Row<T> row(int64_t r) { return {at(r), at(r) + kWidth, kWidth, kWidth}; }

  void catch_up(int64_t r) {
    optimizer_->catch_up(row(r), seen_[r], optimizer_->steps());
    seen_[r] = optimizer_->steps();
  }

  void update(int64_t r, const std::vector<double>& gradient, double scale) {
    std::vector<T> g(gradient.begin(), gradient.end());
    optimizer_->update(row(r), g.data(), static_cast<T>(scale));
    seen_[r] = optimizer_->steps();
    note(r);
  }

  // A step in which the row has no gradient, by an optimizer that knows of the same steps.
  void update_idle(int64_t r, Optimizer<T>& idle, double scale) {
    const std::vector<T> zero(kWidth, T(0));
    idle.update(row(r), zero.data(), static_cast<T>(scale));
    note(r);
  }

  // A step of a lazy optimizer that does not touch the row: decay alone.
  void decay(int64_t r, double rate, double l1, double l2) {
    for (int64_t i = 0; i < kWidth; ++i) {
      row(r).weight[i] =
          soft_threshold(row(r).weight[i] * static_cast<T>(1 - rate * l2), static_cast<T>(rate * l1));
    }
    note(r);
  }

  std::vector<T> read(int64_t r) {
    std::vector<T> out(kWidth);
    optimizer_->read(row(r), out.data());
    return out;
  }

  // The largest weight that the row has had, in size.
  double largest(int64_t r) const { return largest_[r]; }

 private:
  T* at(int64_t r) { return &values_[static_cast<size_t>(r * arrays_ * kWidth)]; }

  void note(int64_t r) {
    for (int64_t i = 0; i < kWidth; ++i)
      largest_[r] = std::max<double>(largest_[r], std::abs(row(r).weight[i]));
  }

  std::unique_ptr<Optimizer<T>> optimizer_;
  int64_t arrays_;
  std::vector<T> values_;
  std::vector<double> largest_;
  std::vector<int64_t> seen_;
};

bool touched(Random& random, int64_t r, int64_t step) {
  bool chosen = random.uniform() < kTouched[r];
  return chosen && (r != 1 || step < kSilentFrom || step >= kSilentTo);
}

template <class T>
void expect_near(Rows<T>& rows, Rows<double>& dense, double tolerance, const std::string& what) {
  for (int64_t r = 0; r < kRows; ++r) {
    rows.catch_up(r);
    std::vector<T> found = rows.read(r);
    std::vector<double> expected = dense.read(r);
    for (int64_t i = 0; i < kWidth; ++i) {
      double bound = tolerance * std::max(std::fabs(expected[i]), dense.largest(r));
      EXPECT_NEAR(static_cast<double>(found[i]), expected[i], bound)
          << what << ", row " << r << " column " << i;
    }
  }
}

void compare(const OptimizerEntry& entry, const Json& object, const Json& schedule) {
  OptimizerOptions options = parse_optimizer_options(object, "optimizer");
  auto rates = make_schedule(schedule, options.learning_rate, "schedule");
  Rows<double> dense(entry.make_double(object, {}, best_cpu_level())),
      exact(entry.make_double(object, {}, best_cpu_level()));
  // Idle steps of dense training.
  const double idle_l2 = l2_is_lazy(entry, object) ? 0 : options.l2;
  Json idle_object = object;
  idle_object["l2"] = idle_l2;
  const auto idle = entry.make_double(idle_object, {}, best_cpu_level());
  Rows<float> sparse(entry.make_float(object, {}, best_cpu_level()));
  Random random(11, 5);
  std::vector<double> gradient(kWidth);
  for (int64_t step = 0; step < kSteps; ++step) {
    bool touches[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      touches[r] = touched(random, r, step);
      if (!touches[r]) continue;
      exact.catch_up(r);
      sparse.catch_up(r);
    }
    double rate = rates->rate({step * 10, step, step / 500});
    dense.optimizer().begin_step(rate);
    idle->begin_step(rate);
    exact.optimizer().begin_step(rate);
    sparse.optimizer().begin_step(rate);
    for (int64_t r = 0; r < kRows; ++r) {
      if (touches[r]) {
        for (double& g : gradient) g = static_cast<float>(random.normal());
        dense.update(r, gradient, 0.5);
        exact.update(r, gradient, 0.5);
        sparse.update(r, gradient, 0.5);
      } else if (entry.lazy) {
        dense.decay(r, rate, options.l1, idle_l2);
      } else {
        dense.update_idle(r, *idle, 0.5);
      }
    }
  }
  std::string what = object.dump() + " under " + schedule.dump();
  expect_near(exact, dense, kDoubleTolerance, "double " + what);
  expect_near(sparse, dense, kFloatTolerance, "float " + what);
}

class EveryOptimizer : public testing::TestWithParam<const OptimizerEntry*> {};

TEST_P(EveryOptimizer, GivesSparseRowsWhatDenseTrainingGivesThem) {
  const OptimizerEntry& entry = *GetParam();
  int64_t number = 0;
  for (const Json& setting : settings(entry)) {
    for (const Json& schedule : schedules()) {
      if (number++ % try_every() != 0) continue;
      Json object = {{"type", entry.name}};
      object.update(setting);
      compare(entry, object, schedule);
      if (HasFailure()) return;  // the first one tells enough
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryOptimizer,
                         testing::ValuesIn(optimizer_catalog().begin(), optimizer_catalog().end()),
                         [](const auto& chosen) { return std::string(chosen.param->name); });

TEST(SchedulesOfThisTest, AreAllThereAre) {
  for (const ScheduleEntry* entry : schedule_catalog()) {
    std::vector<Json> all = schedules();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Json& s) { return s["type"] == entry->name; }))
        << entry->name;
  }
}

}  // namespace
}  // namespace ps
