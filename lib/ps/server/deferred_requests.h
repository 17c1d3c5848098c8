// DeferredRequests: requests that wait, in order of arrival, until a shard has applied the step with which it
// is busy.
// Used by ShardHost and ShardSession.
#ifndef PS_PS_SERVER_DEFERRED_REQUESTS_H_
#define PS_PS_SERVER_DEFERRED_REQUESTS_H_

#include <deque>
#include <functional>
#include <memory>

#include "base/error.h"
#include "net/loop.h"
#include "ps/server/held_memory.h"
#include "ps/server/step_runner.h"

namespace ps {

class DeferredRequest {
 public:
  // Bytes that one request takes in lists.  Its body stays in the memory of connections, since a request does
  // not wait for other peers.
  static constexpr uint64_t kBytes = 512;

  virtual ~DeferredRequest() = default;
  virtual void handle() = 0;  // throws nothing; does nothing if the connection has gone
  virtual void fail(const Error& error) = 0;

  HeldBytes held;  // memory of a trainer's request; other peers have one request per connection
};

// While a shard is busy with a step, requests that would make it finish the step at once wait here.  All
// later requests wait behind them, and they are handled in order.  Requests that only read need not wait.
// Everything runs on the loop's thread.
class DeferredRequests {
 public:
  // `runner` returns the runner of the shard, or null if there is no shard.  Between two slices of a step
  // there is a pause of `rest` for other work.
  DeferredRequests(Loop& loop, Duration rest, std::function<StepRunner*()> runner);

  bool must_wait() const { return is_busy() || !requests_.empty(); }
  void defer(std::unique_ptr<DeferredRequest> request);

  // Soon continues the step with which the shard is busy, and then handles the requests.
  void go_on_soon() { timer_.start_after(rest_); }

  // Gives the memory of the requests back.  Must be called before the ledger is destroyed.
  void forget_held();

  void fail_all(const Error& error);

 private:
  bool is_busy() const {
    const StepRunner* runner = runner_();
    return runner != nullptr && runner->busy();
  }
  void handle_first();
  void go_on();

  Loop& loop_;
  const Duration rest_;
  const std::function<StepRunner*()> runner_;
  Timer timer_;  // started while a step or a request is to be continued
  std::deque<std::unique_ptr<DeferredRequest>> requests_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_DEFERRED_REQUESTS_H_
