// The kernels of DeviceTable.  Used by device_table.cu alone.  A warp works on one item: a key, a run of
// equal keys, or a bucket.  Its lanes stand for the slots of a bucket, or for columns of a row.
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

__device__ inline uint32_t warp_index() {
  return (blockIdx.x * blockDim.x + threadIdx.x) / gpu::kWarpSize;
}

__device__ inline uint32_t bucket_of(const Rows& rows, uint64_t hash) {
  return bucket_of_hash(hash, rows.num_buckets);
}

__device__ inline float* row_at(const Rows& rows, uint32_t slot) {
  return rows.rows + static_cast<uint64_t>(slot) * rows.stride;
}

__device__ inline uint64_t key_of_run(const Batch& batch, uint32_t run) {
  return batch.keys[batch.places[batch.begins[run]]];
}

__device__ inline void add_count(uint64_t* count, uint64_t amount) {
  if (amount != 0) gpu::atomic_add<Order::kRelaxed>(count, amount);
}

// Returns the slot of a key in all lanes; kNoSlot if it has none.
__device__ inline uint32_t find_slot(const Rows& rows, uint64_t key) {
  const uint32_t bucket = bucket_of(rows, hash_key(key)), lane = gpu::lane();
  const bool is_here = (rows.taken[bucket] >> lane & 1) != 0 && rows.keys[bucket * kSlots + lane] == key;
  const uint32_t here = gpu::ballot(kFullWarp, is_here);
  return here == 0 ? kNoSlot : bucket * kSlots + gpu::lowest_bit(here);
}

// to [count] <- from, by all lanes together: 16 bytes at a time if both are aligned to 16.
__device__ inline void copy_floats(float* to, const float* from, uint32_t count) {
  struct alignas(16) Four {
    float values[4];
  };
  uint32_t done = 0;
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % sizeof(Four) == 0) {
    done = count / 4 * 4;
    for (uint32_t i = 4 * gpu::lane(); i < done; i += 4 * gpu::kWarpSize) {
      *reinterpret_cast<Four*>(to + i) = *reinterpret_cast<const Four*>(from + i);
    }
  }
  for (uint32_t i = done + gpu::lane(); i < count; i += gpu::kWarpSize) to[i] = from[i];
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
  for (uint32_t j = gpu::lane(); 4 * j < width; j += gpu::kWarpSize) {
    float values[4];
    initial_four(initial, key, j, values);
    for (uint32_t n = 0; n < 4 && 4 * j + n < width; ++n) weights[4 * j + n] = values[n];
  }
}

// One thread a key.
__global__ inline void hash_keys(Batch batch) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch.size) return;
  batch.hashes[i] = hash_key(batch.keys[i]);
  batch.order[i] = i;
}

// The registers of one lane for its slot of the bucket, while its warp claims slots there.
struct Slot {
  uint64_t key, score;
  uint32_t taken;    // slots with a key, a bit each: the same in all lanes
  uint32_t touched;  // slots with a key of this batch, likewise
};

// Returns the lowest score of the slots that are not touched, by a butterfly reduction over the warp.
__device__ inline uint64_t lowest_score(const Slot& slot) {
  const bool may_go = (slot.touched >> gpu::lane() & 1) == 0;
  uint64_t lowest = may_go ? slot.score : ~uint64_t{0};
  for (unsigned bits = gpu::kWarpSize / 2; bits > 0; bits /= 2) {
    const uint64_t other = gpu::shuffle_xor(kFullWarp, lowest, bits);
    lowest = other < lowest ? other : lowest;
  }
  return lowest;
}

struct Claimed {
  uint32_t outcome, place;
};

