// RunStatus: where a run stands, as far as it concerns one trainer.  Told by shards, used by the trainer's
// store to resume its rank.
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
  uint64_t run = 0;   // which it is
  uint64_t step = 0;  // the trainer's first that was not applied, and is not held
  uint64_t held = 0;  // steps before that, of a trainer that pulls ahead, that are held and will be applied
  uint64_t pass = 0;  // passes that have ended
  uint64_t batches = 0;       // of this trainer that were applied, in all passes
  uint64_t pass_batches = 0;  // and in this pass
  bool pass_begun = false;    // some trainer's were, or this one has pushed
  uint64_t gathered = 0;      // gatherings that are complete
  uint64_t dealings = 0;      // how often the rest of this pass was dealt among the trainers
  bool deals = false;         // what lost trainers leave is dealt, to those who ask
  bool was_given_up = false;  // the others went on without this rank until now
  bool has_rows = false;      // the process before had rows that it trained itself (RemoteLender), now lost

  // The job's first shard says these, for the others.
  bool going = false;     // some trainer has been welcomed by all shards
  bool recovers = false;  // the run began with what a checkpoint has, or anew, whatever there was before
  std::string checkpoint = {};  // the folder of that checkpoint; empty: there was none
  bool checkpointed = false;    // servers write some, so that a run of which something is lost can go back
  bool gives_parts = false;     // servers give out their parts of checkpoints
  uint64_t finished = 0;        // passes of a run of which everything is done; 0: it is not
  bool logged = false;          // pushes are logged, and come with their keys
  uint64_t checkpoint_at = 0;   // steps after which the next checkpoint begins, once that is known

  static const ObjectSpec<RunStatus>& spec();
};

}  // namespace ps

#endif  // PS_PS_WIRE_RUN_STATUS_H_
