// The kernels of DeviceTable.  Used by device_table.cu alone.  A warp works on one item, a run of equal keys or a
// bucket, or on 32 of them, one a lane, together: its lanes then stand for the slots of a bucket, or for parts of rows.
// So loads of several look-ups and rows are under way in each warp, which is what random access needs.
#ifndef PS_TABLE_CUDA_DEVICE_TABLE_KERNELS_H_
#define PS_TABLE_CUDA_DEVICE_TABLE_KERNELS_H_

#include "base/hash.h"
#include "gpu/device.h"
#include "math/kernels/initial_values.h"
#include "optim/kernels/steps.h"
#include "table/cuda/device_rows.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

using gpu::kFullWarp;
using gpu::Order;

constexpr uint32_t kLanes = gpu::kWarpSize;

__device__ inline uint32_t warp_index() {
  return (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
}

__device__ inline uint32_t bucket_of(const Rows& rows, uint64_t hash) {
  return bucket_of_hash(hash, rows.num_buckets);
}

__device__ inline float* row_at(const Rows& rows, uint32_t slot) {
  return rows.rows + static_cast<uint64_t>(slot) * rows.stride;
}

__device__ inline uint64_t key_of_run(const Batch& batch, uint32_t run) {
  return key_of_hash(batch.run_hashes[run]);
}

__device__ inline uint32_t length_of_run(const Batch& batch, uint32_t run) {
  return batch.begins[run + 1] - batch.begins[run];
}

// The last position of a run in the batch.
__device__ inline uint32_t last_place(const Batch& batch, uint32_t run) {
  return batch.places[batch.begins[run + 1] - 1];
}

__device__ inline void add_count(uint64_t* count, uint64_t amount) {
  if (amount != 0) gpu::atomic_add<Order::kRelaxed>(count, amount);
}

// Returns in each lane the slot of the lane's key; kNoSlot if it has none.  The first `count` lanes have keys.
__device__ inline uint32_t find_slots(const Rows& rows, uint64_t key, uint32_t count) {
  constexpr uint32_t kAhead = 4;  // buckets whose keys are under way at the same time
  const uint32_t lane = gpu::lane();
  const uint32_t bucket = lane < count ? bucket_of(rows, hash_key(key)) : 0;
  uint32_t slot = kNoSlot;
  for (uint32_t first = 0; first < count; first += kAhead) {
    uint64_t there[kAhead];
    uint32_t taken[kAhead];
    for (uint32_t n = 0; n < kAhead; ++n) {
      const uint32_t from = gpu::shuffle(kFullWarp, bucket, first + n);
      there[n] = rows.keys[from * kSlots + lane];
      taken[n] = rows.taken[from];
    }
    for (uint32_t n = 0; n < kAhead; ++n) {
      const uint64_t wanted = gpu::shuffle(kFullWarp, key, first + n);
      const uint32_t here = gpu::ballot(kFullWarp, (taken[n] >> lane & 1) != 0 && there[n] == wanted);
      if (lane == first + n && lane < count && here != 0) slot = bucket * kSlots + gpu::lowest_bit(here);
    }
  }
  return slot;
}

// So many floats as are read and written at once.
template <int kFloats>
struct alignas(kFloats * sizeof(float)) Floats {
  float values[kFloats];
};

// copy_rows with rows of `units` units.
template <class Unit>
__device__ void copy_units(Unit* to, const Unit* from, uint32_t units) {
  constexpr uint32_t kAhead = 4;  // loads that are under way at the same time in each lane
  const uintptr_t from_address = reinterpret_cast<uintptr_t>(from),
                  to_address = reinterpret_cast<uintptr_t>(to);
  for (uint32_t first = 0; first < units; first += kAhead) {
    Unit loaded[kAhead];
    Unit* targets[kAhead];
    for (uint32_t n = 0; n < kAhead; ++n) {
      // Neighbours copy neighbours: unit i % units of the row of lane i / units.
      const uint32_t i = (first + n) * kLanes + gpu::lane(), row = i / units, unit = i - row * units;
      const auto* source = reinterpret_cast<const Unit*>(gpu::shuffle(kFullWarp, from_address, row));
      auto* target = reinterpret_cast<Unit*>(gpu::shuffle(kFullWarp, to_address, row));
      const bool copies = first + n < units && target != nullptr;
      targets[n] = copies ? target + unit : nullptr;
      loaded[n] = copies && source != nullptr ? source[unit] : Unit{};
    }
    for (uint32_t n = 0; n < kAhead; ++n) {
      if (targets[n] != nullptr) *targets[n] = loaded[n];
    }
  }
}

// Each lane gives a row of `count` floats, and where it is to go; all lanes copy all of them together.  Zeros go where
// `from` is null, and nothing where `to` is.
__device__ inline void copy_rows(float* to, const float* from, uint32_t count) {
  if (!gpu::any(kFullWarp, to != nullptr)) return;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (count % 4 == 0 && gpu::all(kFullWarp, bits % 16 == 0)) {
    copy_units(reinterpret_cast<Floats<4>*>(to), reinterpret_cast<const Floats<4>*>(from), count / 4);
  } else if (count % 2 == 0 && gpu::all(kFullWarp, bits % 8 == 0)) {
    copy_units(reinterpret_cast<Floats<2>*>(to), reinterpret_cast<const Floats<2>*>(from), count / 2);
  } else {
    copy_units(to, from, count);
  }
}

// Weights 4 j ... 4 j + 3 of a row that no step has touched.
__device__ inline void initial_four(const Initial& initial, uint64_t key, uint32_t j, float values[4]) {
  const bool drawn =
      initial.distribution == Distribution::kNormal || initial.distribution == Distribution::kUniform;
  if (!drawn) {
    const float value = initial.distribution == Distribution::kConstant ? initial.mean : 0;
    for (int n = 0; n < 4; ++n) values[n] = value;
    return;
  }
  uint32_t bits[4][1];
  initial_values::draw(initial.seed, key, j, bits);
  const uint32_t own[4] = {bits[0][0], bits[1][0], bits[2][0], bits[3][0]};
  float four[4];
  if (initial.distribution == Distribution::kNormal) {
    initial_values::NormalLaw()(own, four);
  } else {
    initial_values::UniformLaw()(own, four);
  }
  for (int n = 0; n < 4; ++n) values[n] = initial.mean + initial.deviation * four[n];
}

// weights [width] <- the initial weights of the key's row.
__device__ inline void write_initial(const Initial& initial, uint64_t key, float* weights, uint32_t width) {
  for (uint32_t j = gpu::lane(); 4 * j < width; j += kLanes) {
    float values[4];
    initial_four(initial, key, j, values);
    for (uint32_t n = 0; n < 4 && 4 * j + n < width; ++n) weights[4 * j + n] = values[n];
  }
}

// One thread a key.
__global__ inline void hash_keys(Batch batch) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch.size) return;
  batch.prefixes[i] = static_cast<uint32_t>(hash_key(batch.keys[i]) >> 32);
  batch.order[i] = i;
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
//   is_listed [size]: 0, and 1 for a prefix that is, where it begins
__global__ inline void complete_hashes(Batch batch, uint32_t* is_listed) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= batch.size) return;
  const uint64_t hash = hash_key(batch.keys[batch.places[j]]);
  batch.sorted_hashes[j] = hash;
  const uint32_t prefix = batch.sorted_prefixes[j];
  if (j == 0 || batch.sorted_prefixes[j - 1] != prefix) return;
  if (hash_key(batch.keys[batch.places[j - 1]]) == hash) return;
  const uint32_t begin = begin_of_prefix(batch, prefix);
  if (gpu::atomic_exchange<Order::kRelaxed>(&is_listed[begin], 1) != 0) return;
  batch.mixed[gpu::atomic_add<Order::kRelaxed>(batch.num_mixed, 1)] = begin;
}

