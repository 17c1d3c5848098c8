// Windows of chunks over paths whose time is known.
#include "collective/algorithms/send_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "collective/algorithms/entries.h"
#include "collective/algorithms/even_window.h"
#include "collective/parts.h"

namespace ps::send_window_test {
namespace {

using namespace std::chrono_literals;

// A path that holds a chunk and its sum for `delay`, and lets one pass every `slot`.
struct Path {
  Duration delay, slot;
  Time free{};

  Time sum_of_chunk_sent(Time now) { return free = std::max(now + delay, free + slot); }
};

// One rank at the end of a path, in whose time nothing else takes any.  All sums are zero.
class RankBehindPath final : public Exchange {
 public:
  explicit RankBehindPath(Path path) : path_(path) {}

  int rank() const override { return 1; }
  int size() const override { return 2; }
  Time now() const override { return now_; }
  void begin(Collective, uint8_t, Duration) override {}
  void finish() override {}
  void abandon(const Error&) override {}
  void flush() override {}
  int await(std::span<const int> from) override { return from[0]; }
  bool may_change_threads() const override { return true; }
  uint64_t bytes_sent(int) const override { return 0; }

  void send_marked(int, ConstBytes, MessageMark) override {
    sums_.push_back(path_.sum_of_chunk_sent(now_));
    most_on_the_way_ = std::max(most_on_the_way_, sums_.size());
  }
  Buffer receive_marked(int, size_t size, MessageMark) override {
    now_ = std::max(now_, sums_.front());
    sums_.pop_front();
    Buffer zeros = pool_.take(size);
    std::ranges::fill(zeros.bytes(), 0);
    return zeros;
  }
  Buffer receive_any_size(int from) override { return receive(from, 0); }
  MessageMark next_mark(int) override { return MessageMark::kNone; }

  size_t most_on_the_way() const { return most_on_the_way_; }

 private:
  BufferPool pool_;
  Path path_;
  Time now_{};
  std::deque<Time> sums_;
  size_t most_on_the_way_ = 0;
};

constexpr size_t kChunks = 600;

void pass_all(RankBehindPath& rank) {
  std::vector<float> data(kChunks * kChunkBytes / sizeof(float), 1.0f);
  send_and_receive_sums(rank, 0, Elements(data));
  EXPECT_TRUE(std::ranges::all_of(data, [](float each) { return each == 0; }))
      << "sums take the place of chunks";
}

// The chunk on its way in and the one on its way out keep both directions busy; further ones would only wait.
TEST(SendWindow, FewChunksAreOnTheWayOverALinkThatTheyFill) {
  RankBehindPath rank({.delay = 2ms, .slot = 1ms});
  pass_all(rank);
  EXPECT_EQ(rank.now(), (kChunks + 1) * 1ms) << "the link is never idle";
  EXPECT_LE(rank.most_on_the_way(), 5u);
}

// Ten rounds of twice as many chunks fill the way, which holds two hundred.
TEST(SendWindow, ALongRoundTripIsFilled) {
  RankBehindPath rank({.delay = 200ms, .slot = 1ms});
  pass_all(rank);
  EXPECT_GE(rank.most_on_the_way(), 200u);
  EXPECT_LE(rank.most_on_the_way(), 400u) << "no more than twice as many";
  EXPECT_LE(rank.now(), kChunks * 1ms + 10 * 200ms);
}

// The others come 100 ms after this rank, whose first chunks wait for them, but none behind another.
TEST(SendWindow, ARankThatComesLateIsNotALongRoundTrip) {
  RankBehindPath rank({.delay = 2ms, .slot = 1ms, .free = 100ms});
  pass_all(rank);
  EXPECT_LE(rank.most_on_the_way(), 8u);
}

// An EvenWindow whose chunks are all sent at once, and whose sums all come a round trip later.
struct Rounds {
  // Returns the number of chunks of this round on all ways.
  size_t pass(Duration round_trip) {
    std::vector<size_t> ways;
    for (size_t way = 0; way < kWays; ++way) {
      for (; window.open(way); ways.push_back(way)) window.on_sent(way, now);
    }
    now += round_trip;
    for (size_t way : ways) window.on_sum(way, now);
    return ways.size();
  }

  static constexpr size_t kWays = 3, kLeast = 2;
  EvenWindow window{kWays, kLeast};
  Time now{};
};

TEST(EvenWindow, GrowsAlikeOnAllWaysWhileNothingWaitsAndShrinksWhenMuchDoes) {
  Rounds rounds;
  EXPECT_EQ(rounds.pass(100ms), 6u);
  EXPECT_EQ(rounds.pass(100ms), 6u) << "the first round tells nothing but the least times";
  EXPECT_EQ(rounds.pass(100ms), 12u);
  EXPECT_EQ(rounds.pass(125ms), 24u);
  EXPECT_EQ(rounds.pass(125ms), 24u) << "a fifth of the time is neither little nor much";
  EXPECT_EQ(rounds.pass(200ms), 24u);
  EXPECT_EQ(rounds.pass(200ms), 21u);
  for (int round = 0; round < 10; ++round) rounds.pass(200ms);
  EXPECT_EQ(rounds.pass(200ms), 6u) << "the least remains";
}

TEST(EvenWindow, StopsGrowingAt64MiBOfChunks) {
  Rounds rounds;
  for (int round = 0; round < 20; ++round) rounds.pass(100ms);
  EXPECT_EQ(rounds.pass(100ms), Rounds::kWays * (uint64_t{64} << 20) / kChunkBytes);
}

}  // namespace
}  // namespace ps::send_window_test
