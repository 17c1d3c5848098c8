// AsynchronousClock: every push is a step of its own.  Made by make_step_clock.
#ifndef PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_
#define PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ps/server/step_clock.h"

namespace ps {

// Applies every push at once; each trainer has a clock of its own.  A push whose weights are older than
// max_lag steps is dropped.  The pass ends when the last trainer has pushed "ended": then all are answered.
class AsynchronousClock final : public StepClock {
 public:
  // `max_lag` 0: no push is dropped.
  AsynchronousClock(const StepContext& context, uint64_t max_lag) : StepClock(context), max_lag_(max_lag) {}

  bool may_pull(uint64_t) const override { return true; }
  void note_pull(int rank) override { trainer(rank).pulled_at = context_.counters.steps; }
  bool logs_pulls() const override { return true; }
  void advance(int rank) override { apply_next(trainer(rank)); }
  void go_on_without(std::span<const int> ranks) override;
  void begin_aligned_checkpoint() override;
  uint64_t checkpoint_number() const override;
  uint64_t next_checkpoint(int rank) const override { return trainer(rank).marker_at; }

 private:
  void apply_next(TrainerSteps& trainer);
  bool wait_for_squares(PendingPush& push);
  void end_pass_of_all();
  uint64_t plan_marker(TrainerSteps& trainer);

  const uint64_t max_lag_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_
