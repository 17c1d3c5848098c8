// The layout of a row in memory.
#include "table/row_layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace ps::row_layout_test {
namespace {

uint32_t age_of(float unseen) {
  const float statistics[] = {3, 0, 1, 0, unseen};
  return RowLayout::to_history(statistics).unseen;
}

TEST(RowLayout, KeepsAHistory) {
  const RowLayout layout(2, 1, /*stamped=*/true, /*has_history=*/true);
  std::vector<float> row(static_cast<size_t>(layout.stride()));
  for (const RowHistory& history :
       {RowHistory{}, RowHistory{1e9 + 1, 3.5, 7}, RowHistory{2, 1, RowHistory::kMostUnseen}}) {
    layout.set_history(row.data(), history);
    EXPECT_EQ(layout.history(row.data()), history);
  }
}

TEST(RowLayout, AnAgeOfADamagedFileIsMovedToTheNearest) {
  EXPECT_EQ(age_of(12), 12u);
  EXPECT_EQ(age_of(-1), 0u);
  EXPECT_EQ(age_of(-1e30f), 0u);
  EXPECT_EQ(age_of(1e30f), RowHistory::kMostUnseen);
  EXPECT_EQ(age_of(std::numeric_limits<float>::infinity()), RowHistory::kMostUnseen);
  EXPECT_EQ(age_of(std::numeric_limits<float>::quiet_NaN()), 0u);
}

}  // namespace
}  // namespace ps::row_layout_test
