// HeldMemory: what a shard may hold of pushes that wait for other trainers, and of trainer state chunks.  Used
// by Shard and its StepClock.
#ifndef PS_PS_SERVER_HELD_MEMORY_H_
#define PS_PS_SERVER_HELD_MEMORY_H_

#include <cstdint>

#include "net/buffer_pool.h"
#include "ps/server/memory_limits.h"
#include "ps/status/shard_status.h"

namespace ps {

// One owner thread.
class HeldMemory {
 public:
  HeldMemory(uint64_t max_bytes, TableMemory& tables, ShardCounters& counters)
      : pool_(max_bytes), tables_(tables), counters_(counters) {}

  // Whether so many bytes more may wait.
  bool has_room(uint64_t bytes) { return pool_.try_take(bytes).has_value(); }

  // There are so many bytes of state chunks now.  They come beside what waits for other trainers, and stay
  // until the trainer's next step; where they are more than there is for these, they take memory of the
  // tables.  Returns false when these have none.
  bool set_chunk_bytes(uint64_t bytes) {
    return tables_.set_aside(pool_.fits(pool_.bytes_in_use() + bytes) ? 0 : bytes);
  }

  // Throws kExhausted for `bytes` that have no room beside `chunk_bytes` of state chunks.
  [[noreturn]] void refuse(uint64_t bytes, uint64_t chunk_bytes);

  BufferPool& pool() { return pool_; }  // of rows that wait
  uint64_t bytes_in_use() const { return pool_.bytes_in_use(); }

 private:
  BufferPool pool_;  // not the connections' pool: they could not be read while pushes wait in it
  TableMemory& tables_;
  ShardCounters& counters_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_HELD_MEMORY_H_
