#include "base/background_writer.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace ps::background_writer_test {
namespace {

TEST(BackgroundWriter, DoesTasksInTheirOrder) {
  for (bool own_thread : {false, true}) {
    std::vector<int> done;
    std::promise<void> last;
    BackgroundWriter writer(/*max_bytes=*/1, own_thread);
    for (int i = 0; i < 100; ++i) writer.add(1, [&done, i] { done.push_back(i); });
    writer.add(0, [&] { last.set_value(); });
    last.get_future().wait();
    ASSERT_EQ(done.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  }
}

TEST(BackgroundWriter, GivesWayToTheThreadThatServes) {
  auto run_status = [] { return std::pair(sched_getscheduler(0), getpriority(PRIO_PROCESS, 0)); };
  const auto own = run_status(), behind = std::pair(SCHED_BATCH, std::min(own.second + 10, 19));
  for (bool own_thread : {false, true}) {
    std::promise<std::pair<int, int>> told;
    BackgroundWriter writer(/*max_bytes=*/1, own_thread);
    writer.add(0, [&] { told.set_value(run_status()); });
    EXPECT_EQ(told.get_future().get(), own_thread ? behind : own);
  }
  EXPECT_EQ(run_status(), own) << "the thread of its owner stays as it was";
}

TEST(BackgroundWriter, HasNoRoomWhileHalfOfItIsUsed) {
  std::promise<void> gate;
  BackgroundWriter writer(/*max_bytes=*/100, /*own_thread=*/true);
  EXPECT_TRUE(writer.has_room() && writer.is_idle());
  writer.add(60, [opened = gate.get_future().share()] { opened.wait(); });
  EXPECT_FALSE(writer.has_room());
  EXPECT_FALSE(writer.is_idle());
  gate.set_value();
  while (!writer.is_idle()) std::this_thread::yield();
  EXPECT_TRUE(writer.has_room());
}

TEST(BackgroundWriter, EndsAfterTheTaskThatRuns) {
  bool ended = false;
  {
    std::promise<void> began;
    BackgroundWriter writer(/*max_bytes=*/100, /*own_thread=*/true);
    writer.add(1, [&] {
      began.set_value();
      std::this_thread::yield();
      ended = true;
    });
    began.get_future().wait();
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace ps::background_writer_test
