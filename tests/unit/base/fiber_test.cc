#include "base/fiber/fiber.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace ps::fiber_test {
namespace {

constexpr size_t kStackBytes = 1 << 18;

void resume(Fiber& fiber) {
  StackArea caller;
  fiber_hooks::name_current(caller);
  fiber.resume(caller);
}

TEST(Fiber, RunsItsBodyInTurnsWithWhoResumesIt) {
  std::vector<std::string> order;
  Fiber* self = nullptr;
  Fiber fiber(kStackBytes, SwitchOrder::kOrdered, [&] {
    order.push_back("first");
    self->suspend();
    order.push_back("second");
  });
  self = &fiber;
  EXPECT_TRUE(order.empty());
  resume(fiber);
  order.push_back("between");
  EXPECT_FALSE(fiber.ended());
  resume(fiber);
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(order, (std::vector<std::string>{"first", "between", "second"}));
}

TEST(Fiber, ResumesAnotherOne) {
  std::string order;
  Fiber inner(kStackBytes, SwitchOrder::kOrdered, [&] { order += "inner "; });
  Fiber outer(kStackBytes, SwitchOrder::kOrdered, [&] {
    order += "outer ";
    resume(inner);
    order += "again";
  });
  resume(outer);
  EXPECT_EQ(order, "outer inner again");
}

// Keeps the number of exceptions that were under way when it was destroyed, and suspends there.
struct SuspendsWhenDestroyed {
  Fiber*& fiber;
  int& uncaught;
  ~SuspendsWhenDestroyed() {
    fiber->suspend();
    uncaught = std::uncaught_exceptions();
  }
};

TEST(Fiber, HasExceptionsOfItsOwnUnderWay) {
  std::vector<std::string> caught;
  std::vector<Fiber*> fibers(2);
  std::vector<int> uncaught(2, -1);
  const auto body = [&](size_t number) {
    try {
      SuspendsWhenDestroyed guard{fibers[number], uncaught[number]};
      throw std::runtime_error("of fibre " + std::to_string(number));
    } catch (const std::runtime_error&) {
      fibers[number]->suspend();
      try {
        throw;
      } catch (const std::runtime_error& again) {
        caught.push_back(again.what());
      }
    }
  };
  Fiber first(kStackBytes, SwitchOrder::kOrdered, [&] { body(0); });
  Fiber second(kStackBytes, SwitchOrder::kOrdered, [&] { body(1); });
  fibers = {&first, &second};
  resume(first);  // both are in a destructor that an exception has called
  resume(second);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  resume(first);  // both are in a handler
  resume(second);
  EXPECT_EQ(std::current_exception(), nullptr);
  resume(first);  // the exception that was caught first is not the one that was caught last
  resume(second);
  EXPECT_TRUE(first.ended());
  EXPECT_TRUE(second.ended());
  EXPECT_EQ(caught, (std::vector<std::string>{"of fibre 0", "of fibre 1"}));
  EXPECT_EQ(uncaught, (std::vector<int>{1, 1}));
}

TEST(Fiber, BeginsAnewAfterARestart) {
  int begun = 0;
  Fiber* self = nullptr;
  Fiber fiber(kStackBytes, SwitchOrder::kOrdered, [&] {
    ++begun;
    self->suspend();
  });
  self = &fiber;
  resume(fiber);
  fiber.restart();
  resume(fiber);
  EXPECT_EQ(begun, 2);
  resume(fiber);
  EXPECT_TRUE(fiber.ended());
  fiber.restart();
  EXPECT_FALSE(fiber.ended());
  resume(fiber);
  EXPECT_EQ(begun, 3);
}

// Calls itself so many times, each with a frame of its own that is not optimised away.
int deep_calls(int rest) {
  std::array<volatile int, 256> frame{};
  frame[static_cast<size_t>(rest) % frame.size()] = rest;
  return rest == 0 ? 0 : deep_calls(rest - 1) + frame[0];
}

TEST(FiberDeathTest, OverflowOfItsStackEndsTheProgram) {
  EXPECT_DEATH(
      {
        Fiber fiber(kStackBytes, SwitchOrder::kOrdered, [] {
          volatile int result = deep_calls(4096);
          (void)result;
        });
        resume(fiber);
      },
      "");
}

}  // namespace
}  // namespace ps::fiber_test