// Puts two sorted positions into the order of their hashes, and of their places where these are equal.
__device__ inline void put_in_order(const Batch& batch, uint32_t i, uint32_t j) {
  const uint64_t x = batch.sorted_hashes[i], y = batch.sorted_hashes[j];
  const uint32_t place_x = batch.places[i], place_y = batch.places[j];
  if (x < y || (x == y && place_x < place_y)) return;
  batch.sorted_hashes[i] = y;
  batch.sorted_hashes[j] = x;
  batch.places[i] = place_y;
  batch.places[j] = place_x;
}

// Blocks for every n-th prefix that several hashes share: sorts its positions by hash.  There are few, of two positions
// most often, but there may be one prefix with all keys of a batch.  So this is a bitonic sort, in the form in which the
// lower of two positions always gets the lower value; then positions behind the end never take part.
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
    // Sorts runs of 2 `half`, whose halves are sorted: one comes from behind, then distances become shorter.
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

// One thread a sorted position: 1 where a run begins.
__global__ inline void mark_runs(Batch batch) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < batch.size) batch.runs_before[j] = begins_run(batch, j);
}

// One thread a sorted position.
__global__ inline void list_runs(Batch batch) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= batch.size) return;
  const uint32_t before = batch.runs_before[j];
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
  if (is_long) batch.long_runs[gpu::atomic_add<Order::kRelaxed>(batch.num_long_runs, 1)] = before;
}

