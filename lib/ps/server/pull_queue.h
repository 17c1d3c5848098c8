// PullQueue: the pulls that wait for room for their answers, in an order that is fair to the peers.  Used by
// PullService.
#ifndef PS_PS_SERVER_PULL_QUEUE_H_
#define PS_PS_SERVER_PULL_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ps/server/held_memory.h"
#include "ps/server/reply.h"
#include "ps/wire/protocol.h"

namespace ps {

struct WaitingPull {
  HeldPeer peer;  // the trainer that asks
  int rank;       // its rank
  PullRequest request;
  ReplyPtr reply;
  HeldBytes held;
};

// Start-time fair queuing (Goyal et al., SIGCOMM 1996).  A pull's tag is the larger of two numbers: the
// virtual time, which is the tag of the last pull that was taken, and the end of the peer's last pull, which
// is that pull's tag plus its bytes.  The pull with the lowest tag is next.  So a peer that asks for much, or
// often, gets no more bytes than each of the others while these wait.  One owner thread.
class PullQueue {
 public:
  bool empty() const { return pulls_.empty(); }
  size_t size() const { return pulls_.size(); }

  void push(WaitingPull pull, uint64_t answer_bytes) {
    uint64_t& end = ends_[pull.peer];
    const uint64_t tag = std::max(virtual_time_, end);
    end = tag + answer_bytes;
    pulls_.emplace(tag, std::move(pull));
  }

  WaitingPull& next() { return pulls_.begin()->second; }

  WaitingPull pop() {
    const auto first = pulls_.begin();
    virtual_time_ = first->first;
    WaitingPull pull = std::move(first->second);
    pulls_.erase(first);
    if (pulls_.empty()) ends_.clear(), virtual_time_ = 0;
    return pull;
  }

  void forget_unwanted() {
    std::erase_if(pulls_, [](const auto& each) { return is_unwanted(each.second.reply); });
  }

  // Empties the queue, and returns its pulls in order.
  std::vector<WaitingPull> take_all() {
    std::vector<WaitingPull> all;
    while (!empty()) all.push_back(pop());
    return all;
  }

  // Calls body(pull) for each, in order.
  template <class Body>
  void for_each(Body&& body) const {
    for (const auto& [tag, pull] : pulls_) body(pull);
  }

 private:
  std::multimap<uint64_t, WaitingPull> pulls_;  // by tag; those of one tag in the order of arrival
  std::map<uint64_t, uint64_t> ends_;           // by peer: end of its last pull, while the queue is not empty
  uint64_t virtual_time_ = 0;                   // tag of the pull that was taken last
};

}  // namespace ps

#endif  // PS_PS_SERVER_PULL_QUEUE_H_
