// The memory that a server may take, and the shares of its shards.  Made by serve_job, kept by Shard and
// ShardServer.
#ifndef PS_PS_SERVER_MEMORY_LIMITS_H_
#define PS_PS_SERVER_MEMORY_LIMITS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/loop.h"
#include "ps/wire/protocol.h"
#include "store/dense_bytes.h"
#include "table/row_spill.h"

namespace ps {

class ShardTables;

// The memory that the tables of all shards of a server may take, and the memory that they use.  Any thread
// may use it.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t max_bytes = UINT64_MAX) : max_bytes_(max_bytes) {}

  bool try_take(uint64_t bytes);
  void take(uint64_t bytes) {
    used_ += bytes;
  }  // counts bytes that are used already, beyond the limit if need be
  void give_back(uint64_t bytes) { used_ -= bytes; }

  uint64_t max_bytes() const { return max_bytes_; }
  uint64_t used_bytes() const { return used_; }

 private:
  const uint64_t max_bytes_;
  std::atomic<uint64_t> used_ = 0;
};

// The limits of one shard.
struct ShardLimits {
  std::shared_ptr<MemoryBudget> tables = std::make_shared<MemoryBudget>();  // of all shards together
  uint64_t request_bytes = uint64_t{1} << 30;  // bodies that come, or from which a request is made
  uint64_t held_bytes = UINT64_MAX;            // requests that wait for other trainers
  uint64_t answer_bytes = UINT64_MAX;          // answers that their peers have not taken
  uint64_t array_bytes = uint64_t{16}
                         << 20;  // of arrays through which rows are reached, where keys are bounded
  SpillSettings spill = {};      // for rows of sparse tables

  // The number of values of rows that a step changes in a slice: less than a hundredth of a second of work.
  // Other requests are served between slices.  A push of 10,000 rows of 16 is one slice, since each slice costs
  // a turn of the event loop.
  uint64_t slice_work = uint64_t{1} << 20;
  Duration slice_rest{};  // shortest time between two slices

  // Bounds on the connections of a port.  Trainers have half of them: kMostTrainers, with one each.
  size_t max_connections = 2048, max_readers = 512;
};

// Divides `max_bytes` among `shards`: three sixteenths are for messages, as far as these can use them,
// the rest for tables.
ShardLimits share_memory(uint64_t max_bytes, int shards);

// The least memory with which so many shards work.
uint64_t least_memory_bytes(int shards);

// One shard's part of the budget: the memory that its tables use, and some more, so that it need not be
// counted for every request.  One owner thread.
class TableMemory {
 public:
  // Takes the memory of dense parameters, and as much again, since a checkpoint copies them when their next step begins.
  // Throws kExhausted, naming the largest parameter.
  TableMemory(std::shared_ptr<MemoryBudget> budget, const DenseBytes& dense);
  ~TableMemory();
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  // Makes sure that all keys of `row_slices` may have rows; throws kExhausted if there is no room for the
  // keys that have none yet.
  void make_room(const ShardTables& tables, std::span<const RowSlice> row_slices);

  // Keeps so many bytes of the budget for something else; returns false if it does not have so many.
  bool set_aside(uint64_t bytes);

  // The number of calls that found no room.
  uint64_t refused() const { return refused_; }

 private:
  bool resize(uint64_t bytes);

  const std::shared_ptr<MemoryBudget> budget_;
  const uint64_t copies_;  // of dense parameters, for checkpoints
  uint64_t taken_ = 0;     // bytes of the budget
  uint64_t aside_ = 0;     // part of taken_ that is set aside
  uint64_t room_ = 0;      // part of taken_ that no row has used since it was counted
  uint64_t refused_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_MEMORY_LIMITS_H_