// Returns the score that a run gives to a new row.  With kCount it is added to the score of a row that is
// there already.
__device__ inline uint64_t score_of_run(const Batch& batch, uint32_t run, Scoring scoring) {
  if (scoring.score == EvictionScore::kAge) return scoring.call;
  if (scoring.score == EvictionScore::kCount) return length_of_run(batch, run);
  return batch.scores[last_place(batch, run)];
}

// One warp for 32 runs: finds the rows that are there, and scores them.
__global__ inline void find_runs(Rows rows, Batch batch, Scoring scoring) {
  const uint32_t own = blockIdx.x * blockDim.x + threadIdx.x, first = own - gpu::lane();
  const uint32_t num_runs = *batch.num_runs;
  if (first >= num_runs) return;
  const bool here = own < num_runs;
  const uint32_t slot =
      find_slots(rows, here ? key_of_run(batch, own) : 0, smaller(num_runs - first, kLanes));
  if (!here) return;
  batch.slots[own] = slot;
  batch.missing[own] = slot == kNoSlot;
  if (slot == kNoSlot) gpu::atomic_store<Order::kRelaxed>(batch.any_missing, 1);
  batch.outcomes[own] = kFound;
  batch.evicted_flags[own] = 0;
  if (slot == kNoSlot) return;
  const uint64_t score = score_of_run(batch, own, scoring);
  rows.scores[slot] = scoring.score == EvictionScore::kCount ? rows.scores[slot] + score : score;
}

// The runs [begin, end) of a bucket, and how many of them have no row.
struct Group {
  uint32_t bucket, begin, end, num_missing;
};

__device__ inline bool is_in(const Rows& rows, const Batch& batch, uint32_t run, uint32_t bucket) {
  return bucket_of(rows, batch.run_hashes[run]) == bucket;
}

// Returns the group of a run without a row; one that is empty unless it is the group's first such run, whose thread does
// the work of the group.
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

// Gives free slots to the runs of a group, in order.  There are enough.
__device__ inline void take_free_slots(const Rows& rows, const Batch& batch, const Group& group,
                                       uint32_t taken, Scoring scoring) {
  for (uint32_t run = group.begin; run < group.end; ++run) {
    if (batch.missing[run] == 0) continue;
    const uint32_t place = gpu::lowest_bit(~taken), slot = group.bucket * kSlots + place;
    taken |= 1u << place;
    rows.keys[slot] = key_of_run(batch, run);
    rows.scores[slot] = score_of_run(batch, run, scoring);
    batch.slots[run] = slot;
    batch.outcomes[run] = kInserted;
  }
  rows.taken[group.bucket] = taken;
}

// The registers of one lane for its slot of a bucket, while its warp claims slots there.
struct Slot {
  uint64_t key, score;
  uint32_t taken;    // slots with a key, a bit each: the same in all lanes
  uint32_t touched;  // slots with a key of this batch, likewise
  uint32_t changed;  // slots with a key that they did not have before, likewise
};

// Returns the lowest score of the slots that are not touched: its high half first, then the low one.
__device__ inline uint64_t lowest_score(const Slot& slot) {
  const bool may_go = (slot.touched >> gpu::lane() & 1) == 0;
  const auto high = static_cast<uint32_t>(slot.score >> 32), low = static_cast<uint32_t>(slot.score);
  const uint32_t lowest = gpu::reduce_min(kFullWarp, may_go ? high : ~0u);
  const uint32_t below = gpu::reduce_min(kFullWarp, may_go && high == lowest ? low : ~0u);
  return static_cast<uint64_t>(lowest) << 32 | below;
}

struct Claimed {
  uint32_t outcome, place;
};

// Chooses a slot of the bucket for a key that has none: a free one, else the untouched slot with the lowest score.
// Touched slots are never evicted, so keys of the same batch do not evict each other.
__device__ inline Claimed choose_place(const Slot& slot, uint64_t score, EvictionScore scoring) {
  if (slot.taken != kFullWarp) return {kInserted, gpu::lowest_bit(~slot.taken)};
  if (slot.touched == kFullWarp) return {kRefused, 0};
  const uint64_t lowest = lowest_score(slot);
  if (scoring == EvictionScore::kGiven && score < lowest) return {kRefused, 0};
  const bool goes = (slot.touched >> gpu::lane() & 1) == 0 && slot.score == lowest;
  return {kEvicted, gpu::lowest_bit(gpu::ballot(kFullWarp, goes))};
}

