// Standing: where a run stands, as far as it concerns one trainer.  Told by shards, used by the trainer's
// store to take its rank's part in the run up.
#ifndef PS_PS_STANDING_H_
#define PS_PS_STANDING_H_

#include <cstdint>

#include "config/spec.h"

namespace ps {

struct Standing {
  uint64_t run = 0;           // which it is
  uint64_t step = 0;          // the trainer's first that was not applied
  uint64_t pass = 0;          // passes that have ended
  uint64_t batches = 0;       // of this trainer that were applied, in all passes
  uint64_t pass_batches = 0;  // and in this pass
  bool pass_begun = false;    // some trainer's were
  uint64_t gathered = 0;      // gatherings that are complete
  bool was_given_up = false;  // the others went on without this rank until now

  static const ObjectSpec<Standing>& spec();
};

}  // namespace ps

#endif  // PS_PS_STANDING_H_
