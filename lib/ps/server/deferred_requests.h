// DeferredRequests: requests that wait until a shard has applied the step that it is busy with, in the order in which they came.
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
  // Bytes of the lists that hold one, beside its body, which stays in the memory of connections: it waits for nothing that
  // comes from another peer.
  static constexpr uint64_t kBytes = 512;

  virtual ~DeferredRequest() = default;
  virtual void handle() = 0;  // throws nothing; does nothing when the connection has gone
  virtual void fail(const Error& error) = 0;

  HeldBytes held;  // for trainers; the requests of others are one a connection
};

// While a shard is busy with a step, requests that would have it finish that at once wait here, and behind them all that come
// later, until they are handled in their order.  Requests that only read need not wait.  Everything runs on the loop's thread.
class DeferredRequests {
 public:
  // `runner` returns that of the shard; null: there is no shard.  Between two slices of a step other work has `rest`.
  DeferredRequests(Loop& loop, Duration rest, std::function<StepRunner*()> runner);

  bool must_wait() const { return is_busy() || !requests_.empty(); }
  void defer(std::unique_ptr<DeferredRequest> request);

  // Has the step that the shard is busy with gone on with, soon, and then the requests handled.
  void go_on_soon() { timer_.start_after(rest_); }

  // To be called before the ledger ends.
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
  Timer timer_;  // started while something has to be gone on with
  std::deque<std::unique_ptr<DeferredRequest>> requests_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_DEFERRED_REQUESTS_H_