__device__ inline void claim_for_run(const Batch& batch, uint32_t run, uint32_t bucket, Scoring scoring,
                                     Slot& slot) {
  const uint64_t score = score_of_run(batch, run, scoring);
  const Claimed claimed = choose_place(slot, score, scoring.score);
  if (gpu::lane() == claimed.place) {
    batch.outcomes[run] = claimed.outcome;
    batch.slots[run] = claimed.outcome == kRefused ? kNoSlot : bucket * kSlots + claimed.place;
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
  slot.taken |= 1u << claimed.place;
  slot.touched |= 1u << claimed.place;
  slot.changed |= 1u << claimed.place;
}

// Returns the slots of the bucket that the group's other runs have.
__device__ inline uint32_t slots_found(const Batch& batch, const Group& group) {
  uint32_t found = 0;
  for (uint32_t run = group.begin + gpu::lane(); run < group.end; run += kLanes) {
    if (batch.missing[run] == 0) found |= 1u << batch.slots[run] % kSlots;
  }
  return gpu::reduce_or(kFullWarp, found);
}

// Gives slots to the runs of a group whose bucket gets too full for them, one after the other, by a warp.
__device__ inline void claim_crowded(const Rows& rows, const Batch& batch, const Group& group,
                                     Scoring scoring, Slot slot) {
  slot.touched = slots_found(batch, group);
  for (uint32_t run = group.begin; run < group.end; ++run) {
    if (batch.missing[run] != 0) claim_for_run(batch, run, group.bucket, scoring, slot);
  }
  const uint32_t place = group.bucket * kSlots + gpu::lane();
  if ((slot.changed >> gpu::lane() & 1) != 0) {
    rows.keys[place] = slot.key;
    rows.scores[place] = slot.score;
  }
  if (gpu::lane() == 0) rows.taken[group.bucket] = slot.taken;
}

// One warp for 32 runs: gives slots to those without a row.  All runs of a bucket get theirs from one thread or warp, in
// the order of their hashes, so that the result does not depend on the order of warps.
__global__ inline void claim_slots(Rows rows, Batch batch, Scoring scoring) {
  constexpr uint32_t kAhead = 4;  // buckets under way at the same time
  const uint32_t lane = gpu::lane(), own = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t num_runs = *batch.num_runs;
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
      const uint32_t place = groups[n].bucket * kSlots + lane;
      slots[n] = {rows.keys[place], rows.scores[place], gpu::shuffle(kFullWarp, taken, from), 0, 0};
      left &= left - 1;
    }
    PS_UNROLL for (uint32_t n = 0; n < kAhead; ++n) {
      if (groups[n].num_missing > 0) claim_crowded(rows, batch, groups[n], scoring, slots[n]);
    }
  }
}

