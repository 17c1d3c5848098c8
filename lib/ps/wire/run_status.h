// RunStatus: the position of a run on a shard, and of one trainer in it.  Sent by shards; a trainer's store resumes its rank
// from it.
#ifndef PS_PS_WIRE_RUN_STATUS_H_
#define PS_PS_WIRE_RUN_STATUS_H_

#include <cstdint>
#include <string>

#include "base/error.h"
#include "config/fwd.h"

namespace ps {

// The code of the error that a shard has lost the state of a trainer.  It is used on the wire only; it is not an
// exit status.
inline constexpr Code kStateLost{10};

struct RunStatus {
  uint64_t run = 0;           // the number of the run
  uint64_t step = 0;          // the trainer's first step that is neither applied nor held
  uint64_t held = 0;          // if trainers pull ahead: number of steps before `step` that are held
  uint64_t pass = 0;          // number of passes that have ended
  uint64_t batches = 0;       // number of this trainer's applied batches in all passes
  uint64_t pass_batches = 0;  // number of this trainer's applied batches in this pass
  bool pass_begun = false;    // some batch of this pass was applied, or this trainer has pushed one
  uint64_t gathered = 0;      // number of complete gatherings
  uint64_t dealings = 0;      // number of times that the rest of this pass was dealt
  bool deals = false;         // the data of lost trainers are dealt to the trainers that ask for them
  bool was_given_up = false;  // the other trainers went on without this rank until now
  // The earlier process had rows that it trained itself (RemoteLender); they are lost.
  bool has_rows = false;

  // Only the job's first shard sets these.
  bool going = false;           // some trainer has been welcomed by all shards
  bool recovers = false;        // the run began with a checkpoint, or anew, because the run before was lost
  std::string checkpoint = {};  // the folder of that checkpoint; empty: there was none
  // Servers write checkpoints, to which a run can go back if some of its state is lost.
  bool checkpointed = false;
  bool gives_shards = false;   // servers give out their shards of checkpoints
  uint64_t finished = 0;       // number of passes of a run that has ended and is saved; 0: it has not ended
  bool ended_early = false;    // that run has ended for good, with fewer passes than this trainer asks for
  bool logged = false;         // pushes are logged, and must come with their keys
  uint64_t checkpoint_at = 0;  // number of steps after which the next checkpoint begins; 0: unknown
  uint64_t checkpoint_number = 0;  // number of that checkpoint in asynchronous runs; 0: unknown

  static const ObjectSpec<RunStatus>& spec();
};

}  // namespace ps

#endif  // PS_PS_WIRE_RUN_STATUS_H_
