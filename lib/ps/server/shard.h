// Shard: one thread's share of the parameters, and the run of the trainers that use them.  It does not handle
// connections: it takes requests, and answers each through its Reply, at once or when its clock allows.  Used
// by ShardServer, and by tests directly.
//
// A shard joins objects that each do one thing.  TrainerRoster lists the trainers of the run.  StepClock
// decides which pushes make a step; its implementations differ in how far trainers may be apart
// (step_clock.h).  PushIntake checks pushes, and holds them until their step.  StepApplier applies a step to
// the tables.  PullService answers pulls.  RunGatherings collects the texts that trainers give each other.
// TrainerStates stores the trainer state chunks.  CheckpointAlignment decides when checkpoints begin.
// ShardRecovery saves the run, and puts it back.  StepRunner has steps applied at once or in slices, and
// RunMembership has trainers come and go.
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
#include "ps/server/run_membership.h"
#include "ps/server/shard_recovery.h"
#include "ps/server/shard_tables.h"
#include "ps/server/step_clock.h"
#include "ps/server/step_runner.h"
#include "ps/server/waiting_requests.h"
#include "ps/status/shard_status.h"
#include "ps/wire/consistency.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_status.h"

namespace ps {

// One owner thread.  A request throws kData if it makes no sense, kExhausted if there is no memory for what
// it would create or hold, and kStateLost if the run has no such rank.  It then has no effect, and does not
// take `reply`.
class Shard {
 public:
  Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
        const Consistency& consistency, const TrainerLoss& loss, const ShardLimits& limits = {},
        const Json& push_codec = nullptr);

  // Takes memory for a request of a trainer that waits for a step to end, or for a checkpoint.  Throws
  // kExhausted.
  HeldBytes hold_request(int rank, HeldKind kind) {
    return held_.take(static_cast<HeldPeer>(rank), kind, DeferredRequest::kBytes);
  }

  void pull(int rank, PullRequest request, ReplyPtr& reply);
  void push(int rank, PushRequest request, ReplyPtr& reply);
  // For a step whose pushes were measured or held.
  void commit(int rank, CommitRequest request, ReplyPtr& reply);
  void gather(int rank, const GatherRequest& request, ReplyPtr& reply);

  // Answers the pulls of trainers that wait for room, as far as there is some.
  void answer_starved();

  void load(const PushRequest& request);  // sets weights; takes no part in steps

  // Returns the state of the schedule, and of the optimizers of the dense or of the sparse parameters.
  std::string optimizers(bool sparse);

  // Returns the rows of these keys as they are stored, without waiting for any step.
  std::string stored_rows(std::span<const RowSlice> slices);

  // Stores rows that this trainer owns and has trained itself (ps/wire/stored_rows.h, ps/wire/row_owner.h).  A message that
  // comes twice changes nothing the second time, even if it comes late over a connection that was given up.
  // From the first message on, which may have no rows, the trainer may have rows that are ahead of the
  // shard's (TrainerStates::give_rows).  Returns the answer: the keys of the next step that have no row.
  std::string return_rows(int rank, std::string_view body);

  // Returns the answer to a trainer that asks for one of its state chunks.
  Payload state_chunk(int rank, uint32_t number);

  // `changed` is called for every change before it is made.
  void on_change(ShardEventSink changed) { changes_.set_sink(std::move(changed)); }

  // For ShardReplay, which calls begin_replay first and end_replay last.
  void begin_replay();
  // After a snapshot was loaded: applies at once the steps whose pushes are all there, as the shard did then.
  void resume();
  void end_replay(Time now);

  size_t num_waiting() const { return waiting_.size(); }  // requests that are not answered

  StepRunner& runner() { return runner_; }
  RunMembership& membership() { return membership_; }
  ShardTables& tables() { return tables_; }
  PullService& pulls() { return pulls_; }  // readers, which take no part in steps, use it directly
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
  void receive_push(int rank, PushRequest request, ReplyPtr& reply);
  void go_on();
  void settle();
  void end_step();
  void count_chunks() { count_chunk_bytes(held_, states_, *clock_); }
  SnapshotContext snapshot_context();
  StepContext step_context() { return {roster_, applier_, states_, pulls_, held_, checkpoints_, counters_}; }

  ShardCounters counters_;
  TableMemory memory_;  // of the tables
  HeldMemory held_;     // outlives all HeldBytes
  HeldBytes trainers_held_;
  ShardTables tables_;
  const PushCodecs codecs_;

  // The objects of the run.
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
  StepRunner runner_;
  RunMembership membership_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_H_
