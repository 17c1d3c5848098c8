#include "base/ordered_worker.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <vector>

#include "base/error.h"

namespace ps::ordered_worker_test {
namespace {

TEST(OrderedWorker, RunsTheTasksThatAreAllowedInTheirOrderOnItsThread) {
  OrderedWorker worker;
  for (int round = 0; round < 3; ++round) {
    std::vector<size_t> ran;
    std::counting_semaphore<> done(0);
    const std::thread::id owner = std::this_thread::get_id();
    worker.begin([&](size_t index) {
      EXPECT_NE(std::this_thread::get_id(), owner);
      ran.push_back(index);
      done.release();
    });
    worker.allow(2);
    for (int i = 0; i < 2; ++i) done.acquire();
    worker.allow(5);
    for (int i = 0; i < 3; ++i) done.acquire();
    EXPECT_EQ(worker.end(), 5u);
    EXPECT_EQ(ran, (std::vector<size_t>{0, 1, 2, 3, 4}));
  }
}

TEST(OrderedWorker, RunsNothingThatIsNotAllowedOrAfterTheEnd) {
  OrderedWorker worker;
  std::counting_semaphore<> entered(0), may_leave(0);
  worker.begin([&](size_t) {
    entered.release();
    may_leave.acquire();
  });
  worker.allow(1);
  entered.acquire();
  may_leave.release();
  EXPECT_EQ(worker.end(), 1u);
  EXPECT_FALSE(worker.is_begun());
  int ran = 0;
  worker.begin([&](size_t) { ++ran; });
  EXPECT_EQ(worker.end(), 0u);
  EXPECT_EQ(ran, 0);
}

TEST(OrderedWorker, WhatATaskThrowsIsThrownAtTheEndAndNoOtherTaskRuns) {
  OrderedWorker worker;
  std::counting_semaphore<> entered(0);
  int ran = 0;
  worker.begin([&](size_t index) {
    ++ran;
    entered.release();
    if (index == 1) fail(Code::kUnavailable, "task ", index);
  });
  worker.allow(4);
  for (int i = 0; i < 2; ++i) entered.acquire();
  try {
    worker.end();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_EQ(error.message(), "task 1");
  }
  EXPECT_EQ(ran, 2);
  worker.begin([&](size_t) { entered.release(); });
  worker.allow(1);
  entered.acquire();
  EXPECT_EQ(worker.end(), 1u);
}

TEST(OrderedWorker, IsDestroyedInTheMiddleOfASequence) {
  std::counting_semaphore<> entered(0);
  int left = 0;
  {
    OrderedWorker worker;
    worker.begin([&](size_t) {
      entered.release();
      ++left;
    });
    worker.allow(1);
    entered.acquire();
  }
  EXPECT_EQ(left, 1);
}

}  // namespace
}  // namespace ps::ordered_worker_test
