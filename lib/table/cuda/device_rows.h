// The layout of a table in device memory, and the scratch memory of a batch of keys, as kernels see them.
// Used by DeviceTable and its kernels.
//
//   bucket = 32 slots: keys [32], scores [32], a bit a slot that is set while it is taken, rows [32, stride]
//   row    = weights [width], padding, state [arrays, width], padding
//
// Weights are floats, or floats of 16 bits that are rounded after each step; state is floats.  Padding
// follows weights of 16 bits, so that the state begins at a multiple of 4 bytes, or of 16 bytes if the width
// is a multiple of 4.  Padding also follows the row, up to a multiple of 16 bytes.
//
// A key lies in any slot of the bucket that the high half of its hash chooses.  So all 64-bit keys are legal,
// a look-up reads one bucket however full the table is, and a warp that owns a bucket needs no atomics.
//
// A batch is sorted by hash.  Equal keys then follow each other, in the order in which they were given, and
// so do the keys of a bucket.  One warp makes all changes of a bucket, in an order that depends on the keys
// alone.
#ifndef PS_TABLE_CUDA_DEVICE_ROWS_H_
#define PS_TABLE_CUDA_DEVICE_ROWS_H_

#include <cstdint>

#include "base/hash.h"
#include "math/initializer.h"
#include "math/value_rounding.h"
#include "optim/kernels/idle.h"

namespace ps {

// The score by which a full bucket chooses the row to evict: the row with the lowest score, and among equal
// scores the lowest slot.
enum class EvictionScore {
  kAge,    // the number of the call that touched the row last
  kCount,  // the number of times that its key was given
  kGiven,  // the score last given with the key; a key with a lower score than all rows is refused
};

// Counts of the effects of all calls since the table was made.
struct DeviceTableCounts {
  uint64_t rows = 0;  // rows at present
  uint64_t inserted = 0, evicted = 0, erased = 0;
  uint64_t refused = 0;  // keys without a slot, each counted once a call: their bucket was full
};

// Output memory for the rows that a call removes from the table: room for as many rows as the call has keys.
// The call sets `count`. Rows enter and leave the table as floats: weights and then state.
//   rows [count, row_floats], scores [count]
struct RowsOut {
  uint64_t* keys = nullptr;
  uint64_t* scores = nullptr;
  float* rows = nullptr;
  uint32_t* count = nullptr;
};

// Output memory for the results of a look-up.
//   found [size], scores [size], rows [size, row_floats]: 1 or 0; scores and rows are zero if there is no row
struct FoundRows {
  uint8_t* found = nullptr;
  uint64_t* scores = nullptr;
  float* rows = nullptr;  // null: rows are not copied
};

namespace device_table {

constexpr uint32_t kSlots = 32;  // slots of a bucket: one for each lane of a warp
constexpr uint32_t kNoSlot = 0xffffffff;
constexpr uint32_t kNoSource = 0xffffffff;  // source of a key whose row DeviceTable::load does not change
constexpr uint32_t kLongRun = 96;           // for a run of more keys, a block adds up the gradients

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
  uint32_t state_at, stride;  // where the state of a stored row begins, and the length of the row, in floats
  ValueRounding rounding;     // of the present step
};

// The keys of a batch, sorted by hash.  A run is one key with all its positions in the batch; `begins` has
// the sorted positions at which each run and the next one begin.  Hashes are a bijection of keys, so the hash
// of a run stands for its key.
struct Batch {
  const uint64_t* keys;    // [size], as given
  const uint64_t* scores;  // [size], or null
  uint32_t size;
  uint32_t first;  // number of keys of the tables before this one, in a group of tables
  // In a group of tables, a prefix has the table's number, which is in first_prefix, above the bits of the
  // hash; table_bits is the number of its bits.  Both are 0 for a table alone.
  uint32_t first_prefix, table_bits;
  uint32_t *prefixes, *sorted_prefixes;  // [size]: the high halves of hashes
  uint32_t *order, *positions;           // [size]: 0, 1, ...; sorted with the hashes
  uint64_t* sorted_hashes;               // [size]
  // The beginnings of the prefixes that several hashes share, in any order, counted from the group's first key.
  uint32_t *mixed, *num_mixed;
  // [size]: the number of runs that begin before a sorted position; in a group, counted from its first table.
  uint32_t* runs_before;
  uint64_t* run_hashes;  // [num_runs], as are `slots` and the arrays that follow it
  uint32_t* begins;      // [num_runs + 1]
  uint32_t* num_runs;
  uint32_t *slots, *outcomes;
  uint32_t *missing, *any_missing;  // 1 if there was no row; and [1]: 1 if any row is missing
  uint64_t *evicted_keys, *evicted_scores;
  uint32_t *evicted_flags, *evicted_positions;  // [size]: 0 or 1, and their sums, counted as runs_before is
  uint32_t *long_runs, *num_long_runs;  // the runs of more than kLongRun keys, in any order, as `first` + run
};

// The parameters of an Initializer, whose virtual functions a device cannot call.
struct Initial {
  Distribution distribution;
  float mean, deviation;
  uint64_t seed;
};

// The state of a row that no step has changed: zero, or -(w slope + sign(w) l1) for optimizers that compute
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
