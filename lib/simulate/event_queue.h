// A queue of events by simulated time.  Used by the simulator, for messages that meet on a link.
#ifndef PS_SIMULATE_EVENT_QUEUE_H_
#define PS_SIMULATE_EVENT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ps {

// Message number `index` of `sender` is ready at `time`.
struct SimulatedEvent {
  double time;
  uint32_t sender, index;

  // Events of one time come by sender, so that the order depends on nothing else.
  bool before(const SimulatedEvent& other) const {
    return time < other.time || (time == other.time && sender < other.sender);
  }
};

class EventQueue {
 public:
  void reserve(size_t events) { heap_.reserve(events); }
  bool empty() const { return heap_.empty(); }

  void push(const SimulatedEvent& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  SimulatedEvent pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const SimulatedEvent event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool later(const SimulatedEvent& a, const SimulatedEvent& b) { return b.before(a); }

  std::vector<SimulatedEvent> heap_;
};

}  // namespace ps

#endif  // PS_SIMULATE_EVENT_QUEUE_H_
