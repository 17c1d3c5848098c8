// DeferredRequests: requests that wait until a shard has applied the step that it is busy with, in the order in which they came.
// Used by ShardHost and ShardSession.
#ifndef PS_PS_SERVER_DEFERRED_REQUESTS_H_
#define PS_PS_SERVER_DEFERRED_REQUESTS_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ps/server/held_memory.h"

namespace ps {

class DeferredRequest {
 public:
  // Bytes of the lists that hold one, beside its body, which stays in the memory of connections: it waits for nothing that
  // comes from another peer.
  static constexpr uint64_t kBytes = 512;

  virtual ~DeferredRequest() = default;
  virtual void handle() = 0;  // throws nothing; does nothing when the connection has gone
  virtual void fail(const Error& error) = 0;

  HeldBytes held;  // for trainers; the requests of others are one a connection
};

// One owner thread.
class DeferredRequests {
 public:
  bool empty() const { return requests_.empty(); }
  size_t size() const { return requests_.size(); }

  void push(std::unique_ptr<DeferredRequest> request) { requests_.push_back(std::move(request)); }

  // Handles the first, after it has left the list.
  void handle_first() {
    const std::unique_ptr<DeferredRequest> first = std::move(requests_.front());
    requests_.pop_front();
    first->held = HeldBytes();
    first->handle();
  }

  // To be called before the ledger ends.
  void forget_held() {
    for (const std::unique_ptr<DeferredRequest>& request : requests_) request->held = HeldBytes();
  }

  void fail_all(const Error& error) {
    for (const std::unique_ptr<DeferredRequest>& request : std::exchange(requests_, {})) request->fail(error);
  }

 private:
  std::deque<std::unique_ptr<DeferredRequest>> requests_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_DEFERRED_REQUESTS_H_
