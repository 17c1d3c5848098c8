#include "optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "config/catalog.h"
#include "optim/options.h"

namespace ps::optimizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const OptimizerEntry& entry_of(const Json& object) {
  return find_entry(optimizer_catalog(), object, "optimizer", "optimizer");
}

Json object_of(const char* text) {
  return parse_json(text, "test");
}

// A row of an optimizer, and what one does with it.
template <class T>
class TestRow {
 public:
  TestRow(const char* text, std::vector<T> weights, const ParameterTuning& tuning = {})
      : weights_(std::move(weights)) {
    Json object = object_of(text);
    if constexpr (std::is_same_v<T, float>) {
      optimizer_ = entry_of(object).make_float(object, tuning, best_cpu_level());
    } else {
      optimizer_ = entry_of(object).make_double(object, tuning, best_cpu_level());
    }
    state_.resize(weights_.size() * static_cast<size_t>(optimizer_->state_arrays()));
    optimizer_->initialize(row());
  }

  void begin(double rate) { optimizer_->begin_step(rate); }

  // A step that touches the row, which has sat out those since the last one.
  void train(double rate, std::vector<T> gradient, T scale = 1) {
    catch_up();
    begin(rate);
    optimizer_->update(row(), gradient.data(), scale);
    seen_ = optimizer_->steps();
  }

  void catch_up() {
    optimizer_->catch_up(row(), seen_, optimizer_->steps());
    seen_ = optimizer_->steps();
  }

  void adopt(const std::vector<T>& weights) { optimizer_->adopt(row(), weights.data()); }

  std::vector<T> read() {
    catch_up();
    std::vector<T> out(weights_.size());
    optimizer_->read(row(), out.data());
    return out;
  }

  const std::vector<T>& weights() const { return weights_; }
  const std::vector<T>& state() const { return state_; }
  Optimizer<T>& optimizer() { return *optimizer_; }

 private:
  Row<T> row() {
    int64_t width = static_cast<int64_t>(weights_.size());
    return {weights_.data(), state_.data(), width, width};
  }

  std::unique_ptr<Optimizer<T>> optimizer_;
  std::vector<T> weights_, state_;
  int64_t seen_ = 0;
};

std::string error_of(const char* text, const ParameterTuning& tuning = {}) {
  try {
    Json object = object_of(text);
    entry_of(object).make_float(object, tuning, best_cpu_level());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "no error";
}

TEST(Optimizer, ScalesThenClipsGradientsByValue) {
  TestRow<double> row(R"({"type": "sgd", "clip_value": 1})", {0, 0, 0});
  row.train(1, {4, -4, 1}, 0.5);
  EXPECT_THAT(row.weights(), ElementsAre(-1, 1, -0.5));
}

TEST(Optimizer, HidesNoNaN) {
  for (const char* text :
       {R"({"type": "sgd", "l1": 0.1, "clip_value": 1})", R"({"type": "momentum", "l1": 0.1})"}) {
    TestRow<float> row(text, {1, 1});
    row.train(0.1, {NAN, 0});
    row.begin(0.1);
    EXPECT_TRUE(std::isnan(row.read()[0])) << text;
    EXPECT_FALSE(std::isnan(row.read()[1])) << text;
  }
}

TEST(Optimizer, TakesAParametersTuningBeforeItsOwn) {
  ParameterTuning tuning;
  tuning.learning_rate = 0.5;
  tuning.l1 = 0.25;
  tuning.l2 = 0;
  tuning.momentum = 0;
  tuning.clip_value = 8;
  TestRow<double> row(R"({"type": "momentum", "momentum": 0.9, "l1": 9, "l2": 9, "clip_value": 1})", {16},
                      tuning);
  row.train(1, {100});
  EXPECT_THAT(row.weights(), ElementsAre(16 - 0.5 * 8 - 0.5 * 0.25));
  row.begin(1);  // a step that the row sits out
  row.train(1, {2});
  EXPECT_THAT(row.weights(), ElementsAre(11.875 - 0.5 * 0.25 - 0.5 * 2 - 0.5 * 0.25));
}

TEST(Optimizer, FreezesAParameterOfRateZero) {
  ParameterTuning frozen;
  frozen.learning_rate = 0;
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    Json object = {{"type", entry->name}, {"l1", 0.1}, {"l2", 0.1}};
    TestRow<float> row(object.dump().c_str(), {1, -2}, frozen);
    for (int i = 0; i < 5; ++i) row.train(0.1, {1, 1});
    row.begin(0.1);
    EXPECT_THAT(row.read(), ElementsAre(1, -2)) << entry->name;
  }
}

