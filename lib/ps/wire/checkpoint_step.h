// Which checkpoint of a job with servers, and what it builds on.
#ifndef PS_PS_WIRE_CHECKPOINT_STEP_H_
#define PS_PS_WIRE_CHECKPOINT_STEP_H_

#include <cstdint>

#include "config/fwd.h"

namespace ps {

// A checkpoint, by the run in which it was begun, and the step after which all shards wrote what they had.
struct CheckpointStep {
  uint64_t run = 0;
  int64_t step = 0;

  bool operator==(const CheckpointStep&) const = default;
  static const ObjectSpec<CheckpointStep>& spec();  // as a log has it
};

// On which full checkpoint the next increment builds.  All shards of a run have begun the same checkpoints,
// so that they choose the same.
struct Increments {
  int64_t full_step = -1;  // of the last full one that was begun; -1: none
  int64_t since_full = 0;  // that were begun
};

}  // namespace ps

#endif  // PS_PS_WIRE_CHECKPOINT_STEP_H_