// Threads for every n-th run each.
__global__ inline void count_outcomes(Rows rows, Batch batch, RowsOut evicted) {
  const uint32_t num_runs = *batch.num_runs, first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first == 0 && evicted.count != nullptr) {
    *evicted.count = batch.evicted_places[batch.size - 1] + batch.evicted_flags[batch.size - 1];
  }
  if (*batch.any_missing == 0) return;
  uint32_t inserted = 0, evictions = 0, refused = 0;
  for (uint32_t run = first; run < num_runs; run += gridDim.x * blockDim.x) {
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

// One warp for 32 runs: saves the rows that their keys take the place of.
__global__ inline void save_evicted(Rows rows, Batch batch, RowsOut evicted) {
  const uint32_t run = blockIdx.x * blockDim.x + threadIdx.x;
  const bool saves = run < *batch.num_runs && batch.outcomes[run] == kEvicted;
  const uint32_t to = saves ? batch.evicted_places[run] : 0;
  float* const row = saves ? evicted.rows + static_cast<uint64_t>(to) * rows.row_floats : nullptr;
  copy_rows(row, saves ? row_at(rows, batch.slots[run]) : nullptr, rows.row_floats);
  if (!saves) return;
  evicted.keys[to] = batch.evicted_keys[run];
  evicted.scores[to] = batch.evicted_scores[run];
}

// Writes initial weights 4 j ... 4 j + 3 of the key's row, and the state that goes with them.
__device__ inline void start_four(const Rows& rows, const Initial& initial, const InitialState& state,
                                  uint64_t key, uint32_t j, float* row) {
  float values[4];
  initial_four(initial, key, j, values);
  for (uint32_t n = 0; n < 4 && 4 * j + n < rows.width; ++n) {
    const uint32_t c = 4 * j + n;
    const float w = values[n];
    row[c] = w;
    for (uint32_t at = c + rows.width; at < rows.row_floats; at += rows.width) row[at] = 0;
    if (state.from_weight && w != 0) row[c + rows.width] = -(w * state.slope + with_sign(state.l1, w));
  }
}

// One warp for 32 runs: writes initial weights and state of new rows, four columns a lane at a time.
__global__ inline void start_rows(Rows rows, Batch batch, Initial initial, InitialState state) {
  if (*batch.any_missing == 0) return;
  const uint32_t own = blockIdx.x * blockDim.x + threadIdx.x;
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

// One warp for 32 runs: sets the rows to the values at the keys' last positions in the batch.
//   values [size, row_floats]
__global__ inline void assign_rows(Rows rows, Batch batch, const float* values) {
  const uint32_t run = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t slot = run < *batch.num_runs ? batch.slots[run] : kNoSlot;
  const uint64_t last = slot != kNoSlot ? last_place(batch, run) : 0;
  copy_rows(slot != kNoSlot ? row_at(rows, slot) : nullptr, values + last * rows.row_floats, rows.row_floats);
}

// One warp for 32 runs: sets the rows to the values that the keys' last positions in the batch name, if they name any.
//   sources [size], values [1 + highest source, row_floats]
__global__ inline void load_rows(Rows rows, Batch batch, const uint32_t* sources, const float* values) {
  const uint32_t run = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t slot = run < *batch.num_runs ? batch.slots[run] : kNoSlot;
  const uint32_t source = slot != kNoSlot ? sources[last_place(batch, run)] : kNoSource;
  const bool loads = source != kNoSource;
  copy_rows(loads ? row_at(rows, slot) : nullptr,
            values + (loads ? static_cast<uint64_t>(source) * rows.row_floats : 0), rows.row_floats);
}

// One warp for 32 keys, which are distinct.  Applies idle steps to the rows that have a change, and sets their score.
//   which [size]: numbers of changes, or kNoSource
__global__ inline void advance_rows(Rows rows, const uint64_t* keys, uint32_t size, const uint32_t* which,
                                    const IdleChange* changes, uint64_t score) {
  const uint32_t own = blockIdx.x * blockDim.x + threadIdx.x, first = own - gpu::lane();
  if (first >= size) return;
  const uint32_t slot = find_slots(rows, own < size ? keys[own] : 0, smaller(size - first, kLanes));
  const uint32_t number = slot != kNoSlot ? which[own] : kNoSource;
  for (uint32_t left = gpu::ballot(kFullWarp, number != kNoSource); left != 0; left &= left - 1) {
    const uint32_t from = gpu::lowest_bit(left);
    const IdleChange& change = changes[gpu::shuffle(kFullWarp, number, from)];
    const Dither dither(change.to);
    float* const row = row_at(rows, gpu::shuffle(kFullWarp, slot, from));
    for (uint32_t c = gpu::lane(); c < rows.width; c += kLanes) {
      if (change.momentum) {
        advance_linear_weight(change.map, dither.at(c), row[c], row[rows.width + c]);
      } else {
        decay_weight(change.keep, change.threshold, dither.at(c), row[c]);
      }
    }
  }
  if (number != kNoSource) rows.scores[slot] = score;
}

// The slot of the run of a sorted position.
__device__ inline uint32_t slot_at(const Batch& batch, uint32_t j) {
  return batch.slots[batch.runs_before[j] + begins_run(batch, j) - 1];
}

// One thread a sorted position: writes the pointers to the rows of the keys, or null.
__global__ inline void point_to_rows(Rows rows, Batch batch, float** pointers) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= batch.size) return;
  const uint32_t slot = slot_at(batch, j);
  pointers[batch.places[j]] = slot == kNoSlot ? nullptr : row_at(rows, slot);
}

// One warp for 32 keys.
//   found [size], weights [size, width]: zero where there is no row
__global__ inline void find_weights(Rows rows, const uint64_t* keys, uint32_t size, uint8_t* found,
                                    float* weights) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, first = i - gpu::lane();
  if (first >= size) return;
  const uint32_t slot = find_slots(rows, i < size ? keys[i] : 0, smaller(size - first, kLanes));
  if (i < size) found[i] = slot != kNoSlot;
  copy_rows(i < size ? weights + static_cast<uint64_t>(i) * rows.width : nullptr,
            slot != kNoSlot ? row_at(rows, slot) : nullptr, rows.width);
}

// One warp for 32 keys.
__global__ inline void find_whole_rows(Rows rows, const uint64_t* keys, uint32_t size, FoundRows out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, first = i - gpu::lane();
  if (first >= size) return;
  const uint32_t slot = find_slots(rows, i < size ? keys[i] : 0, smaller(size - first, kLanes));
  if (i < size) {
    out.found[i] = slot != kNoSlot;
    out.scores[i] = slot != kNoSlot ? rows.scores[slot] : 0;
  }
  if (out.rows == nullptr) return;
  copy_rows(i < size ? out.rows + static_cast<uint64_t>(i) * rows.row_floats : nullptr,
            slot != kNoSlot ? row_at(rows, slot) : nullptr, rows.row_floats);
}

