// ShardEvent: what changes a shard, so that the same can be made again, in the same order, by the very code
// that made it first.  Told by Shard, kept by PushLog.
#ifndef PS_PS_LOG_SHARD_EVENT_H_
#define PS_PS_LOG_SHARD_EVENT_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace ps {

// On disk: never renumber.  Bodies are those of the requests of ps-wire(5), unless it says otherwise.
enum class ShardEvent : uint8_t {
  kRun = 1,      // a run begins: run:u64 trainers:u32
  kTrainer = 2,  // a process takes the trainer's rank: generation:u64
  kGoOn = 3,     // the others go on without these trainers: ranks:u32[]
  kPull = 4,
  kPush = 5,
  kApply = 6,
  kGather = 7,  // all that the trainer gave: number:u64 bytes[...]
  kEndRun = 8,
  kLoad = 9,
  kEndCounts = 10,  // the end of the run does: no body
  kCut = 11,        // with the event before, a checkpoint was decided on: step:u64
  kReturnRows = 12,
};

// `rank` is that of the trainer.  The body is good during the call.
using ShardEventSink = std::function<void(ShardEvent event, int rank, std::string_view body)>;

}  // namespace ps

#endif  // PS_PS_LOG_SHARD_EVENT_H_
