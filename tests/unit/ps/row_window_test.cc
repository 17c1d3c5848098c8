#include "ps/client/row_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace ps::row_window_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Keys = std::vector<uint64_t>;

Keys add(RowWindow& window, const Keys& keys) {
  Keys entering;
  window.add(keys, entering);
  return entering;
}

Keys remove_first(RowWindow& window) {
  Keys leaving;
  window.remove_first(leaving);
  return leaving;
}

TEST(RowWindow, ARowEntersWithItsFirstBatchAndLeavesWithItsLast) {
  RowWindow window;
  EXPECT_THAT(add(window, {1, 5, 9}), ElementsAre(1, 5, 9));
  EXPECT_THAT(add(window, {2, 5}), ElementsAre(2));
  EXPECT_THAT(add(window, {5, 9}), IsEmpty());
  EXPECT_EQ(window.num_rows(), 4u);
  EXPECT_THAT(remove_first(window), ElementsAre(1));
  EXPECT_THAT(remove_first(window), ElementsAre(2));
  EXPECT_THAT(add(window, {1}), ElementsAre(1)) << "it comes again";
  EXPECT_THAT(remove_first(window), ElementsAre(5, 9));
  EXPECT_THAT(remove_first(window), ElementsAre(1));
  EXPECT_EQ(window.num_rows() + window.num_batches(), 0u);
}

TEST(RowWindow, ABatchWithoutKeysIsABatch) {
  RowWindow window;
  add(window, {});
  add(window, {3});
  EXPECT_THAT(remove_first(window), IsEmpty());
  EXPECT_THAT(remove_first(window), ElementsAre(3));
}

// Beside sets, which say the same in another way.
TEST(RowWindow, HasTheUnionOfItsBatches) {
  Random random(1, 2);
  RowWindow window;
  std::deque<std::set<uint64_t>> batches;
  std::set<uint64_t> inside;
  for (int i = 0; i < 2000; ++i) {
    if (!batches.empty() && random.below(2) == 0) {
      for (uint64_t key : remove_first(window)) EXPECT_EQ(inside.erase(key), 1u);
      batches.pop_front();
    } else {
      std::set<uint64_t>& batch = batches.emplace_back();
      for (int n = 0; n < 5; ++n) batch.insert(random.below(30));
      for (uint64_t key : add(window, Keys(batch.begin(), batch.end())))
        EXPECT_TRUE(inside.insert(key).second);
    }
    std::set<uint64_t> all;
    for (const std::set<uint64_t>& batch : batches) all.insert(batch.begin(), batch.end());
    ASSERT_EQ(inside, all);
    ASSERT_EQ(window.num_rows(), all.size());
  }
}

}  // namespace
}  // namespace ps::row_window_test