// Chooses a slot of the bucket for a key: the key's own, else a free one, else the untouched slot with the
// lowest score.  Touched slots are never evicted, so keys of the same batch do not evict each other.
__device__ inline Claimed choose_place(const Slot& slot, uint64_t key, uint64_t score,
                                       EvictionScore scoring) {
  const uint32_t lane = gpu::lane();
  const uint32_t found = gpu::ballot(kFullWarp, (slot.taken >> lane & 1) != 0 && slot.key == key);
  if (found != 0) return {kFound, gpu::lowest_bit(found)};
  if (slot.taken != kFullWarp) return {kInserted, gpu::lowest_bit(~slot.taken)};
  if (slot.touched == kFullWarp) return {kRefused, 0};
  const uint64_t lowest = lowest_score(slot);
  if (scoring == EvictionScore::kGiven && score < lowest) return {kRefused, 0};
  const bool goes = (slot.touched >> lane & 1) == 0 && slot.score == lowest;
  return {kEvicted, gpu::lowest_bit(gpu::ballot(kFullWarp, goes))};
}

// Returns the score that a run gives to a new row.  With kCount it is added to the score of a row that is
// there already.
__device__ inline uint64_t score_of_run(const Batch& batch, uint32_t run, Scoring scoring) {
  if (scoring.score == EvictionScore::kAge) return scoring.call;
  if (scoring.score == EvictionScore::kCount) return batch.lengths[run];
  return batch.scores[batch.places[batch.begins[run] + batch.lengths[run] - 1]];
}

__device__ inline void claim_for_run(const Batch& batch, uint32_t run, uint32_t bucket, Scoring scoring,
                                     Slot& slot) {
  const uint64_t key = key_of_run(batch, run), score = score_of_run(batch, run, scoring);
  const Claimed claimed = choose_place(slot, key, score, scoring.score);
  const bool counts_on = claimed.outcome == kFound && scoring.score == EvictionScore::kCount;
  if (gpu::lane() == claimed.place) {
    batch.outcomes[run] = claimed.outcome;
    batch.slots[run] = claimed.outcome == kRefused ? kNoSlot : bucket * kSlots + claimed.place;
    if (claimed.outcome == kEvicted) {
      batch.evicted_keys[run] = slot.key;
      batch.evicted_scores[run] = slot.score;
      batch.evicted_flags[run] = 1;
    }
    if (claimed.outcome != kRefused) {
      slot.key = key;
      slot.score = counts_on ? slot.score + score : score;
    }
  }
  if (claimed.outcome == kRefused) return;
  slot.taken |= 1u << claimed.place;
  slot.touched |= 1u << claimed.place;
}

// One warp a run.  The warp of a bucket's first run claims slots for all runs of the bucket, one after the
// other, so that the result does not depend on the order of warps.
__global__ inline void claim_slots(Rows rows, Batch batch, Scoring scoring) {
  const uint32_t first = warp_index(), num_runs = *batch.num_runs;
  if (first >= num_runs) return;
  const uint32_t bucket = bucket_of(rows, batch.run_hashes[first]);
  if (first > 0 && bucket_of(rows, batch.run_hashes[first - 1]) == bucket) return;
  const uint32_t place = bucket * kSlots + gpu::lane();
  Slot slot = {rows.keys[place], rows.scores[place], rows.taken[bucket], 0};
  uint32_t end = first;
  // First marks all rows that this batch finds as touched, so that none of them is evicted for another key.
  for (; end < num_runs && bucket_of(rows, batch.run_hashes[end]) == bucket; ++end) {
    const uint64_t key = key_of_run(batch, end);
    slot.touched |= gpu::ballot(kFullWarp, (slot.taken >> gpu::lane() & 1) != 0 && slot.key == key);
  }
  for (uint32_t run = first; run < end; ++run) claim_for_run(batch, run, bucket, scoring, slot);
  rows.keys[place] = slot.key;
  rows.scores[place] = slot.score;
  if (gpu::lane() == 0) rows.taken[bucket] = slot.taken;
}

// One thread a run.
__global__ inline void count_outcomes(Rows rows, Batch batch, RowsOut evicted) {
  const uint32_t run = blockIdx.x * blockDim.x + threadIdx.x, num_runs = *batch.num_runs;
  if (run == 0 && evicted.count != nullptr) {
    *evicted.count = batch.evicted_places[batch.size - 1] + batch.evicted_flags[batch.size - 1];
  }
  if (run >= num_runs) return;
  const uint32_t outcome = batch.outcomes[run];
  add_count(&rows.counts->rows, outcome == kInserted);
  add_count(&rows.counts->inserted, outcome == kInserted || outcome == kEvicted);
  add_count(&rows.counts->evicted, outcome == kEvicted);
  add_count(&rows.counts->refused, outcome == kRefused);
}

