#include "base/distinct_counter.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace ps::distinct_counter_test {
namespace {

TEST(DistinctCounterTest, CountsWithinFourStandardErrors) {
  for (uint64_t count : {0, 1, 2, 10, 1000, 20000, 40000, 60000, 300000}) {
    DistinctCounter in_order, drawn;
    Random random(count, 0);
    for (uint64_t i = 0; i < count; ++i) {
      in_order.add(i);
      drawn.add(random.next64());
    }
    const double expected = static_cast<double>(count);
    EXPECT_NEAR(in_order.count(), expected, 0.5 + 0.033 * expected);
    EXPECT_NEAR(drawn.count(), expected, 0.5 + 0.033 * expected);
  }
}

TEST(DistinctCounterTest, KeysThatOccurAgainDoNotCount) {
  DistinctCounter once, often;
  for (uint64_t i = 0; i < 30000; ++i) {
    if (i < 5000) once.add(i);
    often.add(i % 5000);
  }
  EXPECT_EQ(often.count(), once.count());
}

TEST(DistinctCounterTest, MergedCountersAreThoseOfAllKeys) {
  DistinctCounter all, left, right;
  for (uint64_t i = 0; i < 9000; ++i) {
    all.add(i);
    if (i < 6000) left.add(i);
    if (i >= 3000) right.add(i);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), all.count());
}

}  // namespace
}  // namespace ps::distinct_counter_test
