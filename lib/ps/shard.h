// Shard: one thread's share of the parameters, and the clock of their steps.  Knows nothing of connections:
// it takes requests, and answers each through its Reply, now or when the clock allows.  Used by ShardServer,
// and by tests directly.
//
// The clock counts the steps that all trainers have pushed.  Synchronous: a pull for step s waits until the
// clock is s; what the trainers push for step s is summed in rank order and applied once, then the clock goes
// on.  With staleness n a pull waits until the clock is s - n.  Asynchronous: every push is applied at once,
// and every trainer has a clock of its own.  A trainer without data pushes "ended"; a step that all end is
// not applied, but ends the pass.
//
// Exactly once: a push is known by trainer and step.  One that was applied is answered again, not applied
// again; a trainer's generation tells it from one that was started anew under the same rank.
#ifndef PS_PS_SHARD_H_
#define PS_PS_SHARD_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/buffer_pool.h"
#include "net/frame.h"
#include "net/loop.h"
#include "ps/clipping.h"
#include "ps/consistency.h"
#include "ps/protocol.h"
#include "ps/shard_status.h"
#include "ps/shard_tables.h"

namespace ps {

// Where the answer to one request goes.  One of the two is called, once.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void answer(Payload payload) = 0;
  virtual void fail(const Error& error) = 0;
};
using ReplyPtr = std::unique_ptr<Reply>;

// Who a trainer is.
struct Member {
  int rank = 0;
  int trainers = 1;
  uint64_t generation = 0;  // of its process
  bool known = false;       // says that this shard has welcomed it before
};

// One owner thread.  Requests throw kData when they make no sense, and then have no effect; `reply` is taken
// only by those that do not throw.
class Shard {
 public:
  // `trainer_timeout`: how long the others wait for a trainer without a connection.
  Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
        const Consistency& consistency, Duration trainer_timeout);
  ~Shard();

  // A trainer has connected, or lost a connection.  A run is what trainers do until none of them has a
  // connection; then others may begin the next, with the weights as they are.  join throws kUnavailable while
  // another process has the rank, kFenced when the trainer's run is no more, kUsage when the trainers
  // disagree on their number.
  void join(const Member& member, Time now);
  void leave(const Member& member, Time now);

  void pull(int rank, PullRequest request, ReplyPtr& reply);
  void push(int rank, PushRequest request, ReplyPtr& reply);
  // Applies a step whose pushes were answered with squares.
  void apply(int rank, ApplyRequest request, ReplyPtr& reply);
  void gather(int rank, uint64_t number, std::string bytes, ReplyPtr& reply);

  // Reads without taking part in steps; answered at once.
  Payload read(const PullRequest& request);
  std::string keys(const KeysRequest& request);
  void load(const PushRequest& request);

  // Gives up what waits for a trainer that has been gone for too long: fails it with kFenced, which says
  // that the run cannot go on.  To be called now and then.
  void check_trainers(Time now);

  // Fails all that waits.
  void refuse_waiting(const Error& error);

  Widths widths() const { return tables_.widths(); }
  uint64_t clock() const { return clock_; }
  const ShardCounters& counters() const { return counters_; }

  // Fills in what a shard knows of its status.
  void describe(ShardStatus& status) const;

 private:
  struct Push;
  struct Trainer;
  struct WaitingPull;
  struct Gathering;

  bool untouched(const Trainer& trainer) const;
  void begin_run(int trainers, Time now);
  Trainer& trainer(int rank);
  void check_push(const Trainer& trainer, const PushRequest& request) const;
  void complete(Trainer& trainer, PushRequest& request);
  bool answer_repeated(Trainer& trainer, uint64_t step, ReplyPtr& reply);
  void apply_complete(Trainer& trainer);
  Push& pending_push(Trainer& trainer, const PushRequest& request);
  bool all_pushed() const;
  void apply_synchronous();
  void apply_asynchronous(Trainer& trainer);
  void end_asynchronous_pass();
  StepInfo sum_up(std::span<Push* const> pushes) const;
  std::vector<std::vector<Contribution>> contributions_of(std::span<Push* const> pushes,
                                                          const StepInfo& total) const;
  bool measure(std::span<Push* const> pushes);
  void answer_measured(Push& push, const std::vector<ExactSquares>& squares);
  void apply_step(std::span<Push* const> pushes);
  void finish(Trainer& trainer, const Done& done);
  bool may_pull(uint64_t step) const;
  void answer_waiting_pulls();
  bool anything_waits() const;

  const Clipping clipping_;
  ShardTables tables_;
  StepRule rule_;
  const Consistency consistency_;
  const Duration trainer_timeout_;
  ShardCounters counters_;
  std::optional<Error> broken_;  // a step failed half way: nothing goes on from here
  BufferPool held_;              // rows that wait for other trainers: not the connections' memory

  std::optional<std::vector<double>> whole_squares_;  // of the step that is being applied

  // Of the run.
  uint64_t clock_ = 0;
  std::vector<Trainer> trainers_;  // by rank
  std::vector<WaitingPull> waiting_pulls_;
  std::unique_ptr<Gathering> gathering_;

  // Of the last request for keys: a list is asked for in pieces.
  std::optional<uint32_t> keys_parameter_;
  std::vector<uint64_t> keys_;
};

}  // namespace ps

#endif  // PS_PS_SHARD_H_