// One warp for 32 sorted positions, so that rows are read in the order of their buckets.  A refused key reads as a new row.
//   weights [size, width]
__global__ inline void read_weights(Rows rows, Batch batch, Initial initial, float* weights) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  const bool here = j < batch.size;
  const uint32_t slot = here ? slot_at(batch, j) : kNoSlot, place = here ? batch.places[j] : 0;
  float* const out = weights + static_cast<uint64_t>(place) * rows.width;
  copy_rows(slot != kNoSlot ? out : nullptr, slot != kNoSlot ? row_at(rows, slot) : nullptr, rows.width);
  for (uint32_t left = gpu::ballot(kFullWarp, here && slot == kNoSlot); left != 0; left &= left - 1) {
    const uint32_t refused = gpu::shuffle(kFullWarp, place, gpu::lowest_bit(left));
    write_initial(initial, batch.keys[refused], weights + static_cast<uint64_t>(refused) * rows.width,
                  rows.width);
  }
}

constexpr uint32_t kStepThreads = 128,
                   kStepBlocks = 8;  // of a block; of a multiprocessor, if registers decide

// kFloats columns of a row from `row` on, while a step is applied to them.
template <class Step, int kFloats>
struct SteppedColumns {
  using Some = Floats<kFloats>;

  __device__ SteppedColumns(float* row, uint32_t width) : row_(row), width_(width) {
    weights_ = *reinterpret_cast<const Some*>(row);
    if (Step::kArrays > 0) first_ = *reinterpret_cast<const Some*>(row + width);
    if (Step::kArrays > 1) second_ = *reinterpret_cast<const Some*>(row + 2 * width);
  }

  // `sum` of gradients is multiplied by `scale` and clipped to [-bound, bound].
  __device__ void apply(const Step& step, const Some& sum, float scale, float bound) {
    for (int n = 0; n < kFloats; ++n) {
      step(weights_.values[n], first_.values[n], second_.values[n], clip(sum.values[n] * scale, bound));
    }
    *reinterpret_cast<Some*>(row_) = weights_;
    if (Step::kArrays > 0) *reinterpret_cast<Some*>(row_ + width_) = first_;
    if (Step::kArrays > 1) *reinterpret_cast<Some*>(row_ + 2 * width_) = second_;
  }

 private:
  float* const row_;
  const uint32_t width_;
  Some weights_, first_ = {}, second_ = {};
};

template <int kFloats>
__device__ void add(Floats<kFloats>& sum, const Floats<kFloats>& values) {
  for (int n = 0; n < kFloats; ++n) sum.values[n] += values.values[n];
}

// step_rows for the run [begin, end), kFloats columns a lane at a time.
template <int kFloats, class Step>
__device__ void step_run(const Rows& rows, const Batch& batch, uint32_t run, const float* gradients,
                         const Step& step, float scale, float bound) {
  constexpr uint32_t kAhead = kFloats == 1 ? 4 : 2;  // gradients under way at the same time in each lane
  using Some = Floats<kFloats>;
  const uint32_t begin = batch.begins[run], end = batch.begins[run + 1];
  if (end - begin > kLongRun) return;
  float* const row = row_at(rows, batch.slots[run]);
  for (uint32_t c = kFloats * gpu::lane(); c < rows.width; c += kFloats * kLanes) {
    const auto gradient = [&](uint32_t j) {
      return *reinterpret_cast<const Some*>(gradients + static_cast<uint64_t>(batch.places[j]) * rows.width +
                                            c);
    };
    SteppedColumns<Step, kFloats> columns(row + c, rows.width);
    Some sum = gradient(begin);
    uint32_t j = begin + 1;
    for (; j + kAhead <= end; j += kAhead) {
      Some next[kAhead];
      for (uint32_t n = 0; n < kAhead; ++n) next[n] = gradient(j + n);
      for (const Some& one : next) add(sum, one);
    }
    for (; j < end; ++j) add(sum, gradient(j));
    columns.apply(step, sum, scale, bound);
  }
}

// One warp a run of at most kLongRun keys: adds up the gradients of its key, in the order in which they were given, and
// applies the step to its row.  A gradient is multiplied by `scale` and clipped to [-bound, bound].
//   gradients [size, width]
template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    step_rows(Rows rows, Batch batch, const float* gradients, Step step, float scale, float bound) {
  const uint32_t run = warp_index();
  if (run >= *batch.num_runs || batch.slots[run] == kNoSlot) return;
  if (rows.width % 4 == 0 && reinterpret_cast<uintptr_t>(gradients) % 16 == 0) {
    step_run<4>(rows, batch, run, gradients, step, scale, bound);
  } else {
    step_run<1>(rows, batch, run, gradients, step, scale, bound);
  }
}

