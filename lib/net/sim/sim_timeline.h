// SimTimeline: the time of a simulated network, and what is to happen in it.  Used by SimNetwork, which says
// what an event does to its host.
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

class SimHost;

struct SimEvent {
  Time time;
  uint64_t order;  // of two events at the same time the one that was added first comes first
  SimHost* host;   // on which it happens; null: outside
  std::function<void()> task;

  bool before(const SimEvent& other) const {
    return time != other.time ? time < other.time : order < other.order;
  }
};

// The clock stands still but when an event is taken: it then shows the time of that event.  One owner thread.
class SimTimeline {
 public:
  Time now() const { return now_; }

  // An event in the past happens now, after all that is to happen now already.
  void add(Time time, SimHost* host, std::function<void()> task) {
    events_.push({std::max(time, now_), num_added_++, host, std::move(task)});
  }

  // The next event, if there is one up to `deadline`, whose time it then is.  Else nothing, and it is the
  // deadline, unless that is kNever.
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