// One warp a run: saves the row that its key takes the place of.
__global__ inline void save_evicted(Rows rows, Batch batch, RowsOut evicted) {
  const uint32_t run = warp_index();
  if (run >= *batch.num_runs || batch.outcomes[run] != kEvicted) return;
  const uint32_t to = batch.evicted_places[run];
  copy_floats(evicted.rows + static_cast<uint64_t>(to) * rows.row_floats, row_at(rows, batch.slots[run]),
              rows.row_floats);
  if (gpu::lane() != 0) return;
  evicted.keys[to] = batch.evicted_keys[run];
  evicted.scores[to] = batch.evicted_scores[run];
}

// One warp a run: writes initial weights and state of a new row.
__global__ inline void start_rows(Rows rows, Batch batch, Initial initial, InitialState state) {
  const uint32_t run = warp_index();
  if (run >= *batch.num_runs) return;
  if (batch.outcomes[run] != kInserted && batch.outcomes[run] != kEvicted) return;
  float* const row = row_at(rows, batch.slots[run]);
  write_initial(initial, key_of_run(batch, run), row, rows.width);
  gpu::sync_warp();
  for (uint32_t i = rows.width + gpu::lane(); i < rows.row_floats; i += gpu::kWarpSize) {
    const float w = i < 2 * rows.width ? row[i - rows.width] : 0;
    row[i] = state.from_weight && w != 0 ? -(w * state.slope + with_sign(state.l1, w)) : 0;
  }
}

// One warp a run: sets the row to the values at the key's last position in the batch.
//   values [size, row_floats]
__global__ inline void assign_rows(Rows rows, Batch batch, const float* values) {
  const uint32_t run = warp_index();
  if (run >= *batch.num_runs || batch.slots[run] == kNoSlot) return;
  const uint32_t last = batch.places[batch.begins[run] + batch.lengths[run] - 1];
  copy_floats(row_at(rows, batch.slots[run]), values + static_cast<uint64_t>(last) * rows.row_floats,
              rows.row_floats);
}

// One warp a run: sets the row to the values that the key's last position in the batch names, if it names any.
//   sources [size], values [1 + highest source, row_floats]
__global__ inline void load_rows(Rows rows, Batch batch, const uint32_t* sources, const float* values) {
  const uint32_t run = warp_index();
  if (run >= *batch.num_runs || batch.slots[run] == kNoSlot) return;
  const uint32_t source = sources[batch.places[batch.begins[run] + batch.lengths[run] - 1]];
  if (source == kNoSource) return;
  copy_floats(row_at(rows, batch.slots[run]), values + static_cast<uint64_t>(source) * rows.row_floats,
              rows.row_floats);
}

// One warp a key; keys are distinct.  Applies idle steps to the rows that have a change, and sets their score.
//   which [size]: numbers of changes, or kNoSource
__global__ inline void advance_rows(Rows rows, const uint64_t* keys, uint32_t size, const uint32_t* which,
                                    const IdleChange* changes, uint64_t score) {
  const uint32_t i = warp_index();
  if (i >= size || which[i] == kNoSource) return;
  const uint32_t slot = find_slot(rows, keys[i]);
  if (slot == kNoSlot) return;
  const IdleChange& change = changes[which[i]];
  const Dither dither(change.to);
  float* const row = row_at(rows, slot);
  for (uint32_t c = gpu::lane(); c < rows.width; c += gpu::kWarpSize) {
    if (change.momentum) {
      advance_linear_weight(change.map, dither.at(c), row[c], row[rows.width + c]);
    } else {
      decay_weight(change.keep, change.threshold, dither.at(c), row[c]);
    }
  }
  if (gpu::lane() == 0) rows.scores[slot] = score;
}

