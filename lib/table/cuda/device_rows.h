// The layout of a table in device memory, and the scratch memory of a batch of keys, as kernels see them.
// Used by DeviceTable and its kernels.
//
//   bucket = 32 slots: keys [32], scores [32], a bit a slot that is set while it is taken, rows [32, stride]
//   row    = weights [width], padding, state [arrays, width], padding
//
// Weights are floats, or floats of 16 bits, rounded after each step; state is floats.  There is padding behind weights of 16
// bits, so that state begins at a multiple of 4 bytes, and of 16 where width is a multiple of 4; and behind the row up to a
// multiple of 16 bytes.
//
// A key lies in the bucket that the high half of its hash chooses, in any slot.  So all 64-bit keys are
// legal, a look-up reads one bucket, however full the table is, and a warp that owns a bucket needs no
// atomics.
//
// A batch is sorted by hash.  Equal keys then follow each other, in the order in which they were given, and
// so do the keys of a bucket: one warp makes all changes of a bucket, in an order that the keys alone decide.
#ifndef PS_TABLE_CUDA_DEVICE_ROWS_H_
#define PS_TABLE_CUDA_DEVICE_ROWS_H_

#include <cstdint>

#include "base/hash.h"
#include "math/initializer.h"
#include "math/value_rounding.h"
#include "optim/kernels/idle.h"

namespace ps {

// The score by which a full bucket chooses the row to evict: the lowest score, and among equal ones the
// lowest slot.
enum class EvictionScore {
  kAge,    // the number of the call that touched the row last
  kCount,  // how often its key was given
  kGiven,  // the score last given with the key; a key with a lower score than all rows is refused
};

// Counts of the effects of all calls since the table was made.
struct DeviceTableCounts {
  uint64_t rows = 0;  // rows at present
  uint64_t inserted = 0, evicted = 0, erased = 0;
  uint64_t refused = 0;  // keys without a slot, each counted once a call: their bucket was full
};

// Output memory for the rows that a call removes from the table: room for as many rows as the call has keys.
// The call sets `count`.  Rows come out, and go in, as floats: weights and then state.
//   rows [count, row_floats], scores [count]
struct RowsOut {
  uint64_t* keys = nullptr;
  uint64_t* scores = nullptr;
  float* rows = nullptr;
  uint32_t* count = nullptr;
};

// Output memory for what a look-up finds.
//   found [size], scores [size], rows [size, row_floats]: 1 or 0, and zero where there is no row
struct FoundRows {
  uint8_t* found = nullptr;
  uint64_t* scores = nullptr;
  float* rows = nullptr;  // null: rows are not wanted
};

namespace device_table {

constexpr uint32_t kSlots = 32;  // slots of a bucket: one for each lane of a warp
constexpr uint32_t kNoSlot = 0xffffffff;
constexpr uint32_t kNoSource = 0xffffffff;  // DeviceTable::load leaves the row of such a key as it is
constexpr uint32_t kLongRun = 96;           // keys of a run, above which a block adds up its gradients

constexpr uint32_t bucket_of_hash(uint64_t hash, uint32_t num_buckets) {
  return static_cast<uint32_t>((hash >> 32) * num_buckets >> 32);
}

// The inverse of hash_key.
constexpr uint64_t key_of_hash(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= 0x9cb4b2f8129337dbULL;
  hash ^= hash >> 33;
  hash *= 0x4f74430c22a54005ULL;
  hash ^= hash >> 33;
  return hash;
}
static_assert(key_of_hash(hash_key(0)) == 0 &&
              key_of_hash(hash_key(0x0123456789abcdef)) == 0x0123456789abcdef);

enum Outcome : uint32_t { kFound, kInserted, kEvicted, kRefused };

struct Rows {
  uint64_t* keys;
  uint64_t* scores;
  uint32_t* taken;
  float* rows;
  DeviceTableCounts* counts;
  uint32_t num_buckets, width, row_floats;
  uint32_t state_at, stride;  // of a row as it lies: where its state begins, and its length, in floats
  ValueRounding rounding;     // of the present step
};

// The keys of a batch, sorted by hash.  A run is one key with all its positions in the batch: `begins` says where it
// begins among the sorted positions, and where the next one does.  Hashes are a bijection of keys, so a run's hash is
// its key.
struct Batch {
  const uint64_t* keys;    // [size], as given
  const uint64_t* scores;  // [size], or null
  uint32_t size;
  uint32_t first;  // keys of the tables before this one, if a group of tables is given keys together
  uint32_t first_prefix,
      table_bits;  // then a prefix has the table's number above these bits of the hash, else 0
  uint32_t *prefixes, *sorted_prefixes;  // [size]: the high halves of hashes
  uint32_t *order, *positions;           // [size]: 0, 1, ...; sorted with the hashes
  uint64_t* sorted_hashes;               // [size]
  uint32_t *mixed,
      *num_mixed;  // where prefixes begin that several hashes share, in any order: from the group's first key on
  uint32_t*
      runs_before;  // [size]: the runs that begin before a sorted position, in a group counted from its first table
  uint64_t* run_hashes;  // [num_runs], as are `slots` and the arrays that follow it
  uint32_t* begins;      // [num_runs + 1]
  uint32_t* num_runs;
  uint32_t *slots, *outcomes;
  uint32_t *missing, *any_missing;  // 1 where there was no row; and [1], if there is one such
  uint64_t *evicted_keys, *evicted_scores;
  uint32_t *evicted_flags, *evicted_positions;  // [size]: 0 or 1, and their sums, counted as runs_before is
  uint32_t *long_runs, *num_long_runs;  // the runs of more than kLongRun keys, in any order: `first` + run
};

// The parameters of an Initializer, whose virtual functions a device cannot call.
struct Initial {
  Distribution distribution;
  float mean, deviation;
  uint64_t seed;
};

// The state of a row that no step has touched: zero, or -(w slope + sign(w) l1) for optimizers that compute
// weights from state (FTRL).
struct InitialState {
  bool from_weight = false;
  float slope = 0, l1 = 0;
};

// The scores that a call gives to the rows that it touches.
struct Scoring {
  EvictionScore score;
  uint64_t call;
};

}  // namespace device_table

}  // namespace ps

#endif  // PS_TABLE_CUDA_DEVICE_ROWS_H_
