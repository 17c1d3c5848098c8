// ChangeNotifier: tells a shard's log of every change before the change is made.  Used by Shard and
// CheckpointAlignment.
#ifndef PS_PS_SERVER_CHANGE_NOTIFIER_H_
#define PS_PS_SERVER_CHANGE_NOTIFIER_H_

#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "ps/log/shard_event.h"

namespace ps {

// One owner thread.
class ChangeNotifier {
 public:
  void set_sink(ShardEventSink sink) { sink_ = std::move(sink); }

  // body() returns the body of the event; it is called only if there is a sink.
  template <class Body>
  void note(ShardEvent event, int rank, Body&& body) const {
    if (sink_) sink_(event, rank, body());
  }

 private:
  ShardEventSink sink_;  // null: there is no log
};

// Return the body of an event that consists of numbers, and of one without a body.
template <class... Numbers>
std::string event_of_numbers(Numbers... numbers) {
  std::string body;
  (put(body, numbers), ...);
  return body;
}
inline std::string_view empty_event() {
  return {};
}

}  // namespace ps

#endif  // PS_PS_SERVER_CHANGE_NOTIFIER_H_
