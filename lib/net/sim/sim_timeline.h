// SimTimeline: the clock and the future events of a simulated network.  Used by SimNetwork, which runs the
// events.
#ifndef PS_NET_SIM_SIM_TIMELINE_H_
#define PS_NET_SIM_SIM_TIMELINE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "net/loop.h"
#include "net/sim/event_queue.h"

namespace ps {

class SimPlace;

struct SimEvent {
  Time time;
  uint64_t order;   // events at the same time come in the order in which they were added
  SimPlace* place;  // the host of the event; null: none
  std::function<void()> task;

  bool before(const SimEvent& other) const {
    return time != other.time ? time < other.time : order < other.order;
  }
};

// The clock only moves when an event is taken; it then has the time of that event.  One owner thread.
class SimTimeline {
 public:
  Time now() const { return now_; }

  // Adds an event.  An event in the past happens now, after the events that are due now already.
  void add(Time time, SimPlace* place, std::function<void()> task) {
    events_.push({std::max(time, now_), num_added_++, place, std::move(task)});
  }

  // Returns the next event if it is not after `deadline`, and sets the clock to its time.  Otherwise returns
  // nothing, and sets the clock to the deadline unless that is kNever.
  std::optional<SimEvent> pop_until(Time deadline) {
    if (events_.empty() || events_.next().time > deadline) {
      if (deadline != kNever) now_ = std::max(now_, deadline);
      return std::nullopt;
    }
    SimEvent event = events_.pop();
    now_ = event.time;
    return event;
  }

 private:
  Time now_{};
  uint64_t num_added_ = 0;
  EventQueue<SimEvent> events_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_TIMELINE_H_
