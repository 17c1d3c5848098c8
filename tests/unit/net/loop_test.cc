#include "net/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "net_test.h"

namespace ps::loop_test {
namespace {

class LoopTest : public EveryNetwork {
 protected:
  Loop& loop() { return world_->client().loop(); }
};

TEST_P(LoopTest, TasksRunInOrderAndNotInsidePost) {
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) loop().post([&ran, i] { ran.push_back(i); });
  EXPECT_TRUE(ran.empty());
  run_until([&ran] { return ran.size() == 3; });
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
}

TEST_P(LoopTest, TimersFireInTheOrderOfTheirTimesAndNotBefore) {
  std::vector<int> fired;
  Time start = loop().now();
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 50; ++i) {
    int delay_ms = (i * 37) % 50;
    timers.push_back(std::make_unique<Timer>(loop(), [&, delay_ms] {
      EXPECT_GE(loop().now() - start, delay_ms * 1ms);
      fired.push_back(delay_ms);
    }));
    timers.back()->start_at(start + delay_ms * 1ms);
  }
  run_until([&fired] { return fired.size() == 50; });
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
}

TEST_P(LoopTest, AStoppedTimerDoesNotFireAndAMovedOneFiresOnce) {
  int stopped = 0, moved = 0, last = 0;
  Timer first(loop(), [&stopped] { ++stopped; }), second(loop(), [&moved] { ++moved; });
  Timer third(loop(), [&last] { ++last; });
  first.start_after(1ms);
  second.start_after(1ms);
  second.start_after(5ms);
  third.start_after(10ms);
  first.stop();
  EXPECT_FALSE(first.started());
  run_until([&last] { return last == 1; });
  EXPECT_EQ(stopped, 0);
  EXPECT_EQ(moved, 1);
}

TEST_P(LoopTest, ATimerMayStartAndDestroyTimers) {
  int fired = 0;
  std::unique_ptr<Timer> other;
  Timer timer(loop(), [&] {
    other = std::make_unique<Timer>(loop(), [&] {
      ++fired;
      other.reset();
    });
    other->start_after(Duration(0));
  });
  timer.start_after(1ms);
  run_until([&fired] { return fired == 1; });
  EXPECT_EQ(other, nullptr);
}

TEST_P(LoopTest, ATimerWithoutDelayDoesNotKeepTheLoopFromItsTasks) {
  bool ran = false;
  Timer timer(loop(), [&timer] { timer.start_after(Duration(0)); });
  timer.start_after(Duration(0));
  loop().post([&] { loop().post([&ran] { ran = true; }); });
  run_until([&ran] { return ran; });
}

TEST_P(LoopTest, RunUntilGivesUpAtItsDeadline) {
  Time start = loop().now();
  EXPECT_FALSE(loop().run_until([] { return false; }, start + 5ms));
  EXPECT_GE(loop().now() - start, 5ms);
  EXPECT_TRUE(loop().run_until([] { return true; }, start)) << "what is done already needs no time";
}

TEST_P(LoopTest, PollHandlesWhatHasHappenedAndDoesNotWait) {
  bool ran = false;
  loop().poll();
  loop().post([&ran] { ran = true; });
  loop().poll();
  EXPECT_TRUE(ran);
}

TEST_P(LoopTest, WhatAHandlerThrowsComesOutAndTheLoopGoesOn) {
  bool ran = false;
  Timer bad(loop(), [] { fail(Code::kData, "bad"); });
  Timer good(loop(), [&ran] { ran = true; });
  bad.start_after(1ms);
  good.start_after(1ms);
  EXPECT_THROW(world_->run_until([] { return false; }), Error);
  run_until([&ran] { return ran; });
}

PS_ON_EVERY_NETWORK(LoopTest);

TEST(SimLoop, TimersStartedAndStoppedAtRandomFireAsASortedListSays) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimNetwork network(seed);
    Loop& loop = network.host("a").loop();
    std::vector<std::unique_ptr<Timer>> timers;
    std::vector<size_t> fired;
    for (size_t i = 0; i < 100; ++i) {
      timers.push_back(std::make_unique<Timer>(loop, [&fired, i] { fired.push_back(i); }));
    }
    std::map<size_t, std::pair<int64_t, int>> started;  // timer: time, order of its start
    for (int step = 0; step < 500; ++step) {
      size_t i = network.random().below(timers.size());
      if (network.random().below(3) == 0) {
        timers[i]->stop();
        started.erase(i);
      } else {
        int64_t time = static_cast<int64_t>(network.random().below(50));
        timers[i]->start_at(Time(time));
        started[i] = {time, step};
      }
    }
    std::vector<std::pair<std::pair<int64_t, int>, size_t>> expected;
    for (auto& [timer, when] : started) expected.emplace_back(when, timer);
    std::sort(expected.begin(), expected.end());
    network.run_for(1s);
    ASSERT_EQ(fired.size(), expected.size()) << "seed " << seed;
    for (size_t i = 0; i < fired.size(); ++i) ASSERT_EQ(fired[i], expected[i].second) << "seed " << seed;
  }
}

TEST(TcpLoop, AnotherThreadMayPostAndStop) {
  const std::unique_ptr<Transport> network = make_network();
  int ran = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) network->loop().post([&ran] { ++ran; });
    network->loop().stop();
  });
  network->loop().run();
  other.join();
  EXPECT_EQ(ran, 1000);
}

}  // namespace
}  // namespace ps::loop_test
