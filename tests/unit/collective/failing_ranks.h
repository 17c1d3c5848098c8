// Five ranks on simulated time, some of which do not do what the others wait for.  Used by the tests of their meeting and of
// their collectives.
#ifndef PS_TESTS_UNIT_COLLECTIVE_FAILING_RANKS_H_
#define PS_TESTS_UNIT_COLLECTIVE_FAILING_RANKS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/collective/ranks.h"

namespace ps {

class FailingRanks : public testing::Test {
 public:
  static constexpr int kSize = 5;
  static constexpr Duration kTimeout = 40s;

  // All-reduces without end.
  static void train(ExchangeCommunicator& communicator) {
    std::vector<float> data(100000);
    while (true) communicator.all_reduce(data);
  }

 protected:
  FailingRanks() : ranks_(kSize) { ranks_.options.timeout = ranks_.options.join_timeout = kTimeout; }

  // Every rank but `bad` ended with an error that names it, and not later than `since` + the timeout.
  void expect_blamed(int bad, Time since, const std::string& what = "") {
    auto ended = [&] { return ranks_.ended_at.size() - ranks_.ended_at.count(bad) == kSize - 1; };
    ASSERT_TRUE(ranks_.network.run_until(ended, ranks_.network.now() + 3600s)) << "ranks hang";
    for (int rank = 0; rank < kSize; ++rank) {
      if (rank == bad) continue;
      const auto& error = ranks_.errors[static_cast<size_t>(rank)];
      ASSERT_TRUE(error) << what << ", rank " << rank;
      EXPECT_EQ(error->code(), Code::kUnavailable) << error->message();
      EXPECT_THAT(error->message(), testing::HasSubstr(cat("rank ", bad))) << what << ", rank " << rank;
      EXPECT_LE(to_seconds(ranks_.ended_at[rank] - since), to_seconds(kTimeout)) << what << ", rank " << rank;
    }
  }

  SimRanks ranks_;
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_COLLECTIVE_FAILING_RANKS_H_
