// A step of what several trainers pushed: its rate, its scale, and its squares.
#include "ps/server/step_applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/snapshot_fields.h"

namespace ps::step_applier_test {
namespace {

using testing::ElementsAre;

// A table of width 1 and a statistic, whose weights begin at zero.
class StepApplierTest : public testing::Test {
 protected:
  void make(const Json& optimizer, const char* gradient = "sum") {
    specs_ = {synthetic_parameter("table", ParameterKind::kRows, true, 100, 1),
              synthetic_parameter("statistic", ParameterKind::kStatistic, false, 1, 1)};
    for (ParameterSpec& spec : specs_) spec.initializer = {};
    const OptimizerPlan plan = make_optimizer_plan(optimizer, gradient);
    tables_ = std::make_unique<ShardTables>(specs_, plan, ShardPlace());
    applier_ = std::make_unique<StepApplier>(specs_, plan, *tables_, /*any_order=*/false, counters_);
  }

  // A push of a gradient of row 1 and of a value of the statistic.
  PendingPush push(int rank, int64_t samples, float gradient, float value) {
    std::string parts;
    encode_key_slice(0, std::vector<uint64_t>{1}, parts);
    encode_range_slice(1, 0, 1, true, parts);
    std::string body = encode_push({.info = {samples, 0}}, 2, parts);
    for (float each : {gradient, value}) {
      put(body, each);
      body.resize(padded(body.size()), '\0');
    }
    PendingPush pending;
    pending.rank = rank;
    pending.info = {samples, 0};
    pending.num_slices = 1;
    pending.slices.try_emplace(0, decode_push(to_buffer(pool_, body), tables_->widths()));
    return pending;
  }
  void apply(std::vector<PendingPush>& pushes) { applier_->apply(pointers(pushes)); }
  static std::vector<PendingPush*> pointers(std::vector<PendingPush>& pushes) {
    std::vector<PendingPush*> all;
    for (PendingPush& each : pushes) all.push_back(&each);
    return all;
  }
  std::vector<PendingPush> two(float first, float second) {
    std::vector<PendingPush> pushes;
    pushes.push_back(push(0, 1, first, 10));
    pushes.push_back(push(1, 3, second, 20));
    return pushes;
  }

  // The weight of row 1, and the statistic.
  std::vector<float> weights() {
    RowSlice row, statistic;
    row.keys = {1};
    statistic.parameter = 1;
    statistic.by_keys = false;
    statistic.count = 1;
    statistic.exact = true;
    Buffer out = pool_.take(2 * kFloatAlignment);
    tables_->read(std::vector{row, statistic}, PullMode::kRead, RowType::kF32, out.data());
    const float* floats = reinterpret_cast<const float*>(out.data());
    return {floats[0], floats[kFloatAlignment / sizeof(float)]};
  }

  std::vector<ParameterSpec> specs_;
  BufferPool pool_;
  ShardCounters counters_;
  std::unique_ptr<ShardTables> tables_;
  std::unique_ptr<StepApplier> applier_;
};

TEST_F(StepApplierTest, GradientsAreSummedAndStatisticsAveragedByTheirSamples) {
  make({{"type", "sgd"}, {"learning_rate", 0.5}});
  std::vector<PendingPush> pushes = two(2, 6);
  apply(pushes);
  EXPECT_THAT(weights(), ElementsAre(-4, 17.5));
  EXPECT_EQ(counters_.steps, 1u);
  EXPECT_EQ(applier_->rule().samples(), 4);
  EXPECT_EQ(applier_->rule().learning_rate(), 0.5);
}

TEST_F(StepApplierTest, StatisticsOfTrainersWithoutExamplesAreLeftOut) {
  make({{"type", "sgd"}, {"learning_rate", 0.5}});
  std::vector<PendingPush> pushes = two(2, 6);
  apply(pushes);
  EXPECT_EQ(weights()[1], 17.5f);
  std::vector<PendingPush> empty;
  empty.push_back(push(0, 0, 0, 30));
  apply(empty);
  empty.push_back(push(1, 0, 0, 40));
  apply(empty);
  EXPECT_EQ(weights()[1], 17.5f) << "no trainer had an example";
  std::vector<PendingPush> some;
  some.push_back(push(0, 0, 0, 30));
  some.push_back(push(1, 2, 0, 40));
  some.push_back(push(2, 6, 0, 80));
  apply(some);
  EXPECT_EQ(weights()[1], 70);
}

TEST_F(StepApplierTest, AMeanIsOverTheSamplesOfAllTrainers) {
  make({{"type", "sgd"}, {"learning_rate", 1}}, "mean");
  std::vector<PendingPush> pushes = two(2, 6);
  apply(pushes);
  EXPECT_EQ(weights()[0], -2);
}

TEST_F(StepApplierTest, WithoutClippingNoSquaresAreNeeded) {
  make({{"type", "sgd"}, {"learning_rate", 1}});
  EXPECT_FALSE(applier_->needs_squares());
  EXPECT_EQ(applier_->num_parameters(), 2u);
}

TEST_F(StepApplierTest, SquaresAreOfTheSumOfTheGradients) {
  make({{"type", "sgd"}, {"learning_rate", 1}, {"clip_norm", 1}});
  std::vector<PendingPush> pushes = two(1, 2);
  const std::vector<ExactSquares> squares = *applier_->squares(pointers(pushes));
  ASSERT_EQ(squares.size(), 2u);
  EXPECT_EQ(squares[0].value(), 9);
  EXPECT_EQ(squares[1].value(), 0) << "no optimizer moves a statistic";
  EXPECT_EQ(counters_.steps, 0u);
}

TEST_F(StepApplierTest, SquaresOfAllShardsHoldForOneStep) {
  make({{"type", "sgd"}, {"learning_rate", 1}, {"clip_norm", 1}});
  EXPECT_TRUE(applier_->needs_squares());
  std::vector<PendingPush> pushes = two(1, 2);
  applier_->set_whole_squares({36, 0});
  EXPECT_FALSE(applier_->needs_squares());
  apply(pushes);
  EXPECT_EQ(weights()[0], -0.5f) << "3 / 6";
  EXPECT_TRUE(applier_->needs_squares());
  applier_->set_whole_squares({36, 0});
  applier_->clear_whole_squares();
  EXPECT_TRUE(applier_->needs_squares());
}

}  // namespace
}  // namespace ps::step_applier_test
