// RunGatherings: the gatherings of a shard's run, and the end of the run, which the last of them tells.  Used by
// Shard, which owns it, and by ShardHost, which confirms the end.
#ifndef PS_PS_SERVER_RUN_GATHERINGS_H_
#define PS_PS_SERVER_RUN_GATHERINGS_H_

#include <cstdint>
#include <functional>

#include "ps/server/change_notifier.h"
#include "ps/server/gathering.h"
#include "ps/server/step_clock.h"
#include "ps/server/trainer_roster.h"

namespace ps {

// The owner thread of the shard; what it is given outlives it.
class RunGatherings {
 public:
  RunGatherings(TrainerRoster& roster, const StepClock& clock, HeldMemory& held,
                const ChangeNotifier& changes)
      : roster_(roster), clock_(clock), held_(held), changes_(changes) {}

  // A trainer of the run gives a piece of its bytes.  Answers it, now when the gathering is one of the last two; else when
  // all have given, or where it is not the last piece, when the trainer has.  Throws kData for a gathering that is neither
  // and for a piece that does not follow, kExhausted when there is no room.
  void give(int rank, const GatherRequest& request, ReplyPtr& reply);

  // Answers all, if every trainer has given that was not given up; the trainers then have ended, if all gave
  // their last.
  void finish_if_complete();

  // `finished` is called, at the job's first shard, when the trainers have done all that there is to do.  They
  // hear of it after confirm_end, when the end counts: a trainer that hears of it may be gone for good.  It is
  // called at once where a log has left the last gathering complete.
  void on_finished(std::function<void(uint64_t passes)> finished);
  void confirm_end();

  Gathering& present() { return present_; }
  const Gathering& present() const { return present_; }

 private:
  bool all_have(bool (Gathering::*given)(int rank) const) const;
  void finish(bool end_confirmed);

  TrainerRoster& roster_;
  const StepClock& clock_;
  HeldMemory& held_;
  const ChangeNotifier& changes_;
  Gathering present_;
  std::function<void(uint64_t)> finished_;  // null: nobody is to confirm the end of the run
};

}  // namespace ps

#endif  // PS_PS_SERVER_RUN_GATHERINGS_H_