// One warp a key: writes the pointer to its row, or null.
__global__ inline void point_to_rows(Rows rows, const uint64_t* keys, uint32_t size, float** pointers) {
  const uint32_t i = warp_index();
  if (i >= size) return;
  const uint32_t slot = find_slot(rows, keys[i]);
  if (gpu::lane() == 0) pointers[i] = slot == kNoSlot ? nullptr : row_at(rows, slot);
}

// One warp a key.
//   found [size], weights [size, width]: zero where there is no row
__global__ inline void find_weights(Rows rows, const uint64_t* keys, uint32_t size, uint8_t* found,
                                    float* weights) {
  const uint32_t i = warp_index();
  if (i >= size) return;
  const uint32_t slot = find_slot(rows, keys[i]);
  float* const out = weights + static_cast<uint64_t>(i) * rows.width;
  if (gpu::lane() == 0) found[i] = slot != kNoSlot;
  if (slot != kNoSlot) return copy_floats(out, row_at(rows, slot), rows.width);
  for (uint32_t c = gpu::lane(); c < rows.width; c += gpu::kWarpSize) out[c] = 0;
}

// One warp a key.
__global__ inline void find_whole_rows(Rows rows, const uint64_t* keys, uint32_t size, FoundRows out) {
  const uint32_t i = warp_index();
  if (i >= size) return;
  const uint32_t slot = find_slot(rows, keys[i]);
  if (gpu::lane() == 0) {
    out.found[i] = slot != kNoSlot;
    out.scores[i] = slot != kNoSlot ? rows.scores[slot] : 0;
  }
  if (out.rows == nullptr) return;
  float* const row = out.rows + static_cast<uint64_t>(i) * rows.row_floats;
  if (slot != kNoSlot) return copy_floats(row, row_at(rows, slot), rows.row_floats);
  for (uint32_t c = gpu::lane(); c < rows.row_floats; c += gpu::kWarpSize) row[c] = 0;
}

// One warp a key: reads its weights.  A refused key reads as a row that no step has touched.
//   weights [size, width]
__global__ inline void read_weights(Rows rows, Batch batch, Initial initial, float* weights) {
  const uint32_t i = warp_index();
  if (i >= batch.size) return;
  const uint64_t key = batch.keys[i];
  const uint32_t slot = find_slot(rows, key);
  float* const out = weights + static_cast<uint64_t>(i) * rows.width;
  if (slot == kNoSlot) return write_initial(initial, key, out, rows.width);
  copy_floats(out, row_at(rows, slot), rows.width);
}

// One warp a run: adds up the gradients of a key, in the order in which they were given, and makes a step.
//   gradients [size, width], each sum multiplied by `scale` and clipped to [-bound, bound]
template <class Step>
__global__ void step_rows(Rows rows, Batch batch, const float* gradients, Step step, float scale,
                          float bound) {
  const uint32_t run = warp_index();
  if (run >= *batch.num_runs || batch.slots[run] == kNoSlot) return;
  const uint32_t begin = batch.begins[run], end = begin + batch.lengths[run];
  float* const row = row_at(rows, batch.slots[run]);
  for (uint32_t c = gpu::lane(); c < rows.width; c += gpu::kWarpSize) {
    float sum = gradients[static_cast<uint64_t>(batch.places[begin]) * rows.width + c];
    for (uint32_t j = begin + 1; j < end; ++j)
      sum += gradients[static_cast<uint64_t>(batch.places[j]) * rows.width + c];
    float none = 0;
    float& first = Step::kArrays > 0 ? row[rows.width + c] : none;
    float& second = Step::kArrays > 1 ? row[2 * rows.width + c] : none;
    step(row[c], first, second, clip(sum * scale, bound));
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
  uint32_t to = begins[i];
  for (uint32_t left = taken; left != 0; left &= left - 1, ++to) {
    const uint32_t slot = bucket * kSlots + gpu::lowest_bit(left);
    copy_floats(out.rows + static_cast<uint64_t>(to) * rows.row_floats, row_at(rows, slot), rows.row_floats);
    if (lane != 0) continue;
    out.keys[to] = rows.keys[slot];
    out.scores[to] = rows.scores[slot];
  }
  if (lane == 0 && i == num_buckets - 1) *out.count = to;
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
