// ShardEvent: one change of a shard.  Shard reports each change, and PushLog writes it to the log.  A replay
// gives the same changes, in the same order, to the same code, and so restores the same shard.
#ifndef PS_PS_LOG_SHARD_EVENT_H_
#define PS_PS_LOG_SHARD_EVENT_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace ps {

// On disk: never renumber.  The body of an event is that of the request in ps-wire(5), unless the event's
// comment says otherwise.
enum class ShardEvent : uint8_t {
  kRun = 1,      // a run begins: run:u64 trainers:u32, and ranks:u32 if trainers may join it
  kTrainer = 2,  // a process takes the trainer's rank: generation:u64
  kGoOn = 3,     // these trainers are given up, and the others go on without them: ranks:u32[]
  kPull = 4,
  kPush = 5,
  kCommit = 6,
  kGather = 7,  // the bytes that the trainer gave: number:u64 bytes[...]
  kEndRun = 8,
  kLoad = 9,
  kEndCounts = 10,   // the end of the run counts, since all is saved: no body
  kCheckpoint = 11,  // during the event before, the shard decided on a checkpoint: step:u64
  kReturnRows = 12,
};

// `rank` is the rank of the trainer.  The body is valid only during the call.
using ShardEventSink = std::function<void(ShardEvent event, int rank, std::string_view body)>;

}  // namespace ps

#endif  // PS_PS_LOG_SHARD_EVENT_H_
