// HeldMemory: the ledger of all memory that peers can make a shard hold beside its tables: pushes and pulls
// that wait for other trainers, states, remembered pulls, gatherings, and the trainers themselves.  All of it
// is taken from the account of a peer and a kind before it is allocated.  Used by Shard and the objects that
// it owns.
#ifndef PS_PS_SERVER_HELD_MEMORY_H_
#define PS_PS_SERVER_HELD_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "net/buffer_pool.h"
#include "ps/server/memory_limits.h"
#include "ps/status/shard_status.h"
#include "ps/wire/protocol.h"

namespace ps {

class HeldMemory;

// The peer for which memory is held.  A trainer is its rank, and keeps its account when its connections
// change.  A reader is a number from kFirstReader on, one per connection.
using HeldPeer = uint64_t;
inline constexpr HeldPeer kFirstReader = uint64_t{1} << 32;
inline constexpr HeldPeer kWholeRun = kFirstReader - 1;  // for all trainers of the run

// The kinds of memory in the ledger.  The rows of pushes are not among them, but in its pool; trainer state
// chunks are counted separately.
enum class HeldKind : uint8_t {
  kPulls,        // pulls that wait for a step, or for room for their answers
  kPushes,       // slices of pushes, without their rows
  kPullHistory,  // pulls that pushes may name, with the pointers to their rows
  kGatherings,   // bytes that trainers give, and the answers that are kept
  kTrainers,     // the trainers of the run
  kDeferred,     // requests that wait for the end of a step that is applied in slices
  kCheckpoints,  // requests that wait for a checkpoint, or for its files
};
inline constexpr size_t kNumHeldKinds = 7;

// Bytes that were taken from an account.  They go back when this is destroyed, which must be before the
// ledger is.  Only the ledger's owner thread may use it.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(HeldBytes&& other) noexcept { swap(other); }
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    HeldBytes taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~HeldBytes();

  uint64_t bytes() const { return bytes_; }

 private:
  friend class HeldMemory;
  HeldBytes(HeldMemory& ledger, HeldPeer peer, HeldKind kind, uint64_t bytes)
      : ledger_(&ledger), peer_(peer), kind_(kind), bytes_(bytes) {}
  void swap(HeldBytes& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(peer_, other.peer_);
    std::swap(kind_, other.kind_);
    std::swap(bytes_, other.bytes_);
  }

  HeldMemory* ledger_ = nullptr;  // null: nothing is held
  HeldPeer peer_ = 0;
  HeldKind kind_ = HeldKind::kPulls;
  uint64_t bytes_ = 0;
};

// Trainers may take all of the memory, readers together a quarter of it, so that a run goes on whatever
// readers do.  One owner thread.
class HeldMemory {
 public:
  HeldMemory(uint64_t max_bytes, TableMemory& tables, ShardCounters& counters)
      : max_bytes_(max_bytes), pool_(max_bytes), tables_(tables), counters_(counters) {}
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  // Takes `bytes` for something that is about to be held.  Throws kExhausted if there is no room; the request
  // is then refused, and nothing has changed.
  HeldBytes take(HeldPeer peer, HeldKind kind, uint64_t bytes);

  // take_trainers takes the memory of the lists for the trainers of a run. check_trainers throws kExhausted
  // if the trainers of a run would not fit alone: what the last run holds is freed when the next one begins.
  // take_trainers throws nothing, since requests of connections of the last run may stay a little longer.
  void check_trainers(size_t num_trainers);
  HeldBytes take_trainers(size_t num_trainers);

  // Changes the kind of what a peer holds, when a pull that waited becomes one that is remembered.
  void move(HeldBytes& held, HeldKind kind);

  // Returns true if `bytes` may be held for the peer, or for any trainer, beside all that is held.
  bool has_room(HeldPeer peer, uint64_t bytes) const;
  bool has_room(uint64_t bytes) const { return has_room(kWholeRun, bytes); }

  // Sets the bytes of state chunks that there are now.  Chunks share the room of the rows that wait for other
  // trainers, and stay until the trainer's next step.  If they do not fit there, they take memory of the
  // tables.  Returns false if the tables have none left.
  bool set_chunk_bytes(uint64_t bytes) {
    chunk_bytes_ = bytes;
    return tables_.set_aside(has_room(bytes) ? 0 : bytes);
  }

  // Throws kExhausted for `bytes` that have no room beside `chunk_bytes` of state chunks.
  [[noreturn]] void refuse(uint64_t bytes, uint64_t chunk_bytes = 0);

  // While a log is replayed nothing is refused: every change was accepted when it had room, and a request of
  // a connection that was gone by then may be held for longer here.
  void set_unlimited(bool unlimited) { unlimited_ = unlimited; }

  BufferPool& pool() { return pool_; }  // of rows that wait
  uint64_t bytes_in_use() const { return pool_.bytes_in_use() + taken_; }
  uint64_t bytes_in_use(HeldKind kind) const { return kinds_[static_cast<size_t>(kind)]; }
  uint64_t bytes_of(HeldPeer peer) const;  // without rows and state chunks

  // Appends the bytes of every kind, including rows and state chunks.
  void describe(std::vector<HeldStatus>& kinds) const;

 private:
  friend class HeldBytes;
  HeldBytes add(HeldPeer peer, HeldKind kind, uint64_t bytes);
  void give_back(HeldPeer peer, HeldKind kind, uint64_t bytes);

  const uint64_t max_bytes_;
  // Not the connections' pool: they could not be read while pushes wait in it.
  BufferPool pool_;
  TableMemory& tables_;
  ShardCounters& counters_;
  std::array<uint64_t, kNumHeldKinds> kinds_{};
  std::map<HeldPeer, uint64_t> peers_;  // bytes of the peers that have some
  uint64_t taken_ = 0;                  // the sum of all accounts
  uint64_t readers_ = 0;                // part of taken_ that readers have
  uint64_t chunk_bytes_ = 0;            // as set_chunk_bytes was told last
  bool unlimited_ = false;
};

// The bytes of memory that decoded slices take, their keys and counts included.
uint64_t memory_of(std::span<const RowSlice> slices);

// The bytes of memory of a pull that waits and is then remembered: decoded slices, a pointer to each row, and
// the lists that hold it.
uint64_t memory_of_pull(const PullRequest& request);

// The bytes of memory of a slice of a push in the lists that hold it, without its rows, and without its keys
// if they are those of a pull.
uint64_t memory_of_push(const PushRequest& request);

}  // namespace ps

#endif  // PS_PS_SERVER_HELD_MEMORY_H_
