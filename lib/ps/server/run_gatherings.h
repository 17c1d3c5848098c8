// RunGatherings: the gatherings of a shard's run, and the end of the run, which follows from the last of
// them.  Used by Shard, which owns it, and by ShardHost, which confirms the end.
#ifndef PS_PS_SERVER_RUN_GATHERINGS_H_
#define PS_PS_SERVER_RUN_GATHERINGS_H_

#include <cstdint>
#include <functional>

#include "ps/server/change_notifier.h"
#include "ps/server/gathering.h"
#include "ps/server/step_clock.h"
#include "ps/server/trainer_roster.h"

namespace ps {

// Owned by the thread of the shard.  The objects that it is given outlive it.
class RunGatherings {
 public:
  RunGatherings(TrainerRoster& roster, const StepClock& clock, HeldMemory& held,
                const ChangeNotifier& changes)
      : roster_(roster), clock_(clock), held_(held), changes_(changes) {}

  // A trainer of the run gives a slice of its bytes.  It is answered at once if the gathering is one of the
  // last two.  Else its last slice is answered when all trainers have given, and an earlier slice when the
  // trainer has given all.  Throws kData for any other gathering and for a slice that does not follow,
  // kExhausted if there is no room.
  void give(int rank, const GatherRequest& request, ReplyPtr& reply);

  // Answers all trainers if every one that was not given up has given.  If all gave the last gathering of the
  // run, the trainers have then ended.
  void finish_if_complete();

  // `finished` is called, at the job's first shard, when the trainers have done all of their work.  They
  // learn of it only after confirm_end, when the end counts: a trainer that learns of it may be gone for
  // good.  It is called at once if a log has left the last gathering complete.
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
  std::function<void(uint64_t)> finished_;  // null: the end of the run needs no confirmation
};

}  // namespace ps

#endif  // PS_PS_SERVER_RUN_GATHERINGS_H_
