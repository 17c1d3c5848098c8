// StepClock: whose pushes make the next step of a shard, and when it is applied.  Used by Shard.
//
// Each consistency of a job is one implementation: SynchronousClock, StaleClock and AsynchronousClock.
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

// How far a trainer has come, as a process that takes its rank up is told.
struct TrainerPosition {
  uint64_t step = 0;                       // the first that it has to push
  uint64_t held = 0;                       // of those before, the last so many are held, and will be applied
  uint64_t pass = 0;                       // passes that have ended
  uint64_t batches = 0, pass_batches = 0;  // that were pushed: in the run, in this pass
  bool pass_begun = false;                 // some trainer's were, or this one has pushed
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

// Counts the steps that are applied, and the passes that have ended.  A step is known by trainer and number:
// one that was applied is answered again, not applied again.  One owner thread.
class StepClock {
 public:
  explicit StepClock(const StepContext& context) : context_(context) {}
  virtual ~StepClock() = default;
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  // Another run begins, with so many trainers; or goes on from a checkpoint, with as many as that is dealt to.
  void restart(size_t num_trainers);
  void resume_from(const RunState& run);
  RunState run_state() const;

  uint64_t clock() const { return clock_; }
  uint64_t pass() const { return pass_; }
  TrainerSteps& trainer(int rank) { return trainers_[static_cast<size_t>(rank)]; }
  const TrainerSteps& trainer(int rank) const { return trainers_[static_cast<size_t>(rank)]; }
  std::span<TrainerSteps> trainers() { return trainers_; }
  std::span<const TrainerSteps> trainers() const { return trainers_; }

  // The work of a rank in this pass; and that of all, for the shard snapshot.
  RankWork work_of(int rank) const;
  RestOfPass& rest() { return rest_; }
  const RestOfPass& rest() const { return rest_; }

  // The pass after whose end nothing was applied yet.
  std::optional<uint64_t> pass_just_ended() const;

  // Steps that a trainer may have pushed and that are not applied yet, beside the last.
  virtual uint64_t lead() const { return 0; }

  // A pull for this step may be answered now.
  virtual bool may_pull(uint64_t step) const = 0;
  virtual void note_pull(int rank) { (void)rank; }

  // Pulls change what the shard does later: its log has to have them.
  virtual bool logs_pulls() const { return context_.pulls.keeps_answers(); }

  // The push whose step waits for these sums of squares, or for all shards to hold it.  Throws kData when there is
  // none.
  PendingPush& waiting_push(int rank, const ApplyRequest& request);

  virtual TrainerPosition position_of(int rank) const;

  // Applies every step that can be applied now that something came from this trainer.
  //
  // A step may be applied in slices (StepApplier::busy): then this, and whatever else has steps applied, returns before its
  // end, and go_on has to be called until the applier is not busy any more.  In between nothing else may be called here that
  // is not const.
  virtual void advance(int rank) = 0;
  virtual void go_on() = 0;

  // The trainers were given up.  Their pushes for steps that are not applied count if they are complete, and
  // have others' to be part of.
  virtual void go_on_without(std::span<const int> ranks) = 0;

  // Another process has the rank.  Complete pushes of the one before stay, and make those of this one
  // repeated.  `returns`: the rank was given up until now.
  virtual void take_over(int rank, bool returns);

  // False: others wait for a trainer that was given up elsewhere.
  virtual bool goes_on_without_trainers() const { return true; }

  // The pass that just ended has the checkpoint with which the run goes on from here: markers planned before it are none.
  void note_end_checkpoint();

  // In asynchronous runs: begins the checkpoint when the last barrier marker has come, and then applies what
  // has waited for that.
  virtual void begin_aligned_checkpoint() {}

  // checkpoint_number returns the number by which all shards identify a checkpoint that begins now.
  // next_checkpoint returns the number of the next checkpoint, as the trainer is told.
  virtual uint64_t checkpoint_number() const = 0;
  virtual uint64_t next_checkpoint(int rank) const = 0;

 protected:
  // Pushes that are not measured wait for all shards to hold them.
  virtual bool holds_steps() const { return false; }

  // A step is applied when every trainer has said that all shards have it, also where it is measured.
  virtual bool needs_word_of_all() const { return false; }

  // The trainers whose complete pushes make the next step, in the order of ranks, `takes_part(trainer)` saying
  // who could; none when a push is missing.  A trainer that was given up takes part as far as its pushes go.
  template <class TakesPart>
  std::vector<TrainerSteps*> pushers(TakesPart&& takes_part);

  void store_chunks(PendingPush& push);
  void finish(TrainerSteps& trainer, const Done& done);  // ends its next step
  void end_pass();

  // Begins the checkpoint of the pass that just ended, in place of any that was planned for one of the next steps: that
  // would begin while this one is written, and have it given up, and the pass's model with it.
  void begin_end_checkpoint();
  void deal_rest();  // of the pass, over the trainers that are there

  const StepContext context_;
  uint64_t clock_ = 0, pass_ = 0;       // steps applied, in runs that are not asynchronous; passes ended
  std::vector<TrainerSteps> trainers_;  // by rank
  RestOfPass rest_;
};

// Has the ledger count the trainer state chunks that are stored, and those of pushes that wait.
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
