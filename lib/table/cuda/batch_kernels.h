// The kernels of DeviceTable that prepare a batch.  They sort its keys, find the runs of equal keys, and give
// each run a slot and, if its key is new, a row.  Used by device_table.cu alone.
#ifndef PS_TABLE_CUDA_BATCH_KERNELS_H_
#define PS_TABLE_CUDA_BATCH_KERNELS_H_

#include "optim/kernels/arithmetic.h"
#include "table/cuda/row_storage.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

__device__ inline uint64_t key_of_run(const Batch& batch, uint32_t run) {
  return key_of_hash(batch.run_hashes[run]);
}

__device__ inline uint32_t length_of_run(const Batch& batch, uint32_t run) {
  return batch.begins[run + 1] - batch.begins[run];
}

// Returns the last position of a run in the batch.
__device__ inline uint32_t last_position(const Batch& batch, uint32_t run) {
  return batch.positions[batch.begins[run + 1] - 1];
}

// The bodies of the kernels below get the number of their thread among the threads of its table.  These are
// all threads of a grid, or the threads of some of its blocks (group_kernels.h).

// One thread a key: computes its prefix, the high half of its hash, by which keys are sorted.
__device__ inline void hash_key_at(const Batch& batch, uint32_t i) {
  if (i >= batch.size) return;
  const auto high = static_cast<uint32_t>(hash_key(batch.keys[i]) >> 32);
  batch.prefixes[i] = batch.first_prefix | high >> batch.table_bits;
  batch.order[i] = i;
}

__global__ inline void hash_keys(Batch batch) {
  hash_key_at(batch, thread_index());
}

