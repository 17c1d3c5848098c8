// The kernels of DeviceTable that read and set rows.  Used by device_table.cu alone.
#ifndef PS_TABLE_CUDA_DEVICE_TABLE_KERNELS_H_
#define PS_TABLE_CUDA_DEVICE_TABLE_KERNELS_H_

#include "optim/kernels/idle.h"
#include "table/cuda/batch_kernels.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

// Returns the hash of the key of a run, or 0 if the run has no slot.
__device__ inline uint64_t hash_of(const Batch& batch, uint32_t run, uint32_t slot) {
  return slot != kNoSlot ? batch.run_hashes[run] : 0;
}

// One warp for 32 runs: sets each row to the values at the key's last position in the batch.
//   values [size, row_floats]
__global__ inline void assign_rows(Rows rows, Batch batch, const float* values) {
  const uint32_t run = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t slot = run < *batch.num_runs ? batch.slots[run] : kNoSlot;
  const uint64_t last = slot != kNoSlot ? last_position(batch, run) : 0;
  write_rows(rows, hash_of(batch, run, slot), slot != kNoSlot ? row_at(rows, slot) : nullptr,
             values + last * rows.row_floats);
}

// One warp for 32 runs: sets each row to the values whose number the key's last position in the batch gives,
// if it gives one.
//   sources [size], values [1 + highest source, row_floats]
__global__ inline void load_rows(Rows rows, Batch batch, const uint32_t* sources, const float* values) {
  const uint32_t run = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t slot = run < *batch.num_runs ? batch.slots[run] : kNoSlot;
  const uint32_t source = slot != kNoSlot ? sources[last_position(batch, run)] : kNoSource;
  const bool loads = source != kNoSource;
  write_rows(rows, hash_of(batch, run, slot), loads ? row_at(rows, slot) : nullptr,
             values + (loads ? static_cast<uint64_t>(source) * rows.row_floats : 0));
}

// Applies idle steps to one column of a row.  Each rounding has a Dither of its own.
__device__ inline void advance_column(const Rows& rows, const IdleChange& change, uint64_t hash, float* row,
                                      uint32_t c) {
  using Weights = IdleChange::Weights;
  const Dither dither(change.dither);
  const bool averages = change.mean.steps > 0;
  Floats<1> weight = StoredWeights<1>(rows, row, c).decoded(rows.rounding);
  float none = 0;
  float& momentum = change.momentum ? row[rows.state_at + c] : none;
  float& mean = averages ? row[rows.state_at + rows.row_floats - 2 * rows.width + c] : none;
  if (change.weights == Weights::kHeld) {
    if (averages) hold_mean(change.mean, dither.at(c), weight.values[0], mean);
    return;
  }
  if (change.weights == Weights::kDecayed) {
    decay_weight(change.keep, change.threshold, dither.at(c), weight.values[0]);
  } else if (averages) {
    advance_linear_mean(change.map, change.mean, dither.at(2 * c), dither.at(2 * c + 1), weight.values[0],
                        momentum, mean);
  } else {
    advance_linear_weight(change.map, dither.at(c), weight.values[0], momentum);
  }
  write_weights(rows, hash, row, c, weight);
}

// One warp for 32 distinct keys: applies idle steps to the rows that have a change, and sets their scores.
//   which [size]: numbers of changes, or kNoSource
__device__ inline void advance_some_rows(const Rows& rows, const uint64_t* keys, uint32_t size,
                                         const uint32_t* which, const IdleChange* changes, uint64_t score,
                                         uint32_t own) {
  const uint32_t first = own - gpu::lane();
  if (first >= size) return;
  const uint64_t key = own < size ? keys[own] : 0;
  const uint32_t slot = find_slots(rows, key, smaller(size - first, kLanes));
  const uint32_t number = slot != kNoSlot ? which[own] : kNoSource;
  for (uint32_t left = gpu::ballot(kFullWarp, number != kNoSource); left != 0; left &= left - 1) {
    const uint32_t from = gpu::lowest_bit(left);
    const IdleChange& change = changes[gpu::shuffle(kFullWarp, number, from)];
    float* const row = row_at(rows, gpu::shuffle(kFullWarp, slot, from));
    const uint64_t hash = hash_key(gpu::shuffle(kFullWarp, key, from));
    for (uint32_t c = gpu::lane(); c < rows.width; c += kLanes) advance_column(rows, change, hash, row, c);
  }
  if (number != kNoSource) rows.scores[slot] = score;
}

// Returns the slot of the run of a sorted position.
__device__ inline uint32_t slot_at(const Batch& batch, uint32_t j) {
  return batch.slots[runs_before(batch, j) + begins_run(batch, j) - 1];
}

