#include "net/peer_watch.h"

#include <gtest/gtest.h>

namespace ps::peer_watch_test {
namespace {

using std::chrono::seconds;

class PeerWatchTest : public testing::Test {
 protected:
  // Ticks of a connection on which so many bytes move; returns what is wrong after the last of them.
  std::string tick(int ticks, uint64_t received, uint64_t sent, bool wanted = true,
                   bool inside_frame = false) {
    std::string problem;
    for (int i = 0; i < ticks; ++i) {
      received_ += received, sent_ += sent;
      problem = watch_.check_reading(received_, wanted, inside_frame) + watch_.check_writing(sent_, queued_);
      watch_.end_tick(received_, sent_);
    }
    return problem;
  }

  // Ticks come every second.
  const ConnectionOptions options_{.alive_interval = seconds(1),
                                   .silence_timeout = seconds(8),
                                   .min_bytes_per_second = 100,
                                   .slow_timeout = seconds(12),
                                   .stall_timeout = seconds(16)};
  PeerWatch watch_{options_};
  uint64_t received_ = 0, sent_ = 0;
  bool queued_ = false;
};

TEST_F(PeerWatchTest, TicksAsOftenAsTheShortestTimeOutNeeds) {
  EXPECT_EQ(watch_.tick_interval(), Duration(seconds(1)));
  ConnectionOptions hasty = options_;
  hasty.slow_timeout = seconds(2);
  EXPECT_EQ(PeerWatch(hasty).tick_interval(), Duration(std::chrono::milliseconds(500)));
}

TEST_F(PeerWatchTest, SilentPeerIsDeadAfterItsTimeOut) {
  EXPECT_EQ(tick(7, 0, 1), "");
  EXPECT_EQ(tick(1, 0, 1), "no sign of life for 8 s");
}

TEST_F(PeerWatchTest, AnyByteIsASignOfLife) {
  EXPECT_EQ(tick(7, 0, 1), "");
  EXPECT_EQ(tick(1, 1, 1), "");
  EXPECT_EQ(tick(7, 0, 1), "");
}

TEST_F(PeerWatchTest, TimeInWhichNothingIsReadDoesNotCount) {
  EXPECT_EQ(tick(7, 0, 1), "");
  EXPECT_EQ(tick(100, 0, 1, /*wanted=*/false), "");
  EXPECT_EQ(tick(7, 0, 1), "");
}

TEST_F(PeerWatchTest, FrameThatComesTooSlowlyIsRefused) {
  EXPECT_EQ(tick(100, 99, 1), "") << "between frames";
  EXPECT_EQ(tick(100, 100, 1, true, /*inside_frame=*/true), "") << "at the least rate";
  EXPECT_EQ(tick(11, 99, 1, true, /*inside_frame=*/true), "");
  EXPECT_EQ(tick(1, 99, 1, true, /*inside_frame=*/true), "too slow for 12 s");
}

TEST_F(PeerWatchTest, PeerThatTakesTooLittleOfWhatIsQueuedIsDead) {
  EXPECT_EQ(tick(100, 1, 0), "") << "there is nothing to take";
  queued_ = true;
  EXPECT_EQ(tick(15, 1, 99), "");
  EXPECT_EQ(tick(1, 1, 100), "") << "at the least rate";
  EXPECT_EQ(tick(15, 1, 99), "");
  EXPECT_EQ(tick(1, 1, 0), "has not read enough for 16 s");
}

TEST_F(PeerWatchTest, KnowsWhenTheOtherSideHasToBeToldThatThisOneLives) {
  EXPECT_TRUE(watch_.sent_nothing(0));
  tick(1, 0, 5);
  EXPECT_TRUE(watch_.sent_nothing(5));
  EXPECT_FALSE(watch_.sent_nothing(6));
}

}  // namespace
}  // namespace ps::peer_watch_test
