// The kernels of TableGroup: the kernels of DeviceTable, each launched once for the keys of many tables.  A
// block works for one table, which it finds by the numbers of the tables' first blocks.  Used by
// table_group.cu alone.
#ifndef PS_TABLE_CUDA_GROUP_KERNELS_H_
#define PS_TABLE_CUDA_GROUP_KERNELS_H_

#include "optim/current_step.h"
#include "table/cuda/batch_kernels.h"
#include "table/cuda/device_table_kernels.h"
#include "table/cuda/step_kernels.h"
#include "table/cuda/table_part.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

// Some tables of a call, in the order of their keys in the scratch memory.
struct Parts {
  const TablePart* parts;
  uint32_t count;
};

// Returns the last part whose number is at most `number`; the item with this number is in that part.
__device__ inline const TablePart& part_with(const Parts& parts, uint32_t TablePart::*numbers,
                                             uint32_t number) {
  uint32_t low = 0, high = parts.count;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (parts.parts[middle].*numbers <= number) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return parts.parts[low];
}

// Calls body with the part of each thread, and the thread's number among the threads of the part.
template <class Body>
__global__ void run_group(Parts parts, Body body) {
  const TablePart& part = part_with(parts, &TablePart::first_block, blockIdx.x);
  body(part, (blockIdx.x - part.first_block) * blockDim.x + threadIdx.x);
}

struct HashKeys {
  __device__ void operator()(const TablePart& part, uint32_t i) const { hash_key_at(part.batch, i); }
};

struct CompleteHashes {
  __device__ void operator()(const TablePart& part, uint32_t j) const {
    complete_hash(part.batch, part.batch.runs_before, j);
  }
};

struct MarkRuns {
  __device__ void operator()(const TablePart& part, uint32_t j) const { mark_run(part.batch, j); }
};

struct ListRuns {
  __device__ void operator()(const TablePart& part, uint32_t j) const { list_run(part.batch, j); }
};

struct FindRuns {
  __device__ void operator()(const TablePart& part, uint32_t own) const {
    find_some_runs(part.rows, part.batch, part.scoring, own);
  }
};

struct ClaimSlots {
  __device__ void operator()(const TablePart& part, uint32_t own) const {
    claim_some_slots(part.rows, part.batch, part.scoring, own);
  }
};

// One thread a run, since there are as many threads as keys.
struct CountOutcomes {
  __device__ void operator()(const TablePart& part, uint32_t own) const {
    count_some_outcomes(part.rows, part.batch, part.evicted, own, part.batch.size);
  }
};

struct SaveEvicted {
  __device__ void operator()(const TablePart& part, uint32_t run) const {
    if (part.evicted.count != nullptr) save_some_evicted(part.rows, part.batch, part.evicted, run);
  }
};

struct StartRows {
  __device__ void operator()(const TablePart& part, uint32_t own) const {
    start_some_rows(part.rows, part.batch, part.initial, part.initial_state, own);
  }
};

struct ReadWeights {
  __device__ void operator()(const TablePart& part, uint32_t j) const {
    read_some_weights(part.rows, part.batch, part.initial, part.weights, j);
  }
};

struct FindScores {
  __device__ void operator()(const TablePart& part, uint32_t i) const {
    const uint32_t slot =
        find_some_scores(part.rows, part.batch.keys, part.batch.size, part.found, part.scores, i);
    if (part.row_pointers == nullptr || i >= part.batch.size) return;
    part.row_pointers[i] = slot != kNoSlot ? row_at(part.rows, slot) : nullptr;
  }
};

struct AdvanceRows {
  __device__ void operator()(const TablePart& part, uint32_t i) const {
    advance_some_rows(part.rows, part.batch.keys, part.batch.size, part.which, part.changes, part.score, i);
  }
};

struct FindWeights {
  __device__ void operator()(const TablePart& part, uint32_t i) const {
    if (part.row_pointers != nullptr) {
      point_to_some_rows(part.rows, part.batch.keys, part.batch.size, part.found, part.row_pointers, i);
    } else {
      find_some_weights(part.rows, part.batch.keys, part.batch.size, part.found, part.weights, i);
    }
  }
};

// One warp a run of at most kLongRun keys; all parts take the same kind of step.
template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks) step_group_rows(Parts parts) {
  const TablePart& part = part_with(parts, &TablePart::first_step_block, blockIdx.x);
  const uint32_t thread = (blockIdx.x - part.first_step_block) * blockDim.x + threadIdx.x;
  const Rows rows = part.rows;
  const Batch batch = part.batch;
  const Step step = *reinterpret_cast<const Step*>(part.step);
  step_own_run(rows, batch, part.gradients, step, part.scale, part.bound, thread / kLanes);
}

// row_threads threads a row to which there is a pointer.
template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks) step_group_pointed(Parts parts) {
  const TablePart& part = part_with(parts, &TablePart::first_step_block, blockIdx.x);
  const uint64_t thread = uint64_t{blockIdx.x - part.first_step_block} * blockDim.x + threadIdx.x;
  const uint64_t i = thread / part.row_threads;
  if (i >= part.batch.size) return;
  const Rows rows = part.rows;
  const Step step = *reinterpret_cast<const Step*>(part.step);
  step_pointed_row(rows, part.stepped_rows[i], part.gradients + i * rows.width, step, part.scale, part.bound,
                   part.score, static_cast<uint32_t>(thread - i * part.row_threads), part.row_threads);
}

__device__ inline uint32_t num_long_runs(const Parts& parts) {
  return *parts.parts[0].batch.num_long_runs;
}

// Blocks of kStepThreads with kStepBytes of shared memory.  Each takes every n-th item, which is a long run
// and one of the `tiles` tiles of columns in the widest row.
template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    step_group_long_runs(Parts parts, uint32_t tiles) {
  // The sum needs all registers, so values that can be read again are read again after it.
  for (uint32_t item = blockIdx.x; item < num_long_runs(parts) * tiles; item += gridDim.x) {
    const uint32_t number = parts.parts[0].batch.long_runs[item / tiles], first = item % tiles * kTileColumns;
    const TablePart& part = part_with(parts, &TablePart::first_key, number);
    if (first >= part.rows.width) continue;
    LongRunSum long_run(part.batch, part.gradients, part.rows.width, gpu::dynamic_shared<float>());
    step_columns(part.rows, part.batch, long_run, number - part.first_key, first,
                 *reinterpret_cast<const Step*>(part.step), part.scale, part.bound);
  }
}

// One thread a table: copies the counts of all tables into one array.
__global__ inline void gather_counts(const DeviceTableCounts* const* counts, uint32_t tables,
                                     DeviceTableCounts* all) {
  const uint32_t t = thread_index();
  if (t < tables) all[t] = *counts[t];
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_GROUP_KERNELS_H_