// One thread a sorted position: writes the pointer to the key's row, or null.
__global__ inline void point_to_rows(Rows rows, Batch batch, float** pointers) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= batch.size) return;
  const uint32_t slot = slot_at(batch, j);
  pointers[batch.positions[j]] = slot == kNoSlot ? nullptr : row_at(rows, slot);
}

// One warp for 32 keys: reads the weights of their rows.
//   found [size], weights [size, width]: zero if there is no row
__device__ inline void find_some_weights(const Rows& rows, const uint64_t* keys, uint32_t size,
                                         uint8_t* found, float* weights, uint32_t i) {
  const uint32_t first = i - gpu::lane();
  if (first >= size) return;
  const uint32_t slot = find_slots(rows, i < size ? keys[i] : 0, smaller(size - first, kLanes));
  if (i < size) found[i] = slot != kNoSlot;
  read_weights_of(rows, i < size ? weights + static_cast<uint64_t>(i) * rows.width : nullptr,
                  slot != kNoSlot ? row_at(rows, slot) : nullptr);
}

// One warp for 32 keys: finds their rows.
//   found [size], row_pointers [size]: null if there is no row
__device__ inline void point_to_some_rows(const Rows& rows, const uint64_t* keys, uint32_t size,
                                          uint8_t* found, float** row_pointers, uint32_t i) {
  const uint32_t first = i - gpu::lane();
  if (first >= size) return;
  const uint32_t slot = find_slots(rows, i < size ? keys[i] : 0, smaller(size - first, kLanes));
  if (i >= size) return;
  found[i] = slot != kNoSlot;
  row_pointers[i] = slot != kNoSlot ? row_at(rows, slot) : nullptr;
}

__global__ inline void find_weights(Rows rows, const uint64_t* keys, uint32_t size, uint8_t* found,
                                    float* weights) {
  find_some_weights(rows, keys, size, found, weights, thread_index());
}

// One warp for 32 keys: finds their rows and scores.
//   found [size], scores [size]: 0 if there is no row
__device__ inline uint32_t find_some_scores(const Rows& rows, const uint64_t* keys, uint32_t size,
                                            uint8_t* found, uint64_t* scores, uint32_t i) {
  const uint32_t first = i - gpu::lane();
  if (first >= size) return kNoSlot;
  const uint32_t slot = find_slots(rows, i < size ? keys[i] : 0, smaller(size - first, kLanes));
  if (i < size) {
    found[i] = slot != kNoSlot;
    scores[i] = slot != kNoSlot ? rows.scores[slot] : 0;
  }
  return slot;
}

__global__ inline void find_whole_rows(Rows rows, const uint64_t* keys, uint32_t size, FoundRows out) {
  const uint32_t i = thread_index();
  const uint32_t slot = find_some_scores(rows, keys, size, out.found, out.scores, i);
  if (out.rows == nullptr || i - gpu::lane() >= size) return;
  read_rows(rows, i < size ? out.rows + static_cast<uint64_t>(i) * rows.row_floats : nullptr,
            slot != kNoSlot ? row_at(rows, slot) : nullptr);
}

// One warp for 32 sorted positions, so that rows are read in the order of their buckets.  A refused key reads
// as a new row.
//   weights [size, width]
__device__ inline void read_some_weights(const Rows& rows, const Batch& batch, const Initial& initial,
                                         float* weights, uint32_t j) {
  const bool here = j < batch.size;
  const uint32_t slot = here ? slot_at(batch, j) : kNoSlot, position = here ? batch.positions[j] : 0;
  float* const out = weights + static_cast<uint64_t>(position) * rows.width;
  read_weights_of(rows, slot != kNoSlot ? out : nullptr, slot != kNoSlot ? row_at(rows, slot) : nullptr);
  for (uint32_t left = gpu::ballot(kFullWarp, here && slot == kNoSlot); left != 0; left &= left - 1) {
    const uint32_t refused = gpu::shuffle(kFullWarp, position, gpu::lowest_bit(left));
    write_initial(rows, initial, batch.keys[refused], weights + static_cast<uint64_t>(refused) * rows.width);
  }
}

__global__ inline void read_weights(Rows rows, Batch batch, Initial initial, float* weights) {
  read_some_weights(rows, batch, initial, weights, thread_index());
}

// One warp a key: erases its row.  A key that is given twice is erased once.
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
  read_rows(rows, row, row_at(rows, slot));
  if (is_taken) {
    out.keys[to] = rows.keys[slot];
    out.scores[to] = rows.scores[slot];
  }
  if (lane == 0 && i == num_buckets - 1) *out.count = number + static_cast<uint32_t>(gpu::count_ones(taken));
}

// A single thread: counts all rows as erased.  The bits of `taken` were cleared before.
__global__ inline void forget_rows(Rows rows) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  rows.counts->erased += rows.counts->rows;
  rows.counts->rows = 0;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_DEVICE_TABLE_KERNELS_H_