// The gradients of a long run on their way through shared memory: a tile is kTileKeys gradients of kTileColumns columns;
// kTilesAhead tiles are being copied while one is added up, and the places of as many more.  All threads of a block copy,
// and the first warp adds.
constexpr uint32_t kTileKeys = 64, kTileColumns = kLanes, kTilesAhead = 8;
constexpr uint32_t kTiles = kTilesAhead + 1, kTilesOfPlaces = 2 * kTilesAhead;
constexpr uint32_t kStepBytes =
    kTiles * kTileKeys * kTileColumns * sizeof(float) + kTilesOfPlaces * kTileKeys * sizeof(uint32_t);

// One gradient in shared memory is 32 floats, of which thread i of eight copies the i-th 16 bytes.
class LongRunSum {
 public:
  // shared [kStepBytes / 4]
  __device__ LongRunSum(const Batch& batch, const float* gradients, uint32_t width, float* shared)
      : batch_(batch),
        gradients_(gradients),
        width_(width),
        tiles_(shared),
        places_(reinterpret_cast<uint32_t*>(shared + kTiles * kTileKeys * kTileColumns)) {}

  // Returns the sum of column first_column + lane in the lanes of the first warp that have a column.
  __device__ float add_up(uint32_t run, uint32_t first_column) {
    begin_ = batch_.begins[run];
    size_ = batch_.begins[run + 1] - begin_;
    first_column_ = first_column;
    const uint32_t num_tiles = (size_ + kTileKeys - 1) / kTileKeys;
    for (uint32_t tile = 0; tile < kTilesAhead; ++tile) copy_places(tile);
    gpu::commit_copies();
    gpu::wait_copies<0>();
    gpu::sync_block();
    for (uint32_t tile = 0; tile < kTilesAhead; ++tile) copy_tile(tile);
    float sum = -0.0f;  // and the first gradient is that gradient, whatever its sign
    for (uint32_t tile = 0; tile < num_tiles; ++tile) {
      gpu::wait_copies<kTilesAhead - 1>();
      gpu::sync_block();  // the tile is there, and the one before it has been added up
      copy_tile(tile + kTilesAhead);
      if (threadIdx.x < kLanes) sum = add_tile(tile, sum);
    }
    gpu::wait_copies<0>();
    gpu::sync_block();  // the next run takes the same memory
    return sum;
  }

 private:
  static constexpr uint32_t kParts = kTileColumns / 4;                    // of a gradient, of 16 bytes
  static constexpr uint32_t kCopies = kTileKeys * kParts / kStepThreads;  // of a thread for each tile
  static constexpr uint32_t kKeysAtOnce = kStepThreads / kParts;
  static constexpr uint32_t kAhead = 16;  // values that a thread reads before it adds up as many others
  static_assert(kTileKeys <= kStepThreads);

  // Begins to copy the places of a tile.  Behind the last tile these copy nothing.
  __device__ void copy_places(uint32_t tile) {
    const uint32_t j = tile * kTileKeys + threadIdx.x;
    if (threadIdx.x >= kTileKeys || j >= size_) return;
    gpu::copy_async(places_ + (tile % kTilesOfPlaces) * kTileKeys + threadIdx.x, batch_.places + begin_ + j,
                    sizeof(uint32_t));
  }

  // Begins to copy a tile, whose places are there, and the places of a later one: a group of copies.
  __device__ void copy_tile(uint32_t tile) {
    const uint32_t part = threadIdx.x % kParts, column = first_column_ + 4 * part;
    const bool aligned = width_ % 4 == 0 && reinterpret_cast<uintptr_t>(gradients_) % 16 == 0;
    for (uint32_t n = 0; n < kCopies; ++n) {
      const uint32_t in_tile = n * kKeysAtOnce + threadIdx.x / kParts;
      if (tile * kTileKeys + in_tile >= size_) continue;
      const uint64_t place = places_[(tile % kTilesOfPlaces) * kTileKeys + in_tile];
      float* const to = tiles_ + ((tile % kTiles) * kTileKeys + in_tile) * kTileColumns + 4 * part;
      const float* const from = gradients_ + place * width_ + column;
      if (aligned) {
        if (column < width_) gpu::copy_async(to, from, 4 * sizeof(float));
      } else {
        for (uint32_t i = 0; i < 4 && column + i < width_; ++i)
          gpu::copy_async(to + i, from + i, sizeof(float));
      }
    }
    copy_places(tile + kTilesAhead);
    gpu::commit_copies();
  }

  // Reads kAhead values of this thread's column, from key `first` of a tile on.
  __device__ void read(const float* values, uint32_t first, float* out) const {
    if (first_column_ + threadIdx.x >= width_) return;
    for (uint32_t n = 0; n < kAhead; ++n) out[n] = values[(first + n) * kTileColumns];
  }

