// Events by simulated time, the earliest first.  Used by SimTimeline, and by the simulator of exchanges
// (simulate/exchange_run.h) for messages that meet on a link.
#ifndef PS_NET_SIM_EVENT_QUEUE_H_
#define PS_NET_SIM_EVENT_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ps {

// `Event::before(other)` is a strict order over all events of a queue, so that their order depends on nothing
// else.  One owner thread.
template <class Event>
class EventQueue {
 public:
  void reserve(size_t events) { heap_.reserve(events); }
  bool empty() const { return heap_.empty(); }
  const Event& next() const { return heap_.front(); }  // the queue must not be empty

  void push(Event event) {
    heap_.push_back(std::move(event));
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    return event;
  }

 private:
  static bool later(const Event& a, const Event& b) { return b.before(a); }

  std::vector<Event> heap_;  // the earliest event at its root
};

}  // namespace ps

#endif  // PS_NET_SIM_EVENT_QUEUE_H_
