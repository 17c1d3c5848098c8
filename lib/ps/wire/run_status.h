// RunStatus: the position of a run on a shard, and of one trainer in it.  Sent by shards; a trainer's store resumes its rank
// from it.
#ifndef PS_PS_WIRE_RUN_STATUS_H_
#define PS_PS_WIRE_RUN_STATUS_H_

#include <cstdint>
#include <string>

#include "base/error.h"
#include "config/fwd.h"

namespace ps {

// A shard has lost what a trainer had there.  On the wire alone: it is no exit status.
inline constexpr Code kStateLost{10};

struct RunStatus {
  uint64_t run = 0;   // the number of the run
  uint64_t step = 0;  // the trainer's first step that is neither applied nor held
  uint64_t held = 0;  // of a trainer that pulls ahead: steps before `step` that are held, and will be applied
  uint64_t pass = 0;  // passes that have ended
  uint64_t batches = 0;       // batches of this trainer that were applied, in all passes
  uint64_t pass_batches = 0;  // batches of this trainer that were applied in this pass
  bool pass_begun = false;    // some batch of this pass was applied, or this trainer has pushed one
  uint64_t gathered = 0;      // gatherings that are complete
  uint64_t dealings = 0;      // how often the rest of this pass was dealt among the trainers
  bool deals = false;         // the data of lost trainers are dealt to the trainers that ask for them
  bool was_given_up = false;  // the others went on without this rank until now
  // The process before had rows that it trained itself (RemoteLender), and that are lost.
  bool has_rows = false;

  // Only the job's first shard sets these.
  bool going = false;           // some trainer has been welcomed by all shards
  bool recovers = false;        // the run began with a checkpoint, or anew, because the run before was lost
  std::string checkpoint = {};  // the folder of that checkpoint; empty: there was none
  // Servers write checkpoints, to which a run can go back when some of its state is lost.
  bool checkpointed = false;
  bool gives_parts = false;  // servers give out their shards of checkpoints
  uint64_t finished = 0;     // the passes of a run that has ended, all of which is saved; 0: it has not ended
  bool logged = false;       // pushes are logged, and come with their keys
  uint64_t checkpoint_at = 0;  // steps after which the next checkpoint begins, once that is known

  static const ObjectSpec<RunStatus>& spec();
};

}  // namespace ps

#endif  // PS_PS_WIRE_RUN_STATUS_H_