TEST(Optimizer, SaysWhenCatchUpHasNothingToDo) {
  auto idle = [](const char* text) { return TestRow<float>(text, {1}).optimizer().idle_is_identity(); };
  EXPECT_TRUE(idle(R"({"type": "sgd"})"));
  EXPECT_FALSE(idle(R"({"type": "sgd", "l2": 0.1})"));
  EXPECT_FALSE(idle(R"({"type": "sgd", "average": {}})"));
  EXPECT_FALSE(idle(R"({"type": "momentum"})"));
  EXPECT_TRUE(idle(R"({"type": "adagrad"})"));
  EXPECT_FALSE(idle(R"({"type": "rmsprop"})"));
  EXPECT_TRUE(idle(R"({"type": "ftrl", "l1": 1, "l2": 1})"));
  EXPECT_TRUE(idle(R"({"type": "adam"})"));
}

// Gaps of all lengths, on both sides of the first step that counts, with decay that stops weights at zero.
TEST(Optimizer, AveragesTheWeightsAfterEveryStepAlsoThoseSatOut) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    for (double l1 : {0.0, 0.5}) {
      Json object = {{"type", entry->name}, {"l1", l1}, {"l2", 0.2}};
      TestRow<double> plain(object.dump().c_str(), {1, -2});
      object["average"] = {{"begin_step", 100}};
      TestRow<double> averaged(object.dump().c_str(), {1, -2});
      EXPECT_THAT(averaged.read(), ElementsAre(1, -2));
      Random random(5, 6);
      std::vector<double> sum(2);
      int64_t gap = 0;
      for (int step = 0; step < 700; ++step, --gap) {
        double rate = 0.01 / (1 + 0.001 * step);
        if (gap <= 0) {
          std::vector<double> gradient = {random.normal(), random.normal()};
          plain.train(rate, gradient);
          averaged.train(rate, gradient);
          gap = static_cast<int64_t>(random.below(150));
        } else {
          plain.begin(rate);
          averaged.begin(rate);
        }
        plain.catch_up();
        for (size_t i = 0; i < 2; ++i) sum[i] += step >= 100 ? plain.weights()[i] : 0;
      }
      std::vector<double> found = averaged.read();
      for (size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(found[i], sum[i] / 600, 1e-12) << entry->name << " l1 " << l1;
    }
  }
}

TEST(Optimizer, MovesLazyStateOnlyWhenTouched) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    if (!entry->lazy) continue;
    TestRow<double> row(Json{{"type", entry->name}, {"l2", 0.5}}.dump().c_str(), {1});
    row.train(0.1, {1});
    std::vector<double> state = row.state();
    double weight = row.weights()[0];
    for (int i = 0; i < 100; ++i) row.begin(0.1);
    row.catch_up();
    EXPECT_EQ(row.state(), state) << entry->name;
    EXPECT_NEAR(row.weights()[0], weight * std::pow(0.95, 100), 1e-12) << entry->name;
  }
}

TEST(Optimizer, LosesNoDecayThatIsSmallerThanAFloatsLastBit) {
  // Each catch-up of one step is 2e-8 of the weight, a third of the last bit.
  TestRow<float> row(R"({"type": "sgd", "l2": 2e-5})", std::vector<float>(64, 1.0f));
  for (int i = 0; i < 100000; ++i) {
    row.begin(1e-3);
    row.catch_up();
  }
  for (float weight : row.weights()) EXPECT_NEAR(weight, std::pow(1 - 2e-8, 100000), 2e-5);
}

TEST(Ftrl, BeginsAtTheInitialWeightsAndStaysThereWithoutGradient) {
  TestRow<double> row(R"({"type": "ftrl", "l1": 0.7, "l2": 0.3})", {0.5, -0.25, 0});
  row.train(0.1, {0, 0, 0});
  EXPECT_NEAR(row.weights()[0], 0.5, 1e-15);
  EXPECT_NEAR(row.weights()[1], -0.25, 1e-15);
  EXPECT_EQ(row.weights()[2], 0);
}

