// TablePart: one table's part of a call of TableGroup, as kernels see it.  Used by TableGroup and its kernels.
#ifndef PS_TABLE_CUDA_TABLE_PART_H_
#define PS_TABLE_CUDA_TABLE_PART_H_

#include <cstdint>

#include "optim/current_step.h"
#include "optim/kernels/idle.h"
#include "table/cuda/device_table.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

// One table's part of a call, as kernels see it.
struct TablePart {
  Rows rows;
  Batch batch;
  Scoring scoring;
  Initial initial;
  InitialState initial_state;
  RowsOut evicted;
  uint8_t* found;
  uint64_t* scores;
  const uint32_t* which;
  const IdleChange* changes;
  uint64_t score;
  float* weights;
  float** row_pointers;
  const float* gradients;
  float* const* stepped_rows;  // pointers to the rows of a step, or null
  float scale, bound;
  uint32_t rule;       // index of its step in AnyStep
  uint32_t first_key;  // number of keys of the parts before it
  // First blocks of the part: of kernels with a thread a key; with a warp a run, or with row_threads threads a row.
  uint32_t first_block, first_step_block;
  uint32_t row_threads;  // each for four columns, or for one
  alignas(8) unsigned char step[sizeof(AnyStep<float>)];
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_TABLE_PART_H_
