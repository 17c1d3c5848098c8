#include "device/compute_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "base/error.h"

namespace ps::compute_thread_test {
namespace {

TEST(ComputeThread, RunsOneFunctionAfterTheOtherBesideItsOwner) {
  std::atomic<int> ends = 0;
  std::exception_ptr thrown;
  ComputeThread thread([&ends] { ++ends; });
  const std::thread::id owner = std::this_thread::get_id();
  for (int n = 1; n <= 3; ++n) {
    std::promise<void> go;
    std::thread::id ran;
    const std::function<void()> body = [&] {
      go.get_future().wait();
      ran = std::this_thread::get_id();
    };
    thread.start(body);
    EXPECT_FALSE(thread.wants_owner()) << "it waits for its owner";
    go.set_value();
    EXPECT_GT(thread.finish(thrown), 0);
    EXPECT_TRUE(thread.wants_owner());
    EXPECT_EQ(thrown, nullptr);
    EXPECT_NE(ran, owner);
  }
  while (ends < 3) std::this_thread::yield();
}

TEST(ComputeThread, AFunctionThatNeedsItsOwnersThingsHasThemUntilItEnds) {
  std::promise<void> woken;
  std::atomic<int> calls = 0;
  ComputeThread thread([&] {
    if (++calls == 1) woken.set_value();
  });
  int of_owner = 1;  // the thread sanitizer sees a function that does not wait
  const std::function<void()> body = [&] {
    thread.wait_for_owner();
    of_owner = 3;
  };
  thread.start(body);
  woken.get_future().wait();
  EXPECT_TRUE(thread.wants_owner());
  of_owner = 2;
  std::exception_ptr thrown;
  thread.finish(thrown);
  EXPECT_EQ(of_owner, 3);
  while (calls < 2) std::this_thread::yield();
}

TEST(ComputeThread, GivesItsOwnerTheException) {
  ComputeThread thread([] {});
  std::exception_ptr thrown;
  const std::function<void()> fails = [] { fail(Code::kData, "no good"); }, works = [] {};
  thread.start(fails);
  thread.finish(thrown);
  ASSERT_NE(thrown, nullptr);
  EXPECT_THROW(std::rethrow_exception(thrown), Error);
  thread.start(works);
  thread.finish(thrown);
  EXPECT_EQ(thrown, nullptr);
}

}  // namespace
}  // namespace ps::compute_thread_test
