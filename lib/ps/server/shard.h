// Shard: one thread's share of the parameters, and the run of the trainers that use them.  Knows nothing of
// connections: it takes requests, and answers each through its Reply, now or when its clock allows.  Used by
// ShardServer, and by tests directly.
//
// A shard joins objects that each do one thing.  TrainerRoster lists the trainers of the run.  StepClock decides which pushes
// make a step; its implementations differ in how far trainers may be apart (step_clock.h).  PushIntake checks pushes, and holds
// them until their step.  StepApplier applies a step to the tables.  PullService answers pulls.  RunGatherings collects the
// texts that trainers give each other.  TrainerStates stores the trainer state chunks.  CheckpointAlignment decides when
// checkpoints begin.  ShardRecovery saves the run, and puts it back.
//
// A process that comes in place of one that died resumes its rank at the first step that some shard has not
// applied.  Other shards may be a step ahead; in synchronous mode they answer its pull for the step that they
// have applied with the answer that they gave the first time, so that it makes the same gradients again, bit
// for bit.
#ifndef PS_PS_SERVER_SHARD_H_
#define PS_PS_SERVER_SHARD_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ps/server/change_notifier.h"
#include "ps/server/deferred_requests.h"
#include "ps/server/held_memory.h"
#include "ps/server/memory_limits.h"
#include "ps/server/push_intake.h"
#include "ps/server/reply.h"
#include "ps/server/run_gatherings.h"
#include "ps/server/shard_recovery.h"
#include "ps/server/shard_tables.h"
#include "ps/server/step_clock.h"
#include "ps/server/waiting_requests.h"
#include "ps/status/shard_status.h"
#include "ps/wire/consistency.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_status.h"

namespace ps {

// A step that takes long is applied in slices, and the shard is busy in between: readers are answered, from rows that are each
// as before the step or as after it.  All other requests have to wait, or have the rest of the step applied at once.
//
// One owner thread.  Requests throw kData when they make no sense, kExhausted when there is no memory for
// what they would create or hold, kStateLost when the run has no such rank, and then have no effect; `reply`
// is taken only by those that do not throw.
class Shard {
 public:
  Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
        const Consistency& consistency, const TrainerLoss& loss, const ShardLimits& limits = {},
        const Json& push_codec = nullptr);

  // `busy` is called when there is more to do of a step, and after every slice until its end: go_on has then to be called
  // soon.  Without it steps are applied at once.
  void on_busy(std::function<void()> busy);
  bool busy() const { return applier_.busy(); }
  void go_on();
  void finish_step();  // all that is left, at once

  // Room for a request of a trainer that waits meanwhile.  Throws kExhausted.
  HeldBytes hold_deferred(int rank) {
    return held_.take(static_cast<HeldPeer>(rank), HeldKind::kDeferred, DeferredRequest::kBytes);
  }

  // A trainer has connected, or lost a connection.  Another process than before takes its rank over, or begins
  // the next run, with the weights as they are: TrainerRoster says which.  join throws as the roster's
  // check_can_begin, check_can_take_over and connect.
  RunStatus join(const Member& member, Time now);
  void leave(const Member& member, Time now);

  // Returns true when no run would lose anything with this shard: none has begun, or none of its steps was
  // applied and its trainers have left, or have never been all there.
  bool is_unused(Time now) const;

  // To be called when a trainer has done all of its work in this run.
  void end_run(int rank);

  // To be called when a trainer ends before its run does: the others soon go on without it, or get the error that the run
  // cannot go on.
  void leave_run(int rank, Time now);

  void pull(int rank, PullRequest request, ReplyPtr& reply);
  void push(int rank, PushRequest request, ReplyPtr& reply);
  void apply(int rank, ApplyRequest request, ReplyPtr& reply);  // of a step whose pushes gave squares
  void gather(int rank, const GatherRequest& request, ReplyPtr& reply);

  void load(const PushRequest& request);  // takes no part in steps

  // Returns the state of the schedule and of the optimizers, those of the dense or those of the sparse parameters.
  std::string optimizers(bool sparse);