  // The values of a whole tile are on their way before those that came before them are added up: without that, each
  // addition would wait for its value.
  __device__ float add_tile(uint32_t tile, float sum) const {
    const float* const values = tiles_ + (tile % kTiles) * kTileKeys * kTileColumns + threadIdx.x;
    const uint32_t keys = smaller(size_ - tile * kTileKeys, kTileKeys);
    if (keys < kTileKeys) {
      for (uint32_t i = 0; i < keys && first_column_ + threadIdx.x < width_; ++i)
        sum += values[i * kTileColumns];
      return sum;
    }
    constexpr uint32_t kTimes = kTileKeys / kAhead;
    float ahead[2][kAhead] = {};
    read(values, 0, ahead[0]);
    PS_UNROLL for (uint32_t n = 0; n < kTimes; ++n) {
      if (n + 1 < kTimes) read(values, (n + 1) * kAhead, ahead[(n + 1) % 2]);
      gpu::sync_warp();  // a compiler moves no read behind it
      for (float value : ahead[n % 2]) sum += value;
    }
    return sum;
  }

  const Batch& batch_;
  const float* const gradients_;
  const uint32_t width_;
  float* const tiles_;
  uint32_t* const places_;
  uint32_t begin_ = 0, size_ = 0, first_column_ = 0;
};

// Blocks of kStepThreads with kStepBytes of shared memory, each for every n-th long run and tile of its columns: does what
// step_rows does for other runs.
template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    step_long_runs(Rows rows, Batch batch, const float* gradients, Step step, float scale, float bound) {
  const uint32_t of_row = (rows.width + kTileColumns - 1) / kTileColumns;
  const uint64_t items = static_cast<uint64_t>(*batch.num_long_runs) * of_row;
  LongRunSum long_run(batch, gradients, rows.width, gpu::dynamic_shared<float>());
  for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const uint32_t run = batch.long_runs[item / of_row];
    const uint32_t first = static_cast<uint32_t>(item % of_row) * kTileColumns, slot = batch.slots[run];
    if (slot == kNoSlot) continue;
    const float sum = long_run.add_up(run, first);
    const uint32_t c = first + threadIdx.x;
    if (threadIdx.x >= kTileColumns || c >= rows.width) continue;
    SteppedColumns<Step, 1>(row_at(rows, slot) + c, rows.width).apply(step, {{sum}}, scale, bound);
  }
}

// One warp a key; a key that is given twice is erased once.
__global__ inline void erase_keys(Rows rows, const uint64_t* keys, uint32_t size) {
  const uint32_t i = warp_index();
  if (i >= size) return;
  const uint64_t key = keys[i];
  const uint32_t bucket = bucket_of(rows, hash_key(key)), lane = gpu::lane();
  const uint32_t taken = gpu::atomic_load<Order::kRelaxed>(&rows.taken[bucket]);
  if ((taken >> lane & 1) == 0 || rows.keys[bucket * kSlots + lane] != key) return;
  const uint32_t before = gpu::atomic_and<Order::kRelaxed>(&rows.taken[bucket], ~(1u << lane));
  if ((before >> lane & 1) == 0) return;
  add_count(&rows.counts->erased, 1);
  add_count(&rows.counts->rows, ~uint64_t{0});
}

// One thread a bucket: counts its rows.
__global__ inline void count_taken(Rows rows, uint32_t first, uint32_t num_buckets, uint32_t* counts) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < num_buckets) counts[i] = static_cast<uint32_t>(gpu::count_ones(rows.taken[first + i]));
}

// One warp a bucket: copies its rows to `out` from begins[i] on.
__global__ inline void export_buckets(Rows rows, uint32_t first, uint32_t num_buckets, const uint32_t* begins,
                                      RowsOut out) {
  const uint32_t i = warp_index();
  if (i >= num_buckets) return;
  const uint32_t bucket = first + i, lane = gpu::lane(), taken = rows.taken[bucket];
  const bool is_taken = (taken >> lane & 1) != 0;
  const uint32_t slot = bucket * kSlots + lane, number = begins[i];
  const uint32_t to = number + static_cast<uint32_t>(gpu::count_ones(taken & ((1u << lane) - 1)));
  float* const row = is_taken ? out.rows + static_cast<uint64_t>(to) * rows.row_floats : nullptr;
  copy_rows(row, row_at(rows, slot), rows.row_floats);
  if (is_taken) {
    out.keys[to] = rows.keys[slot];
    out.scores[to] = rows.scores[slot];
  }
  if (lane == 0 && i == num_buckets - 1) *out.count = number + static_cast<uint32_t>(gpu::count_ones(taken));
}

// A single thread: counts all rows as erased; the bits of `taken` were cleared before.
__global__ inline void forget_rows(Rows rows) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  rows.counts->erased += rows.counts->rows;
  rows.counts->rows = 0;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_DEVICE_TABLE_KERNELS_H_
