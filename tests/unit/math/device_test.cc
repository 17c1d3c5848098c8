#include "math/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ps::device_test {

namespace {

// The blocks that for_each gave, in the order of their items.
std::vector<std::pair<int64_t, int64_t>> cut(int threads, int64_t items, int64_t block) {
  Device device(threads, best_cpu_level());
  std::vector<std::pair<int64_t, int64_t>> blocks(static_cast<size_t>((items + block - 1) / block));
  device.for_each(items, block, [&](int64_t begin, int64_t end) {
    blocks[static_cast<size_t>(begin / block)] = {begin, end};
  });
  return blocks;
}

}  // namespace

TEST(Device, BlocksDoNotDependOnThreads) {
  const std::vector<std::pair<int64_t, int64_t>> expected = {{0, 4}, {4, 8}, {8, 10}};
  for (int threads : {1, 2, 5}) {
    EXPECT_EQ(cut(threads, 10, 4), expected) << threads;
    EXPECT_TRUE(cut(threads, 0, 4).empty()) << threads;
  }
}

TEST(Device, ThrowsWhatABlockThrewAndGoesOn) {
  Device device(3, best_cpu_level());
  EXPECT_EQ(device.threads(), 3);
  const auto fail_at_two = [](int64_t block) {
    if (block == 2) throw std::runtime_error("two");
  };
  EXPECT_THROW(device.run(8, fail_at_two), std::runtime_error);
  std::vector<int> done(8);
  device.run(8, [&](int64_t block) { ++done[static_cast<size_t>(block)]; });
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 8);
}

}  // namespace ps::device_test
