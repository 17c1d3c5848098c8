#include "train/progressive_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ps::progressive_loss_test {
namespace {

CostTotals one_task(int64_t samples, double weight, double cost) {
  return {samples, {{weight, cost}}};
}

// The rows of batches of `size` examples, of which the n-th costs n.
std::vector<ProgressiveLoss::Row> rows(int64_t size, int64_t examples) {
  ProgressiveLoss progressive;
  progressive.begin({});
  std::vector<ProgressiveLoss::Row> out;
  CostTotals totals{0, {{}}};
  while (totals.samples < examples) {
    for (int64_t i = 0; i < size; ++i) totals.tasks[0].cost += static_cast<double>(++totals.samples);
    totals.tasks[0].weight = static_cast<double>(totals.samples);
    if (const auto row = progressive.add(totals)) out.push_back(*row);
  }
  return out;
}

TEST(ProgressiveLossTest, RowsComeAtPowersOfTwo) {
  const auto found = rows(1, 1000);
  ASSERT_EQ(found.size(), 10);
  for (size_t i = 0; i < found.size(); ++i) {
    const double n = std::exp2(static_cast<double>(i));
    EXPECT_EQ(found[i].examples, static_cast<int64_t>(n));
    EXPECT_DOUBLE_EQ(found[i].average, (n + 1) / 2);
    EXPECT_DOUBLE_EQ(found[i].since_last, i == 0 ? 1 : (n / 2 + 1 + n) / 2)
        << "the mean of those since the row before";
  }
}

TEST(ProgressiveLossTest, ABatchThatPassesSeveralPowersHasOneRow) {
  std::vector<int64_t> examples;
  for (const auto& row : rows(100, 1000)) examples.push_back(row.examples);
  EXPECT_EQ(examples, (std::vector<int64_t>{100, 200, 300, 600})) << "128, 256 and 512 are passed";
}

TEST(ProgressiveLossTest, WeightsOfExamplesCount) {
  ProgressiveLoss progressive;
  progressive.begin({});
  EXPECT_DOUBLE_EQ(progressive.add(one_task(1, 4, 2))->average, 0.5);
  const auto second = progressive.add(one_task(2, 6, 12));
  EXPECT_DOUBLE_EQ(second->average, 2);
  EXPECT_DOUBLE_EQ(second->since_last, 5);
  EXPECT_TRUE(std::isnan(progressive.add(one_task(4, 6, 12))->since_last)) << "no weight since";
}

// As an undisturbed run, but since_last is of what was trained since.
TEST(ProgressiveLossTest, APassThatIsTakenUpGoesOnAtTheNextPower) {
  ProgressiveLoss progressive;
  progressive.begin(one_task(64, 64, 64));
  EXPECT_FALSE(progressive.add(one_task(127, 127, 127)));
  const auto row = progressive.add(one_task(128, 128, 192));
  ASSERT_TRUE(row);
  EXPECT_DOUBLE_EQ(row->average, 1.5);
  EXPECT_DOUBLE_EQ(row->since_last, 2);
  progressive.begin({});
  EXPECT_TRUE(progressive.add(one_task(1, 1, 1))) << "of the next pass";
}

}  // namespace
}  // namespace ps::progressive_loss_test
