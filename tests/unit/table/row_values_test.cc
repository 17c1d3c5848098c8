#include "table/row_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "config/json.h"
#include "optim/optimizer_plan.h"

namespace ps::row_values_test {
namespace {

using testing::Each;
using testing::ElementsAre;

// Rows of width 2 whose weights begin at 8, and which every step halves by its decay.
class RowValuesTest : public testing::Test {
 protected:
  static std::unique_ptr<Optimizer<float>> make_optimizer() {
    const OptimizerPlan plan =
        make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 0.5}, {"l2", 1}}, "sum");
    return plan.make({});
  }
  std::vector<float> weights(const std::vector<float>& row) { return {row.begin(), row.begin() + 2}; }
  std::vector<float> new_row() { return std::vector<float>(static_cast<size_t>(layout_.stride())); }

  const std::unique_ptr<Optimizer<float>> optimizer_ = make_optimizer();
  const RowLayout layout_{2, optimizer_->state_arrays(), /*stamped=*/!optimizer_->idle_is_identity()};
  const RowValues values_{*optimizer_, layout_, {Distribution::kConstant, 8, 0, 1}};
};

TEST_F(RowValuesTest, NewRowHasSeenTheStepsThatWereBegunOrNone) {
  ASSERT_TRUE(layout_.stamped());
  for (int step = 0; step < 2; ++step) optimizer_->begin_step(0.5);
  std::vector<float> started = new_row(), started_now = new_row();
  values_.start(7, started.data());
  values_.start_now(7, started_now.data());
  EXPECT_THAT(weights(started), Each(2)) << "two steps have halved it";
  EXPECT_THAT(weights(started_now), Each(8));
  EXPECT_EQ(layout_.stamp(started.data()), 2);
  EXPECT_EQ(layout_.stamp(started_now.data()), 2);
}

TEST_F(RowValuesTest, RowThatStepsHavePassedByIsBroughtUpToDateOnce) {
  std::vector<float> row = new_row();
  values_.start(7, row.data());
  optimizer_->begin_step(0.5);
  for (int times = 0; times < 2; ++times) {
    values_.bring_up_to_date(row.data());
    EXPECT_THAT(weights(row), ElementsAre(4, 4));
  }
}

TEST_F(RowValuesTest, InitialValuesAreThoseThatANewRowWouldHave) {
  optimizer_->begin_step(0.5);
  std::vector<float> row = new_row(), initial = new_row();
  values_.start(7, row.data());
  values_.initial_values(7, initial.data());
  EXPECT_EQ(weights(initial), weights(row));
}

}  // namespace
}  // namespace ps::row_values_test
