// StepClock: decides which pushes make the next step of a shard, and when it is applied.  Used by Shard.
//
// Each consistency of a job has one implementation: SynchronousClock, StaleClock, AheadClock or
// AsynchronousClock.
#ifndef PS_PS_SERVER_STEP_CLOCK_H_
#define PS_PS_SERVER_STEP_CLOCK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/server/checkpoint_alignment.h"
#include "ps/server/held_memory.h"
#include "ps/server/pull_service.h"
#include "ps/server/rest_of_pass.h"
#include "ps/server/run_state.h"
#include "ps/server/step_applier.h"
#include "ps/server/trainer_roster.h"
#include "ps/server/trainer_states.h"
#include "ps/server/trainer_steps.h"
#include "ps/wire/consistency.h"
#include "ps/wire/run_messages.h"

namespace ps {

// How far a trainer has come; told to a process that takes up its rank.
struct TrainerPosition {
  uint64_t step = 0;                       // the first step that it has to push
  uint64_t held = 0;                       // so many of the steps before are held, and will be applied
  uint64_t pass = 0;                       // passes that have ended
  uint64_t batches = 0, pass_batches = 0;  // batches that were pushed: in the run, in this pass
  bool pass_begun = false;                 // some trainer's batch was applied, or this one has pushed a batch
};

// The parts of the shard on which its clock works; they outlive it.
struct StepContext {
  const TrainerRoster& roster;
  StepApplier& applier;
  TrainerStates& states;
  PullService& pulls;
  HeldMemory& held;
  CheckpointAlignment& checkpoints;
  ShardCounters& counters;
};

// Counts the steps that are applied, and the passes that have ended.  A step is identified by trainer and
// number: one that was applied is answered again, not applied again.  One owner thread.
class StepClock {
 public:
  explicit StepClock(const StepContext& context) : context_(context) {}
  virtual ~StepClock() = default;
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  // restart begins another run, with so many trainers. resume_from lets it go on from a checkpoint, whose
  // state was dealt to as many.
  void restart(size_t num_trainers);
  void resume_from(const RunState& run);
  RunState run_state() const;

  // Returns the number of steps that were applied; in asynchronous runs, the number of the last checkpoint and
  // of passes since.  All shards give the same number to a checkpoint: their clock when it begins.
  uint64_t clock() const { return clock_; }
  uint64_t pass() const { return pass_; }
  TrainerSteps& trainer(int rank) { return trainers_[static_cast<size_t>(rank)]; }
  const TrainerSteps& trainer(int rank) const { return trainers_[static_cast<size_t>(rank)]; }
  std::span<TrainerSteps> trainers() { return trainers_; }
  std::span<const TrainerSteps> trainers() const { return trainers_; }

  // work_of returns the work of a rank in this pass. rest is the work of all ranks, for the shard snapshot.
  RankWork work_of(int rank) const;
  RestOfPass& rest() { return rest_; }
  const RestOfPass& rest() const { return rest_; }

  // Returns the last pass, if nothing was applied after its end.
  std::optional<uint64_t> pass_just_ended() const;

  // Returns the number of steps that a trainer may have pushed and that are not applied yet, beside the last.
  virtual uint64_t lead() const { return 0; }

  // Returns true if a pull for this step may be answered now.
  virtual bool may_pull(uint64_t step) const = 0;
  virtual void note_pull(int rank) { (void)rank; }

  // Returns true if pulls change what the shard does later, so that its log has to have them.
  virtual bool logs_pulls() const { return context_.pulls.keeps_answers(); }

  // Returns the push whose step waits for these sums of squares, or for all shards to hold it.  Throws kData
  // if there is none.
  PendingPush& waiting_push(int rank, const CommitRequest& request);

  // Returns the position of a trainer, for a process that takes up its rank.
  virtual TrainerPosition position_of(int rank) const;

  // Applies every step that can be applied now that something came from this trainer.
  //
  // A step may be applied in slices (StepApplier::busy).  Then this function, and every other one that
  // applies steps, returns before the end of the step, and go_on must be called until the applier is not busy
  // any more.  In between only const functions may be called here.
  virtual void advance(int rank) = 0;
  virtual void go_on() = 0;

  // Goes on without trainers that were given up.  Their pushes for steps that are not applied count if they
  // are complete, and there are pushes of others with which they make a step.
  virtual void go_on_without(std::span<const int> ranks) = 0;

  // Another process has taken the rank.  Complete pushes of the process before stay, and the same pushes of
  // the new process count as repeated.  `returns` says that the rank was given up until now.
  virtual void take_over(int rank, bool returns);

  // Returns false if a trainer that is lost must be waited for, even where other consistencies would give it
  // up.
  virtual bool goes_on_without_trainers() const { return true; }

  // The pass that just ended has the checkpoint from which the run goes on; markers that were planned before
  // it do not count.
  void note_end_checkpoint();

  // In asynchronous runs: begins the checkpoint when the last barrier marker has come, and then applies the
  // steps that have waited for that.
  virtual void begin_aligned_checkpoint() {}

  // Returns the number of the next checkpoint, as the trainer is told.
  virtual uint64_t next_checkpoint(int rank) const = 0;

 protected:
  // Returns true if pushes that are not measured wait until all shards hold them.
  virtual bool holds_steps() const { return false; }

  // Returns true if a step is applied only when every trainer has said that all shards have it, even if it
  // was measured.
  virtual bool needs_word_of_all() const { return false; }

  // Returns the trainers whose complete pushes make the next step, in the order of ranks; none if a push is
  // missing.  `takes_part(trainer)` says which trainers may take part.  A trainer that was given up takes
  // part as far as its pushes go.
  template <class TakesPart>
  std::vector<TrainerSteps*> pushers(TakesPart&& takes_part);

  void store_chunks(PendingPush& push);
  void finish(TrainerSteps& trainer, const Done& done);  // ends its next step
  void end_pass();

  // Begins the checkpoint of the pass that just ended, in place of one that was planned for one of the next
  // steps: that one would begin while this one is written, which would then be given up, and the pass's model
  // with it.
  void begin_end_checkpoint();
  void deal_rest();  // deals the rest of the pass to the trainers that are there

  const StepContext context_;
  uint64_t clock_ = 0, pass_ = 0;       // as of clock(); passes ended
  std::vector<TrainerSteps> trainers_;  // by rank
  RestOfPass rest_;
};

// Sets the bytes of trainer state chunks in the ledger: the chunks that are stored, and those of pushes that
// wait.
void count_chunk_bytes(HeldMemory& held, const TrainerStates& states, const StepClock& clock);

template <class TakesPart>
std::vector<TrainerSteps*> StepClock::pushers(TakesPart&& takes_part) {
  std::vector<TrainerSteps*> pushers;
  for (TrainerSteps& trainer : trainers_) {
    if (!takes_part(trainer)) continue;
    const bool there = trainer.next_push() != nullptr;
    if (!there && !context_.roster.is_given_up(trainer.rank)) return {};
    if (there) pushers.push_back(&trainer);
  }
  return pushers;
}

}  // namespace ps

#endif  // PS_PS_SERVER_STEP_CLOCK_H_
