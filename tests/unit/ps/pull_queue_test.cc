// The order in which pulls that wait for room are answered.
#include "ps/server/pull_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace ps::pull_queue_test {
namespace {

constexpr uint64_t kMebi = 1 << 20;

class PullQueueTest : public testing::Test {
 protected:
  void push(uint64_t peer, uint64_t bytes) {
    bytes_[{peer, ++num_pushed_}] = bytes;
    PullRequest request;
    request.number = num_pushed_;
    queue_.push({peer, 0, std::move(request), nullptr, {}}, bytes);
  }
  uint64_t pop() {
    const WaitingPull pull = queue_.pop();
    got_[pull.peer] += bytes_[{pull.peer, pull.request.number}];
    return pull.peer;
  }

  PullQueue queue_;
  uint64_t num_pushed_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> bytes_;
  std::map<uint64_t, uint64_t> got_;
};

TEST_F(PullQueueTest, OneThatAsksOftenLetsEachOfTheOthersGoFirst) {
  for (int i = 0; i < 1000; ++i) push(1, kMebi);
  for (uint64_t peer = 2; peer <= 10; ++peer) push(peer, kMebi);
  std::map<uint64_t, int> answered;
  for (int i = 0; i < 10; ++i) ++answered[pop()];
  EXPECT_EQ(answered.size(), 10u) << "each has one of the first ten";
}

TEST_F(PullQueueTest, OfOnePeerTheOrderIsThatOfItsRequests) {
  for (int i = 0; i < 5; ++i) push(3, kMebi);
  for (uint64_t number = 1; number <= 5; ++number) EXPECT_EQ(queue_.pop().request.number, number);
}

// A hundred peers that ask again as soon as they are answered, some for 64 MiB, some for one, get the same
// bytes.
TEST_F(PullQueueTest, PeersThatAlwaysWaitGetTheSameBytesWhateverTheyAskFor) {
  const auto size_of = [](uint64_t peer) { return (peer % 2 == 0 ? 64 : 1) * kMebi; };
  for (uint64_t peer = 0; peer < 100; ++peer) push(peer, size_of(peer));
  for (int i = 0; i < 50000; ++i) {
    const uint64_t peer = pop();
    push(peer, size_of(peer));
  }
  uint64_t least = UINT64_MAX, most = 0;
  for (const auto& [peer, bytes] : got_) least = std::min(least, bytes), most = std::max(most, bytes);
  EXPECT_EQ(got_.size(), 100u);
  EXPECT_LE(most - least, 130 * kMebi);
  EXPECT_GT(least, 800 * kMebi);
}

TEST_F(PullQueueTest, ALateComerNeedNotWaitForWhatOthersHaveGotBefore) {
  for (int i = 0; i < 50; ++i) push(1, kMebi);
  for (int i = 0; i < 40; ++i) pop();
  push(2, kMebi);
  EXPECT_EQ(pop(), 2u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pop(), 1u);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace ps::pull_queue_test
