// RunMembership: the trainers of a shard's run as they come and go.  It begins runs, gives ranks to new
// processes, goes on without trainers that are missing for too long, and says where a trainer has to begin.
// Used by Shard, which owns it; by ShardHost and ShardReplay.
#ifndef PS_PS_SERVER_RUN_MEMBERSHIP_H_
#define PS_PS_SERVER_RUN_MEMBERSHIP_H_

#include <cstdint>
#include <span>

#include "ps/server/change_notifier.h"
#include "ps/server/run_gatherings.h"
#include "ps/server/shard_recovery.h"
#include "ps/server/shard_snapshot.h"
#include "ps/server/step_runner.h"
#include "ps/server/waiting_requests.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_status.h"

namespace ps {

// Owned by the thread of the shard, whose parts outlive it.
class RunMembership {
 public:
  struct Parts {
    ChangeNotifier& changes;
    RunGatherings& gatherings;
    ShardRecovery& recovery;
    WaitingRequests& waiting;
    StepRunner& runner;
  };

  RunMembership(const SnapshotContext& shard, const Parts& parts) : shard_(shard), parts_(parts) {}

  // join: a trainer has connected. leave: it has lost a connection.  A process that was not here before takes
  // its rank over, or begins the next run, with the weights as they are; TrainerRoster decides which. join
  // throws as the roster's check_can_begin, check_can_take_over and connect do.
  RunStatus join(const Member& member, Time now);
  void leave(const Member& member, Time now);

  // Returns true if no run would lose anything with this shard: no run has begun, or no step of it was
  // applied and its trainers have left, or were never all present.
  bool is_unused(Time now) const;

  // To be called when a trainer has done all of its work in this run.
  void end_run(int rank);

  // To be called when a trainer ends before its run does: the others soon go on without it, or get the error
  // that the run cannot go on.
  void leave_run(int rank, Time now);

  // Looks for trainers that have been gone for too long while requests wait.  Goes on without them, or fails
  // the waiting requests with kFenced, which says that the run cannot go on.  To be called now and then.
  void check_trainers(Time now);

  // Answers all waiting requests with an error.
  void refuse_waiting(const Error& error);

  // For changes that are repeated from a log.
  void begin_run(uint64_t run, const Member& member, Time now);
  void take_over(int rank, uint64_t generation);
  void go_on_without(std::span<const int> ranks);
  void end_replay(Time now);

  bool resumed() const { return resumed_; }  // the shard was made from a log, whose end may be lost

  // To be called when no step is under way any more: a trainer that was lost meanwhile may have been the last
  // that a gathering waited for.
  void settle();

 private:
  void check_joins(const Member& member) const;
  RunStatus run_status(const RosterEntry& trainer) const;
  bool goes_on() const;

  const SnapshotContext shard_;
  const Parts parts_;
  bool was_lost_ = false;  // trainers were lost since the last settle
  bool resumed_ = false;   // the shard was made from a log
};

}  // namespace ps

#endif  // PS_PS_SERVER_RUN_MEMBERSHIP_H_
