// StatusPublisher: publishes a shard's status on a board several times a second.  Used by ShardServer.
#ifndef PS_PS_SERVER_STATUS_PUBLISHER_H_
#define PS_PS_SERVER_STATUS_PUBLISHER_H_

#include <functional>
#include <utility>

#include "net/loop.h"
#include "ps/status/shard_status.h"

namespace ps {

// How long the requests took that were not refused.
struct RequestTimes {
  RequestSeconds pulls, pushes;
};

// Everything runs on the loop's thread.
class StatusPublisher {
 public:
  // `fill` fills in all fields but times and rates.
  StatusPublisher(Loop& loop, const RequestTimes& times, std::function<void(ShardStatus&)> fill)
      : loop_(loop), times_(times), fill_(std::move(fill)), timer_(loop, [this] { publish(); }) {}

  // `board` outlives this.
  void publish_to(StatusBoard& board) {
    board_ = &board;
    timer_.start_after(Duration());
  }

 private:
  void publish() {
    constexpr Duration kInterval = std::chrono::milliseconds(250);
    ShardStatus status;
    status.published = loop_.now();
    status.pull_seconds = times_.pulls;
    status.push_seconds = times_.pushes;
    fill_(status);
    status.pulls_per_second = pull_rate_.update(status.counters.pulls, status.published);
    status.pushes_per_second = push_rate_.update(status.counters.pushes, status.published);
    board_->publish(std::move(status));
    timer_.start_after(kInterval);
  }

  Loop& loop_;
  const RequestTimes& times_;
  const std::function<void(ShardStatus&)> fill_;
  StatusBoard* board_ = nullptr;  // null: nothing is published
  RateMeter pull_rate_, push_rate_;
  Timer timer_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_STATUS_PUBLISHER_H_
