// AsynchronousClock: every push is a step of its own.  Made by make_step_clock.
#ifndef PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_
#define PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ps/server/step_clock.h"
#include "ps/wire/consistency.h"

namespace ps {

// Applies every push at once, as a step of its own; each trainer has its own count of steps.  A push is
// dropped if its weights are older than max_lag steps.  When the last trainer has pushed "ended", all
// trainers are answered: the pass ends, or the rest of its data is dealt.  Messages of a later step may come
// before all messages of an earlier one: a reader may have several batches on their way, and its compute
// trainer pushes parts of them before the reader does.
//
// The clock is the number of the last checkpoint, and one more for each pass that has ended since.  All shards
// must give a checkpoint the same number, though a trainer that is lost has pushed its last step to some of
// them only.  So the first shard chooses the number, and the trainers tell the others: with their barrier
// markers, or, at the end of a pass whose rest was dealt, with the push that says that they have no data left.
// At other ends nobody has told a number.  Such a checkpoint counts the batches of those trainers whose
// position at its beginning is the same on all shards, since they have pushed a marker or an end.
//
// One owner thread, as of every StepClock.
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
  uint64_t next_checkpoint(int rank) const override { return trainer(rank).marker_at; }

 private:
  bool apply_next(TrainerSteps& trainer);
  bool wait_for_squares(PendingPush& push);
  void end_pass_of_all();
  uint64_t plan_marker(TrainerSteps& trainer);
  uint64_t next_number() const;
  void number_checkpoint(uint64_t told, uint64_t passes);

  const uint64_t max_lag_, lead_;

  // Ranks of the trainers whose steps are still to be applied, one trainer after the other.
  std::vector<int> to_advance_;
  bool advances_ = false;     // go_on is running
  bool ends_behind_ = false;  // go_on tries to end the pass when to_advance_ is empty
  bool ends_pass_ = false;    // the end of the pass is under way
};

}  // namespace ps

#endif  // PS_PS_SERVER_ASYNCHRONOUS_CLOCK_H_
