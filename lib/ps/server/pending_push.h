// PendingPush: the part of a trainer's push for one step that has come, and is not applied yet.  Used by
// StepClock, StepApplier and TrainerStates.
#ifndef PS_PS_SERVER_PENDING_PUSH_H_
#define PS_PS_SERVER_PENDING_PUSH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ps/server/held_memory.h"
#include "ps/server/reply.h"
#include "ps/server/shard_tables.h"
#include "ps/wire/protocol.h"

namespace ps {

struct PendingPush {
  PendingPush() = default;
  PendingPush(PendingPush&&) = default;

  int rank = 0;
  uint64_t generation = 0;  // that of the process that has sent its slices
  StepInfo info;
  bool ended = false;                 // the trainer has no data left in this pass
  bool asks = false, absent = false;  // as PushHeader says
  bool checkpoint = false;            // a checkpoint begins after this step: the push is a barrier marker
  uint64_t checkpoint_number = 0;     // as PushHeader::checkpoint
  uint32_t num_slices = 0;            // 0: unknown, since no slice so far tells it
  std::map<uint32_t, PushRequest> slices;                        // slices of the message, by number
  std::map<uint32_t, std::shared_ptr<const PulledRows>> pulled;  // where a pull has found the rows of a slice
  std::vector<HeldBytes> held;                                   // memory of the slices, without their rows
  std::vector<ReplyPtr> replies;  // to the last slice; several if it was sent again
  // Squares of the step, once they were sent to the trainer.  Its commit request comes next.
  std::vector<ExactSquares> squares;
  bool all_hold = false;  // the trainer has said that all shards hold its push of this step (AheadClock)

  bool complete() const { return num_slices > 0 && slices.size() == num_slices; }

  // Returns the total size of the trainer state chunks in this push.
  uint64_t chunk_bytes() const {
    uint64_t bytes = 0;
    for (const auto& [number, slice] : slices) bytes += slice.chunk ? slice.chunk->size() : 0;
    return bytes;
  }
};

}  // namespace ps

#endif  // PS_PS_SERVER_PENDING_PUSH_H_
