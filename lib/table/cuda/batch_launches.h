// Functions by which DeviceTable and TableGroup launch their kernels, and lay out the scratch memory of a
// batch.  Used by device_table.cu and table_group.cu.
#ifndef PS_TABLE_CUDA_BATCH_LAUNCHES_H_
#define PS_TABLE_CUDA_BATCH_LAUNCHES_H_

#include <algorithm>
#include <cstdint>

#include "gpu/device.h"
#include "table/cuda/device_rows.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

constexpr unsigned kThreads = 128;                 // threads of a block: four warps
constexpr uint32_t kWideArrays = 4, kArrays = 13;  // arrays of 64 and of 32 bits with an element a key

// In a batch of a million keys, there is one pair of hashes with the same prefix for about so many keys.
constexpr uint32_t kKeysOfMixed = 4096;

// run_warps launches a kernel with one warp for each item, run_threads with one thread for each.
template <class... Parameters, class... Arguments>
void run_warps(void (*kernel)(Parameters...), uint64_t items, gpu::Stream& stream, Arguments&&... arguments) {
  gpu::launch(kernel, gpu::blocks_for(items * gpu::kWarpSize, kThreads), kThreads, 0, stream, arguments...);
}

template <class... Parameters, class... Arguments>
void run_threads(void (*kernel)(Parameters...), uint64_t items, gpu::Stream& stream,
                 Arguments&&... arguments) {
  gpu::launch(kernel, gpu::blocks_for(items, kThreads), kThreads, 0, stream, arguments...);
}

// Returns the number of blocks for at most `most` items; the device counts how many there are.
inline unsigned blocks_for_some(uint32_t most) {
  constexpr uint32_t kMostBlocks = 256;
  return std::clamp(most, 1u, kMostBlocks);
}

inline Initial initial_of(const Initializer& initializer) {
  return {initializer.distribution, static_cast<float>(initializer.mean),
          static_cast<float>(initializer.deviation), initializer.seed};
}

// Returns the arrays of a batch in scratch memory, wide [kWideArrays, each] and narrow [kArrays, each], from
// element `first` of each array on.  `begins`, the last, has one element more than a batch has keys, so it
// begins `tables` elements later.
inline Batch batch_in(uint64_t* wide, uint32_t* narrow, uint64_t each, uint64_t first, uint64_t tables) {
  const auto wide_array = [&](uint64_t n) { return wide + n * each + first; };
  const auto array = [&](uint64_t n) { return narrow + n * each + first; };
  Batch batch = {};
  batch.sorted_hashes = wide_array(0);
  batch.run_hashes = wide_array(1);
  batch.evicted_keys = wide_array(2);
  batch.evicted_scores = wide_array(3);
  batch.order = array(0);
  batch.positions = array(1);
  batch.runs_before = array(2);
  batch.slots = array(3);
  batch.outcomes = array(4);
  batch.evicted_flags = array(5);
  batch.evicted_positions = array(6);
  batch.long_runs = array(7);
  batch.missing = array(8);
  batch.prefixes = array(9);
  batch.sorted_prefixes = array(10);
  batch.mixed = array(11);
  batch.begins = array(12) + tables;
  return batch;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_BATCH_LAUNCHES_H_
