// CheckpointAlignment: decides when the next checkpoint of a shard begins, so that it begins on all shards
// after the same pushes.  Used by Shard and its StepClock; ShardHost gives the function that begins it.
#ifndef PS_PS_SERVER_CHECKPOINT_ALIGNMENT_H_
#define PS_PS_SERVER_CHECKPOINT_ALIGNMENT_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "ps/server/change_notifier.h"

namespace ps {

// The job's first shard decides on a checkpoint, and tells the trainers with its answers to their pushes.
// The other shards learn of it from the pushes themselves: the last push before the checkpoint is a barrier
// marker.
//
// Synchronous trainers are told the step after which the checkpoint begins, and mark their pushes for it.
// Asynchronous trainers are each told, with the answer to a push, that their next push is their barrier
// marker, and the number of the checkpoint.  A shard applies markers as they come.  It applies nothing that a trainer pushes after its marker
// until it has the markers of all trainers that have data left.  So every push is in the checkpoint of all
// shards or in none.  Pulls do not wait.
//
// One owner thread.
class CheckpointAlignment {
 public:
  using Begin = std::function<void(uint64_t number, bool at_end)>;
  using Wanted = std::function<bool(uint64_t number)>;

  explicit CheckpointAlignment(const ChangeNotifier& changes) : changes_(changes) {}

  // `begin` is called after the step with which a checkpoint begins, with the number by which all shards know
  // it.  The checkpoint is of the tables and states at that time.  `wanted` is called only at the job's first
  // shard, and returns true if a checkpoint is to begin with a number.  Checkpoints at the end of a pass
  // begin without that question, even if another one is still being written: with `at_ends` after every pass,
  // else after the passes for which a trainer asks.
  void on_checkpoint(Begin begin, Wanted wanted, bool at_ends = true) {
    begin_ = std::move(begin);
    wanted_ = std::move(wanted);
    at_ends_ = at_ends;
  }

  // Replaces the function that decides, for example while a log is replayed.  Returns the former function.
  Wanted exchange_wanted(Wanted wanted) { return std::exchange(wanted_, std::move(wanted)); }

  // At the job's first shard: decides to begin the checkpoint with this number.  The decision is written to
  // the log, since a replay cannot repeat a decision that depended on the time.
  bool decide(uint64_t number) const {
    if (!wanted_ || !wanted_(number)) return false;
    changes_.note(ShardEvent::kCheckpoint, 0, [number] { return event_of_numbers(number); });
    return true;
  }

  void begin(uint64_t number, bool at_end) const {
    if (begin_) begin_(number, at_end);
  }

  // Returns true if every pass ends with a checkpoint, false if only those for which a trainer asks.
  bool at_ends() const { return at_ends_; }

  // The state of the plan for the run's next checkpoint.
  struct Plan {
    uint64_t next_step = 0;      // synchronous: it begins after this step; 0: none is planned
    bool wants_markers = false;  // asynchronous: trainers are told to push barrier markers
    uint64_t number = 0;         // asynchronous: its number, as decided here, or as a marker tells it
  };
  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }

 private:
  const ChangeNotifier& changes_;
  Begin begin_;    // null: there are no checkpoints
  Wanted wanted_;  // null: another shard decides
  bool at_ends_ = true;
  Plan plan_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_ALIGNMENT_H_
