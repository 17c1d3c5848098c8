// WaitingRequests: the requests of a run's trainers that their shard has not answered yet: pulls and pushes
// that wait for their steps, and gatherings.  Used by Shard.
#ifndef PS_PS_SERVER_WAITING_REQUESTS_H_
#define PS_PS_SERVER_WAITING_REQUESTS_H_

#include <cstddef>
#include <vector>

#include "ps/server/gathering.h"
#include "ps/server/pull_service.h"
#include "ps/server/reply.h"
#include "ps/server/step_clock.h"

namespace ps {

// Owned by the thread of the shard, whose parts outlive it.
class WaitingRequests {
 public:
  WaitingRequests(PullService& pulls, Gathering& gathering, StepClock& clock)
      : pulls_(pulls), gathering_(gathering), clock_(clock) {}

  size_t size() const;

  // Returns true if a request waits for trainers, or if pushes wait for other pushes, even if no reply to
  // them is awaited.
  bool any() const;

  // Drops the requests of connections that are gone: trainers send them again over new connections.
  void forget_unwanted();

  // Returns all replies, also those of pulls that wait for memory, and forgets all pushes.
  std::vector<ReplyPtr> release_replies();

 private:
  PullService& pulls_;
  Gathering& gathering_;
  StepClock& clock_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_WAITING_REQUESTS_H_