  // Returns the rows of these keys as they are stored, without waiting for any step.
  std::string stored_rows(std::span<const RowSlice> slices);

  // Stores rows that the trainer, which is alone, has trained itself (ps/wire/stored_rows.h).  A message that comes twice
  // changes nothing the second time, also when it comes late over a connection that was given up.  From the first message on,
  // which may have no rows, the trainer may have rows that are ahead of the shard's (TrainerStates::give_rows).
  void return_rows(int rank, std::string_view body);

  // Returns the answer to a trainer that asks for one of its state chunks.
  Payload state_chunk(int rank, uint32_t number);

  // `changed` is called for every change before it is made.
  void on_change(ShardEventSink changed) { changes_.set_sink(std::move(changed)); }

  // For ShardReplay, which calls begin_replay first and end_replay last.
  void begin_replay();
  void begin_run(uint64_t run, const Member& member, Time now);
  void take_over(int rank, uint64_t generation);
  void go_on_without(std::span<const int> ranks);
  void resume();  // from the snapshot: steps whose pushes are all there follow at once, as they did then
  void end_replay(Time now);

  // Looks for trainers that have been gone for too long while others wait: goes on without them, or fails
  // what waits with kFenced, which says that the run cannot go on.  To be called now and then.
  void check_trainers(Time now);

  // Answers all waiting requests with an error.
  void refuse_waiting(const Error& error);
  size_t num_waiting() const { return waiting_.size(); }  // requests that are not answered

  ShardTables& tables() { return tables_; }
  PullService& pulls() { return pulls_; }  // readers, who take no part in steps, ask it
  CheckpointAlignment& checkpoints() { return checkpoints_; }
  RunGatherings& gatherings() { return gatherings_; }
  ShardRecovery& recovery() { return recovery_; }
  const TrainerRoster& roster() const { return roster_; }
  const StepClock& steps() const { return *clock_; }
  const StepRule& step_rule() const { return applier_.rule(); }  // of the steps that have begun
  const TrainerStates& trainer_states() const { return states_; }
  const ShardCounters& counters() const { return counters_; }

  // Fills in the fields of the status that a shard knows.
  void describe(ShardStatus& status) const;

 private:
  // A step that fails half way breaks the shard: all waiting and all later requests are refused.
  template <class Body>
  void step(Body&& body);

  void receive_push(int rank, PushRequest request, ReplyPtr& reply);
  void check_joins(const Member& member) const;
  void settle();

  RunStatus run_status(const RosterEntry& trainer) const;
  void count_chunks() {
    held_.set_chunk_bytes(states_.chunk_bytes() + pending_chunk_bytes(clock_->trainers()));
  }
  StepContext step_context() { return {roster_, applier_, states_, pulls_, held_, checkpoints_, counters_}; }

  ShardCounters counters_;
  TableMemory memory_;  // of the tables
  HeldMemory held_;     // outlives all HeldBytes
  HeldBytes trainers_held_;
  ShardTables tables_;
  const PushCodecs codecs_;

  // The run.
  ChangeNotifier changes_;
  TrainerRoster roster_;
  StepApplier applier_;
  TrainerStates states_;
  PullService pulls_;
  CheckpointAlignment checkpoints_;
  std::unique_ptr<StepClock> clock_;
  PushIntake intake_;
  RunGatherings gatherings_;
  WaitingRequests waiting_{pulls_, gatherings_.present(), *clock_};
  bool going_ = false;  // a trainer that all shards have welcomed has asked for something
  ShardRecovery recovery_;

  // A step that is applied in slices.
  const uint64_t slice_work_;
  std::function<void()> on_busy_;
  struct Moving {
    int rank;
    uint64_t step;
    uint32_t slice;
  };
  std::optional<Moving> moving_;      // the push with which it began, which may have to wait behind it
  bool completes_gathering_ = false;  // it was begun by the loss of trainers

  bool resumed_ = false;         // the shard was made from a log, whose end may be lost
  std::optional<Error> broken_;  // set: the shard is broken, and refuses all requests
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_H_
