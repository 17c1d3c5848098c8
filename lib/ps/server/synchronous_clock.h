// SynchronousClock, StaleClock and AheadClock: a step is made of one push of every trainer.  Made by
// make_step_clock.
#ifndef PS_PS_SERVER_SYNCHRONOUS_CLOCK_H_
#define PS_PS_SERVER_SYNCHRONOUS_CLOCK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ps/server/step_clock.h"

namespace ps {

// Applies the sum of the pushes for step s, in the order of ranks, when all have come.  Then the clock
// advances to s + 1, and the pulls for that step are answered.  A trainer without data pushes "ended"; a step
// for which all trainers do so is not applied, but ends the pass.  One owner thread, as of every StepClock.
class SynchronousClock : public StepClock {
 public:
  using StepClock::StepClock;

  bool may_pull(uint64_t step) const override { return step <= clock_; }
  void advance(int) override { apply_complete_steps(); }
  void go_on() override { apply_complete_steps(); }
  void go_on_without(std::span<const int> ranks) override;
  void take_over(int rank, bool returns) override;
  uint64_t next_checkpoint(int) const override { return context_.checkpoints.plan().next_step; }

 protected:
  void answer_held(PendingPush& push) const;

 private:
  void answer_held(std::span<TrainerSteps* const> pushers) const;
  std::vector<TrainerSteps*> next_pushers();
  void apply_complete_steps();
  bool apply_next_step(std::span<TrainerSteps* const> pushers);
  bool wait_for_squares(std::span<PendingPush* const> pushes, std::span<TrainerSteps* const> pushers);
  uint64_t plan_checkpoint();
  void enter(TrainerSteps& trainer);
};

// With staleness n, a pull for step s is answered when the clock has reached s - n: a trainer may be n steps
// ahead.  One owner thread.
class StaleClock final : public SynchronousClock {
 public:
  StaleClock(const StepContext& context, uint64_t staleness)
      : SynchronousClock(context), staleness_(staleness) {}

  uint64_t lead() const override { return staleness_; }
  bool may_pull(uint64_t step) const override { return step <= clock_ + staleness_; }

 private:
  const uint64_t staleness_;
};

// For a single trainer that keeps copies of the rows in use (AheadStore), or readers whose compute trainer
// does (SharedCopies).  They push up to `ahead` more steps before they learn that one is applied.  A shard
// answers that it holds a push, and applies the step when every trainer has said that all shards hold its
// push.  Whichever process dies, the shards can then all come to the same step, and the next process begins
// with the weights of that step.  One owner thread.
class AheadClock final : public SynchronousClock {
 public:
  AheadClock(const StepContext& context, uint64_t ahead) : SynchronousClock(context), ahead_(ahead) {}

  uint64_t lead() const override { return ahead_; }
  void advance(int rank) override;
  void take_over(int rank, bool returns) override;

  // The steps of several trainers are made with copies that all of them have, so that all are needed.
  bool goes_on_without_trainers() const override { return false; }

  // A single trainer is told the position that it will have when the held steps are applied.  One of several
  // is told as many steps, but the batches and passes as they are: it goes on behind the steps that are
  // applied.
  TrainerPosition position_of(int rank) const override;

 protected:
  // A job that clips by norm has its steps measured, which has the same effect.
  bool holds_steps() const override { return !context_.applier.clips(); }

  // Otherwise the others of several trainers could make a shard apply a step that a new process of one
  // trainer does not know.
  bool needs_word_of_all() const override { return trainers_.size() > 1; }

 private:
  const uint64_t ahead_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SYNCHRONOUS_CLOCK_H_
