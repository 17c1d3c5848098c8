// WaitingRequests: the requests of a run's trainers that their shard has not answered yet: pulls and pushes that wait for
// their steps, and what trainers gather.  Used by Shard.
#ifndef PS_PS_SERVER_WAITING_REQUESTS_H_
#define PS_PS_SERVER_WAITING_REQUESTS_H_

#include <cstddef>
#include <vector>

#include "ps/server/gathering.h"
#include "ps/server/pull_service.h"
#include "ps/server/reply.h"
#include "ps/server/step_clock.h"

namespace ps {

// The owner thread of the shard, whose parts outlive it.
class WaitingRequests {
 public:
  WaitingRequests(PullService& pulls, Gathering& gathering, StepClock& clock)
      : pulls_(pulls), gathering_(gathering), clock_(clock) {}

  size_t size() const;

  // Someone waits for trainers: for their pushes too where nobody has to be answered for them.
  bool any() const;

  // Requests of connections that are gone have been, or will be, sent again.
  void forget_unwanted();

  // Gives away all replies, those of pulls that wait for room too, and forgets all pushes.
  std::vector<ReplyPtr> take_replies();

 private:
  PullService& pulls_;
  Gathering& gathering_;
  StepClock& clock_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_WAITING_REQUESTS_H_