// Returns the first sorted position whose prefix is at least this one.
__device__ inline uint32_t begin_of_prefix(const Batch& batch, uint64_t prefix) {
  uint32_t first = 0;
  for (uint32_t left = batch.size; left > 0;) {
    const uint32_t half = left / 2;
    if (batch.sorted_prefixes[first + half] < prefix) {
      first += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return first;
}

// One thread a sorted position: writes its hash, and lists the prefixes that several hashes share.
//   is_listed [size]: 0 before; 1 at the first position of a listed prefix
__device__ inline void complete_hash(const Batch& batch, uint32_t* is_listed, uint32_t j) {
  if (j >= batch.size) return;
  const uint64_t hash = hash_key(batch.keys[batch.positions[j]]);
  batch.sorted_hashes[j] = hash;
  const uint32_t prefix = batch.sorted_prefixes[j];
  if (j == 0 || batch.sorted_prefixes[j - 1] != prefix) return;
  if (hash_key(batch.keys[batch.positions[j - 1]]) == hash) return;
  const uint32_t begin = begin_of_prefix(batch, prefix);
  if (gpu::atomic_exchange<Order::kRelaxed>(&is_listed[begin], 1) != 0) return;
  batch.mixed[gpu::atomic_add<Order::kRelaxed>(batch.num_mixed, 1)] = batch.first + begin;
}

__global__ inline void complete_hashes(Batch batch, uint32_t* is_listed) {
  complete_hash(batch, is_listed, thread_index());
}

// Orders two sorted positions by their hashes, and by their positions if the hashes are equal.
__device__ inline void put_in_order(const Batch& batch, uint32_t i, uint32_t j) {
  const uint64_t x = batch.sorted_hashes[i], y = batch.sorted_hashes[j];
  const uint32_t position_x = batch.positions[i], position_y = batch.positions[j];
  if (x < y || (x == y && position_x < position_y)) return;
  batch.sorted_hashes[i] = y;
  batch.sorted_hashes[j] = x;
  batch.positions[i] = position_y;
  batch.positions[j] = position_x;
}

// Sorts the positions of every prefix that several hashes share by hash.  A block takes every n-th such
// prefix.  There are few of them, mostly of two positions, but one prefix may have all keys of a batch.  So
// this is a bitonic sort, in the form in which the lower of two positions always gets the lower value:
// positions behind the end then never take part.
__global__ inline void order_mixed(Batch batch) {
  const uint32_t num_mixed = *batch.num_mixed;
  for (uint32_t n = blockIdx.x; n < num_mixed; n += gridDim.x) {
    const uint32_t begin = batch.mixed[n];
    const uint64_t size = begin_of_prefix(batch, uint64_t{batch.sorted_prefixes[begin]} + 1) - begin;
    uint64_t pairs = 1;
    while (2 * pairs < size) pairs *= 2;
    const auto compare = [&](uint64_t low, uint64_t high) {
      if (high < size)
        put_in_order(batch, begin + static_cast<uint32_t>(low), begin + static_cast<uint32_t>(high));
    };
    // Sorts runs of 2 `half`, whose halves are sorted.  The first comparison takes the
    // second half from its end; then the distances become shorter.
    for (uint64_t half = 1; half < size; half *= 2) {
      for (uint64_t i = threadIdx.x; i < pairs; i += blockDim.x) {
        const uint64_t run = i / half * 2 * half, at = i % half;
        compare(run + at, run + 2 * half - 1 - at);
      }
      gpu::sync_block();
      for (uint64_t apart = half / 2; apart > 0; apart /= 2) {
        for (uint64_t i = threadIdx.x; i < pairs; i += blockDim.x) {
          const uint64_t low = i / apart * 2 * apart + i % apart;
          compare(low, low + apart);
        }
        gpu::sync_block();
      }
    }
  }
}

__device__ inline bool begins_run(const Batch& batch, uint32_t j) {
  return j == 0 || batch.sorted_hashes[j] != batch.sorted_hashes[j - 1];
}

// One thread a sorted position: writes 1 if a run begins there, else 0.
__device__ inline void mark_run(const Batch& batch, uint32_t j) {
  if (j < batch.size) batch.runs_before[j] = begins_run(batch, j);
}

__global__ inline void mark_runs(Batch batch) {
  mark_run(batch, thread_index());
}

// Returns the number of runs of the table that begin before a sorted position.
__device__ inline uint32_t runs_before(const Batch& batch, uint32_t j) {
  return batch.runs_before[j] - batch.runs_before[0];
}

// One thread a sorted position: if a run begins there, writes its hash and its beginning, and lists it if it
// is long.
__device__ inline void list_run(const Batch& batch, uint32_t j) {
  if (j >= batch.size) return;
  const uint32_t before = runs_before(batch, j);
  const bool begins = begins_run(batch, j);
  if (j == batch.size - 1) {
    *batch.num_runs = before + begins;
    batch.begins[before + begins] = batch.size;
  }
  if (!begins) return;
  const uint64_t hash = batch.sorted_hashes[j];
  batch.run_hashes[before] = hash;
  batch.begins[before] = j;
  const bool is_long = batch.size - j > kLongRun && batch.sorted_hashes[j + kLongRun] == hash;
  if (is_long)
    batch.long_runs[gpu::atomic_add<Order::kRelaxed>(batch.num_long_runs, 1)] = batch.first + before;
}

__global__ inline void list_runs(Batch batch) {
  list_run(batch, thread_index());
}

// Returns the score that a run gives to a new row.  With kCount it is added to the score of an existing row.
__device__ inline uint64_t score_of_run(const Batch& batch, uint32_t run, Scoring scoring) {
  if (scoring.score == EvictionScore::kAge) return scoring.call;
  if (scoring.score == EvictionScore::kCount) return length_of_run(batch, run);
  return batch.scores[last_position(batch, run)];
}

// One warp for 32 runs: finds the existing rows, and scores them.
__device__ inline void find_some_runs(const Rows& rows, const Batch& batch, Scoring scoring, uint32_t own) {
  const uint32_t first = own - gpu::lane();
  const uint32_t num_runs = *batch.num_runs;
  if (first >= num_runs) return;
  const bool here = own < num_runs;
  const uint32_t slot =
      find_slots(rows, here ? key_of_run(batch, own) : 0, smaller(num_runs - first, kLanes));
  const uint32_t missing = gpu::ballot(kFullWarp, here && slot == kNoSlot);
  if (missing != 0 && gpu::lane() == 0) gpu::atomic_store<Order::kRelaxed>(batch.any_missing, 1);
  if (!here) return;
  batch.slots[own] = slot;
  batch.missing[own] = slot == kNoSlot;
  batch.outcomes[own] = kFound;
  batch.evicted_flags[own] = 0;
  if (slot == kNoSlot) return;
  const uint64_t score = score_of_run(batch, own, scoring);
  rows.scores[slot] = scoring.score == EvictionScore::kCount ? rows.scores[slot] + score : score;
}

__global__ inline void find_runs(Rows rows, Batch batch, Scoring scoring) {
  find_some_runs(rows, batch, scoring, thread_index());
}

// The runs [begin, end) of a bucket, and the number of them without a row.
struct Group {
  uint32_t bucket, begin, end, num_missing;
};

__device__ inline bool is_in(const Rows& rows, const Batch& batch, uint32_t run, uint32_t bucket) {
  return bucket_of(rows, batch.run_hashes[run]) == bucket;
}

// Returns the group of a run without a row.  Only the thread of the group's first such run does the work of
// the group; for the others the group is empty.
__device__ inline Group group_of(const Rows& rows, const Batch& batch, uint32_t run, uint32_t num_runs) {
  const uint32_t bucket = bucket_of(rows, batch.run_hashes[run]);
  Group group = {bucket, run, run, 0};
  while (group.begin > 0 && is_in(rows, batch, group.begin - 1, bucket)) {
    if (batch.missing[--group.begin] != 0) return {bucket, run, run, 0};
  }
  for (; group.end < num_runs && is_in(rows, batch, group.end, bucket); ++group.end)
    group.num_missing += batch.missing[group.end] != 0;
  return group;
}

// Gives free slots to the runs of a group, in order.  There must be enough.
__device__ inline void take_free_slots(const Rows& rows, const Batch& batch, const Group& group,
                                       uint32_t taken, Scoring scoring) {
  for (uint32_t run = group.begin; run < group.end; ++run) {
    if (batch.missing[run] == 0) continue;
    const uint32_t entry = gpu::lowest_bit(~taken), slot = group.bucket * kSlots + entry;
    taken |= 1u << entry;
    rows.keys[slot] = key_of_run(batch, run);
    rows.scores[slot] = score_of_run(batch, run, scoring);
    batch.slots[run] = slot;
    batch.outcomes[run] = kInserted;
  }
  rows.taken[group.bucket] = taken;
}

// The registers of one lane for its slot of a bucket, while its warp gives out slots there.
struct Slot {
  uint64_t key, score;
  uint32_t taken;    // a bit for each slot with a key: the same in all lanes
  uint32_t touched;  // a bit for each slot with a key of this batch, likewise
  uint32_t changed;  // a bit for each slot with a new key, likewise
};

// Returns the lowest score of the slots that are not touched: first its high half, then the low one.
__device__ inline uint64_t lowest_score(const Slot& slot) {
  const bool may_go = (slot.touched >> gpu::lane() & 1) == 0;
  const auto high = static_cast<uint32_t>(slot.score >> 32), low = static_cast<uint32_t>(slot.score);
  const uint32_t lowest = gpu::reduce_min(kFullWarp, may_go ? high : ~0u);
  const uint32_t below = gpu::reduce_min(kFullWarp, may_go && high == lowest ? low : ~0u);
  return static_cast<uint64_t>(lowest) << 32 | below;
}

struct Claimed {
  uint32_t outcome, entry;
};

// Chooses a slot of the bucket for a key that has none: a free one, else the untouched slot with the lowest
// score.  Touched slots are never evicted, so that keys of one batch do not evict each other.
__device__ inline Claimed choose_entry(const Slot& slot, uint64_t score, EvictionScore scoring) {
  if (slot.taken != kFullWarp) return {kInserted, gpu::lowest_bit(~slot.taken)};
  if (slot.touched == kFullWarp) return {kRefused, 0};
  const uint64_t lowest = lowest_score(slot);
  if (scoring == EvictionScore::kGiven && score < lowest) return {kRefused, 0};
  const bool goes = (slot.touched >> gpu::lane() & 1) == 0 && slot.score == lowest;
  return {kEvicted, gpu::lowest_bit(gpu::ballot(kFullWarp, goes))};
}

// Gives a slot to a run without a row, if there is one, and notes the row that it evicts.  All lanes keep the
// same bits.
__device__ inline void claim_for_run(const Batch& batch, uint32_t run, uint32_t bucket, Scoring scoring,
                                     Slot& slot) {
  const uint64_t score = score_of_run(batch, run, scoring);
  const Claimed claimed = choose_entry(slot, score, scoring.score);
  if (gpu::lane() == claimed.entry) {
    batch.outcomes[run] = claimed.outcome;
    batch.slots[run] = claimed.outcome == kRefused ? kNoSlot : bucket * kSlots + claimed.entry;
    if (claimed.outcome == kEvicted) {
      batch.evicted_flags[run] = 1;
      batch.evicted_keys[run] = slot.key;
      batch.evicted_scores[run] = slot.score;
    }
    if (claimed.outcome != kRefused) {
      slot.key = key_of_run(batch, run);
      slot.score = score;
    }
  }
  if (claimed.outcome == kRefused) return;
  slot.taken |= 1u << claimed.entry;
  slot.touched |= 1u << claimed.entry;
  slot.changed |= 1u << claimed.entry;
}

// Returns the slots of the bucket that other runs of the group have.
__device__ inline uint32_t slots_found(const Batch& batch, const Group& group) {
  uint32_t found = 0;
  for (uint32_t run = group.begin + gpu::lane(); run < group.end; run += kLanes) {
    if (batch.missing[run] == 0) found |= 1u << batch.slots[run] % kSlots;
  }
  return gpu::reduce_or(kFullWarp, found);
}

// Gives slots to the runs of a group that has more new keys than free slots, one after the other, by a warp.
__device__ inline void claim_crowded(const Rows& rows, const Batch& batch, const Group& group,
                                     Scoring scoring, Slot slot) {
  slot.touched = slots_found(batch, group);
  for (uint32_t run = group.begin; run < group.end; ++run) {
    if (batch.missing[run] != 0) claim_for_run(batch, run, group.bucket, scoring, slot);
  }
  const uint32_t index = group.bucket * kSlots + gpu::lane();
  if ((slot.changed >> gpu::lane() & 1) != 0) {
    rows.keys[index] = slot.key;
    rows.scores[index] = slot.score;
  }
  if (gpu::lane() == 0) rows.taken[group.bucket] = slot.taken;
}

// One warp for 32 runs: gives slots to the runs without a row.  All runs of a bucket get theirs from one
// thread or warp, in the order of their hashes, so that the result does not depend on the order of warps.  A
// group with enough free slots is done by one thread; the warp then takes the crowded groups together, and
// loads kAhead of their buckets at a time.
__device__ inline void claim_some_slots(const Rows& rows, const Batch& batch, Scoring scoring, uint32_t own) {
  constexpr uint32_t kAhead = 4;  // buckets that are loaded at the same time
  const uint32_t lane = gpu::lane(), num_runs = *batch.num_runs;
  if (*batch.any_missing == 0) return;
  const bool is_missing = own < num_runs && batch.missing[own] != 0;
  if (!gpu::any(kFullWarp, is_missing)) return;
  const Group group = is_missing ? group_of(rows, batch, own, num_runs) : Group{};
  const uint32_t taken = group.num_missing > 0 ? rows.taken[group.bucket] : 0;
  const bool crowded = group.num_missing > static_cast<uint32_t>(gpu::count_ones(~taken));
  if (group.num_missing > 0 && !crowded) take_free_slots(rows, batch, group, taken, scoring);
  for (uint32_t left = gpu::ballot(kFullWarp, crowded); left != 0;) {
    Group groups[kAhead] = {};
    Slot slots[kAhead];
    PS_UNROLL for (uint32_t n = 0; n < kAhead; ++n) {
      if (left == 0) continue;
      const unsigned from = gpu::lowest_bit(left);
      groups[n] = {gpu::shuffle(kFullWarp, group.bucket, from), gpu::shuffle(kFullWarp, group.begin, from),
                   gpu::shuffle(kFullWarp, group.end, from), 1};
      const uint32_t index = groups[n].bucket * kSlots + lane;
      slots[n] = {rows.keys[index], rows.scores[index], gpu::shuffle(kFullWarp, taken, from), 0, 0};
      left &= left - 1;
    }
    PS_UNROLL for (uint32_t n = 0; n < kAhead; ++n) {
      if (groups[n].num_missing > 0) claim_crowded(rows, batch, groups[n], scoring, slots[n]);
    }
  }
}

__global__ inline void claim_slots(Rows rows, Batch batch, Scoring scoring) {
  claim_some_slots(rows, batch, scoring, thread_index());
}

// Returns the number of evicted rows before that of this run, which is also its position in the output.
__device__ inline uint32_t evicted_before(const Batch& batch, uint32_t run) {
  return batch.evicted_positions[run] - batch.evicted_positions[0];
}

// Counts the outcomes of the runs.  Each of `threads` threads counts every n-th run.
__device__ inline void count_some_outcomes(const Rows& rows, const Batch& batch, const RowsOut& evicted,
                                           uint32_t first, uint32_t threads) {
  const uint32_t num_runs = *batch.num_runs;
  if (first == 0 && evicted.count != nullptr) {
    *evicted.count = evicted_before(batch, batch.size - 1) + batch.evicted_flags[batch.size - 1];
  }
  if (*batch.any_missing == 0) return;
  uint32_t inserted = 0, evictions = 0, refused = 0;
  for (uint32_t run = first; run < num_runs; run += threads) {
    const uint32_t outcome = batch.outcomes[run];
    inserted += outcome == kInserted;
    evictions += outcome == kEvicted;
    refused += outcome == kRefused;
  }
  inserted = gpu::reduce_add(kFullWarp, inserted);
  evictions = gpu::reduce_add(kFullWarp, evictions);
  refused = gpu::reduce_add(kFullWarp, refused);
  if (gpu::lane() != 0) return;
  add_count(&rows.counts->rows, inserted);
  add_count(&rows.counts->inserted, inserted + evictions);
  add_count(&rows.counts->evicted, evictions);
  add_count(&rows.counts->refused, refused);
}

__global__ inline void count_outcomes(Rows rows, Batch batch, RowsOut evicted) {
  count_some_outcomes(rows, batch, evicted, thread_index(), gridDim.x * blockDim.x);
}

// One warp for 32 runs: saves the rows that new keys have evicted.
__device__ inline void save_some_evicted(const Rows& rows, const Batch& batch, const RowsOut& evicted,
                                         uint32_t run) {
  const bool saves = run < *batch.num_runs && batch.outcomes[run] == kEvicted;
  const uint32_t to = saves ? evicted_before(batch, run) : 0;
  float* const row = saves ? evicted.rows + static_cast<uint64_t>(to) * rows.row_floats : nullptr;
  read_rows(rows, row, saves ? row_at(rows, batch.slots[run]) : nullptr);
  if (!saves) return;
  evicted.keys[to] = batch.evicted_keys[run];
  evicted.scores[to] = batch.evicted_scores[run];
}

__global__ inline void save_evicted(Rows rows, Batch batch, RowsOut evicted) {
  save_some_evicted(rows, batch, evicted, thread_index());
}

// Writes initial weights 4 j ... 4 j + 3 of the key's row, and the initial state for them.
__device__ inline void start_four(const Rows& rows, const Initial& initial, const InitialState& state,
                                  uint64_t key, uint32_t j, float* row) {
  float values[4];
  initial_four(initial, key, j, values);
  float* const first_state = row + rows.state_at;
  const uint64_t hash = hash_key(key);
  for (uint32_t n = 0; n < 4 && 4 * j + n < rows.width; ++n) {
    const uint32_t c = 4 * j + n;
    const float w = values[n];
    write_weights<1>(rows, hash, row, c, {{w}});
    for (uint32_t at = c; at < rows.row_floats - rows.width; at += rows.width) first_state[at] = 0;
    if (state.from_weight && w != 0) first_state[c] = -(w * state.slope + with_sign(state.l1, w));
  }
}

// One warp for 32 runs: writes the initial weights and state of new rows, four columns a lane at a time.
__device__ inline void start_some_rows(const Rows& rows, const Batch& batch, const Initial& initial,
                                       const InitialState& state, uint32_t own) {
  if (*batch.any_missing == 0) return;
  const uint32_t outcome = own < *batch.num_runs ? batch.outcomes[own] : kFound;
  const bool is_new = outcome == kInserted || outcome == kEvicted;
  const uint32_t fresh = gpu::ballot(kFullWarp, is_new);
  if (fresh == 0) return;
  const uint32_t slot = is_new ? batch.slots[own] : 0, units = (rows.width + 3) / 4;
  const uint64_t key = is_new ? key_of_run(batch, own) : 0;
  for (uint32_t n = 0; n < units; ++n) {
    const uint32_t i = n * kLanes + gpu::lane(), from = i / units;
    const uint64_t its_key = gpu::shuffle(kFullWarp, key, from);
    const uint32_t its_slot = gpu::shuffle(kFullWarp, slot, from);
    if ((fresh >> from & 1) != 0)
      start_four(rows, initial, state, its_key, i % units, row_at(rows, its_slot));
  }
}

__global__ inline void start_rows(Rows rows, Batch batch, Initial initial, InitialState state) {
  start_some_rows(rows, batch, initial, state, thread_index());
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_BATCH_KERNELS_H_