// Positive, negative and zero weights are set by others, and one stays: a step without a gradient changes none of them.
TEST(Ftrl, GoesOnFromWeightsThatAreSet) {
  TestRow<double> row(R"({"type": "ftrl", "l1": 0.2, "l2": 0.3})", {0.5, -0.25, 0, 1, 0.75});
  for (int i = 0; i < 3; ++i) row.train(0.1, {1, -2, 3, 1, -1});
  const std::vector<double> state = row.state();
  std::vector<double> set = {0.125, 0.5, -0.25, 0, row.weights()[4]};
  row.adopt(set);
  EXPECT_EQ(row.weights(), set);
  EXPECT_EQ(row.state()[4], state[4]) << "the state of a weight that stays";
  EXPECT_TRUE(std::equal(state.begin() + 5, state.end(), row.state().begin() + 5)) << "n";
  row.train(0.1, {0, 0, 0, 0, 0});
  for (size_t i = 0; i < set.size(); ++i) EXPECT_NEAR(row.weights()[i], set[i], 1e-15) << i;
  row.train(0.1, {-1, -1, -1, -1, -1});
  for (size_t i = 0; i < set.size(); ++i) EXPECT_GT(row.weights()[i], set[i]) << i;
}

TEST(Optimizers, SayIfTheyMakeWeightsFromTheirState) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    const auto made = entry->make_float(Json{{"type", entry->name}}, {}, best_cpu_level());
    EXPECT_EQ(made->makes_weights_from_state(), entry->weights_from_state) << entry->name;
  }
}

TEST(Ftrl, KeepsWhatItLearnedWhenTheRateFalls) {
  TestRow<double> row(R"({"type": "ftrl"})", {0});
  for (int i = 0; i < 10; ++i) row.train(0.1, {1});
  double learned = row.weights()[0];
  row.train(1e-6, {1});
  EXPECT_LT(learned, -0.3);
  EXPECT_NEAR(row.weights()[0], learned, 1e-5);
}

TEST(OptimizerOptions, AreReadWithTheDefaultsOfTheType) {
  OptimizerOptions options = parse_optimizer_options(
      object_of(R"({"type": "adam", "beta1": 0.8, "clip_norm": 3, "clip_global_norm": 5,
                    "schedule": {"type": "poly", "a": 1, "b": 1}, "average": {"begin_step": 7}})"),
      "optimizer");
  EXPECT_EQ(options.learning_rate, 0.001);
  EXPECT_EQ(options.clip_norm, 3);
  EXPECT_EQ(options.clip_global_norm, 5);
  EXPECT_EQ(options.schedule["type"], "poly");
  EXPECT_EQ(options.average->begin_step, 7);
}

TEST(OptimizerOptions, SayWhatIsWrong) {
  EXPECT_THAT(error_of(R"({"type": "adm"})"), HasSubstr("unknown optimizer 'adm' (did you mean 'adam'?)"));
  EXPECT_THAT(error_of(R"({"type": "sgd", "momentum": 0.9})"), HasSubstr("optimizer.momentum: unknown key"));
  EXPECT_THAT(error_of(R"({"type": "momentum", "momentum": 1})"),
              HasSubstr("optimizer.momentum: 1 is too large"));
  EXPECT_THAT(error_of(R"({"type": "adam", "beta2": 1})"), HasSubstr("optimizer.beta2: 1 is too large"));
  EXPECT_THAT(error_of(R"({"type": "rmsprop", "rho": -1})"), HasSubstr("optimizer.rho: -1 is too small"));
  EXPECT_THAT(error_of(R"({"type": "ftrl", "learning_rate": 0})"),
              HasSubstr("optimizer.learning_rate: 0 is too small"));
  EXPECT_THAT(error_of(R"({"type": "sgd", "schedule": {"type": "step"}})"),
              HasSubstr("optimizer.schedule.type: unknown schedule 'step'"));
  EXPECT_THAT(error_of(R"({"type": "sgd", "average": {"begin": 1}})"),
              HasSubstr("optimizer.average.begin: unknown key"));
  ParameterTuning tuning;
  tuning.momentum = 0.5;
  EXPECT_THAT(error_of(R"({"type": "sgd"})", tuning), HasSubstr("its optimizer has none"));
}

TEST(ParameterTuning, IsParsedWithItsRanges) {
  ParameterTuning tuning =
      ParameterTuning::spec().parse(object_of(R"({"learning_rate": 2, "l1": 0.5})"), "weight");
  EXPECT_EQ(tuning.learning_rate, 2);
  EXPECT_EQ(tuning.l1, 0.5);
  EXPECT_FALSE(tuning.l2.has_value());
  EXPECT_THROW(ParameterTuning::spec().parse(object_of(R"({"momentum": 1})"), "weight"), Error);
}

}  // namespace
}  // namespace ps::optimizer_test
