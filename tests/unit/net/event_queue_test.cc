// The order of simulated events.
#include "net/sim/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "net/sim/sim_timeline.h"

namespace ps::event_queue_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct NumberedEvent {
  int time, number;
  bool before(const NumberedEvent& other) const {
    return time != other.time ? time < other.time : number < other.number;
  }
};

TEST(EventQueue, GivesEventsInTheirOrderInWhateverOrderTheyCame) {
  Random random(1, 2);
  for (int round = 0; round < 100; ++round) {
    EventQueue<NumberedEvent> queue;
    std::vector<int> expected(50);
    for (int i = 0; i < 50; ++i) expected[static_cast<size_t>(i)] = i;
    std::vector<int> numbers = expected;
    for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    for (int number : numbers) queue.push({number / 7, number});
    std::vector<int> order;
    while (!queue.empty()) order.push_back(queue.pop().number);
    ASSERT_EQ(order, expected);
  }
}

TEST(SimTimeline, EventsOfOneTimeComeInTheOrderInWhichTheyWereAdded) {
  SimTimeline timeline;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) timeline.add(5ms, nullptr, [&order, i] { order.push_back(i); });
  timeline.add(2ms, nullptr, [&order] { order.push_back(9); });
  while (std::optional<SimEvent> event = timeline.pop_until(kNever)) event->task();
  EXPECT_THAT(order, ElementsAre(9, 0, 1, 2));
  EXPECT_EQ(timeline.now(), Time(5ms)) << "without a deadline time stands still after the last event";
}

TEST(SimTimeline, ItsClockShowsTheEventOrElseTheDeadline) {
  SimTimeline timeline;
  timeline.add(5ms, nullptr, [] {});
  EXPECT_FALSE(timeline.pop_until(3ms));
  EXPECT_EQ(timeline.now(), Time(3ms));
  EXPECT_TRUE(timeline.pop_until(5ms));
  EXPECT_EQ(timeline.now(), Time(5ms));
}

TEST(SimTimeline, AnEventInThePastHappensNow) {
  SimTimeline timeline;
  EXPECT_FALSE(timeline.pop_until(7ms));
  timeline.add(1ms, nullptr, [] {});
  const std::optional<SimEvent> event = timeline.pop_until(kNever);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->time, Time(7ms));
}

}  // namespace
}  // namespace ps::event_queue_test
