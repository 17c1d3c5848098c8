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
    EXPECT_FALSE(thread.ended()) << "it waits for its owner";
    go.set_value();
    EXPECT_GT(thread.finish(thrown), 0);
    EXPECT_TRUE(thread.ended());
    EXPECT_EQ(thrown, nullptr);
    EXPECT_NE(ran, owner);
  }
  while (ends < 3) std::this_thread::yield();
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
