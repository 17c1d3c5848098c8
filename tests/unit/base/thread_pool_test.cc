#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace ps::thread_pool_test {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, EveryBlockRunsOnceInEveryLoop) {
  ThreadPool pool(GetParam());
  for (int64_t blocks : {0, 1, 2, 7, 1000}) {
    for (int loop = 0; loop < 50; ++loop) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(blocks));
      pool.run(blocks, [&](int64_t block) { ++runs[static_cast<size_t>(block)]; });
      for (const std::atomic<int>& count : runs) ASSERT_EQ(count, 1);
    }
  }
}

TEST_P(ThreadPoolTest, ForEachCutsAtTheSamePlacesForAnyNumberOfThreads) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> ends(4);
  pool.for_each(10, 3, [&](int64_t begin, int64_t end) { ends[static_cast<size_t>(begin / 3)] = end; });
  EXPECT_EQ(ends, (std::vector<int64_t>{3, 6, 9, 10}));
}

TEST_P(ThreadPoolTest, AnExceptionComesOutAndThePoolWorksOn) {
  ThreadPool pool(GetParam());
  for (int loop = 0; loop < 20; ++loop) {
    auto throw_at_half = [](int64_t block) {
      if (block == 50) throw std::runtime_error("half");
    };
    EXPECT_THROW(pool.run(100, throw_at_half), std::runtime_error);
    std::atomic<int64_t> sum{0};
    pool.run(100, [&](int64_t block) { sum += block; });
    EXPECT_EQ(sum, 4950);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace ps::thread_pool_test
