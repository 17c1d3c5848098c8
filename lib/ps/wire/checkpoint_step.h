// The step of a checkpoint of servers, which tells it from others, and the full checkpoint on which an increment builds.
#ifndef PS_PS_WIRE_CHECKPOINT_STEP_H_
#define PS_PS_WIRE_CHECKPOINT_STEP_H_

#include <cstdint>

#include "config/fwd.h"

namespace ps {

// The run in which a checkpoint was begun, and the step after which all shards took it.
struct CheckpointStep {
  uint64_t run = 0;
  int64_t step = 0;

  bool operator==(const CheckpointStep&) const = default;
  static const ObjectSpec<CheckpointStep>& spec();  // its fields in a log
};

// The full checkpoint on which the next increment builds.  All shards of a run have begun the same checkpoints, so that all
// choose the same one.
struct Increments {
  int64_t full_step = -1;  // step of the last full checkpoint that was begun; -1: none was
  int64_t since_full = 0;  // checkpoints that were begun after it
};

}  // namespace ps

#endif  // PS_PS_WIRE_CHECKPOINT_STEP_H_
