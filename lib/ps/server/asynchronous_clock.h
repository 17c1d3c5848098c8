// AsynchronousClock: every push is a step of its own.  Made by make_step_clock.
#ifndef PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_
#define PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ps/server/step_clock.h"
#include "ps/wire/consistency.h"

namespace ps {

// Applies every push at once; each trainer has a clock of its own.  A push whose weights are older than
// max_lag steps is dropped.  The pass ends, or its rest is dealt, when the last trainer has pushed "ended": then all are
// answered.
// Messages of later steps may come before all of one: of a reader with several batches on their way, whose compute
// trainer pushes parts of them before the reader does.
class AsynchronousClock final : public StepClock {
 public:
  // max_lag 0: no push is dropped.
  AsynchronousClock(const StepContext& context, const Consistency& consistency)
      : StepClock(context), max_lag_(static_cast<uint64_t>(consistency.max_lag)), lead_(consistency.lead()) {}

  uint64_t lead() const override { return lead_; }
  bool may_pull(uint64_t) const override { return true; }
  void note_pull(int rank) override { trainer(rank).pulled_at = context_.counters.steps; }
  bool logs_pulls() const override { return true; }
  void advance(int rank) override;
  void go_on() override;
  void go_on_without(std::span<const int> ranks) override;
  void begin_aligned_checkpoint() override;
  uint64_t checkpoint_number() const override;
  uint64_t next_checkpoint(int rank) const override { return trainer(rank).marker_at; }

 private:
  bool apply_next(TrainerSteps& trainer);
  bool wait_for_squares(PendingPush& push);
  void end_pass_of_all();
  uint64_t plan_marker(TrainerSteps& trainer);

  const uint64_t max_lag_, lead_;

  // Trainers whose steps are to be applied, as far as they can be, one trainer after the other.
  std::vector<int> to_advance_;
  bool advances_ = false;     // in this moment
  bool ends_behind_ = false;  // the pass may end behind that
};

}  // namespace ps

#endif  // PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_
