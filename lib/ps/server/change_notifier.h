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

  // body() gives the event's body, and is called only when somebody listens.
  template <class Body>
  void note(ShardEvent event, int rank, Body&& body) const {
    if (sink_) sink_(event, rank, body());
  }

 private:
  ShardEventSink sink_;  // null: nobody listens
};

// The body of an event that has numbers alone, and of one that has nothing.
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
