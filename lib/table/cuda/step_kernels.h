// The kernels of DeviceTable::push.  They add up the gradients of a run of equal keys, and apply a step to
// its row.  Used by device_table.cu alone.
#ifndef PS_TABLE_CUDA_STEP_KERNELS_H_
#define PS_TABLE_CUDA_STEP_KERNELS_H_

#include "optim/kernels/steps.h"
#include "table/cuda/row_storage.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

// The threads of a block; and the blocks of a multiprocessor, if registers decide.
constexpr uint32_t kStepThreads = 128, kStepBlocks = 8;

// kFloats columns of a row from `column` on, while a step is applied to them.  Owned by one lane.
template <class Step, int kFloats>
struct SteppedColumns {
  using Some = Floats<kFloats>;

  __device__ SteppedColumns(const Rows& rows, float* row, uint32_t column)
      : rows_(rows), row_(row), column_(column), stored_(rows, row, column) {
    if (Step::kArrays > 0) first_ = *state(0);
    if (Step::kArrays > 1) second_ = *state(1);
  }

  // Applies the step.  `sum`, the sum of the gradients, is multiplied by `scale` and clipped to [-bound,
  // bound].  `hash` points to the hash of the row's key.
  __device__ void apply(const Step& step, const Some& sum, float scale, float bound, const uint64_t* hash) {
    Some weights = stored_.decoded(rows_.rounding);
    for (int n = 0; n < kFloats; ++n) {
      step(weights.values[n], first_.values[n], second_.values[n], clip(sum.values[n] * scale, bound));
    }
    write_weights(rows_, rows_.rounding.evenly ? *hash : 0, row_, column_, weights);
    if (Step::kArrays > 0) *state(0) = first_;
    if (Step::kArrays > 1) *state(1) = second_;
  }

 private:
  __device__ Some* state(uint32_t array) const {
    return reinterpret_cast<Some*>(row_ + rows_.state_at + array * rows_.width + column_);
  }

  const Rows& rows_;
  float* const row_;
  const uint32_t column_;
  StoredWeights<kFloats> stored_;
  Some first_ = {}, second_ = {};
};

template <int kFloats>
__device__ void add(Floats<kFloats>& sum, const Floats<kFloats>& values) {
  for (int n = 0; n < kFloats; ++n) sum.values[n] += values.values[n];
}

// Applies the step to a run, kFloats columns a lane at a time.  The first gradient begins the sum, and the
// others are added in the order in which they were given, while the next kAhead are being loaded.  Long runs
// are left to step_long_runs.
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
      return *reinterpret_cast<const Some*>(gradients +
                                            static_cast<uint64_t>(batch.positions[j]) * rows.width + c);
    };
    SteppedColumns<Step, kFloats> columns(rows, row, c);
    Some sum = gradient(begin);
    uint32_t j = begin + 1;
    for (; j + kAhead <= end; j += kAhead) {
      Some next[kAhead];
      for (uint32_t n = 0; n < kAhead; ++n) next[n] = gradient(j + n);
      for (const Some& one : next) add(sum, one);
    }
    for (; j < end; ++j) add(sum, gradient(j));
    columns.apply(step, sum, scale, bound, batch.run_hashes + run);
  }
}

// One warp a run of at most kLongRun keys: adds up the gradients of its key, in the order in which they were
// given, and applies the step to its row.  A gradient is multiplied by `scale` and clipped to [-bound,
// bound].
//   gradients [size, width]
template <class Step>
__device__ void step_own_run(const Rows& rows, const Batch& batch, const float* gradients, const Step& step,
                             float scale, float bound, uint32_t run) {
  if (run >= *batch.num_runs || batch.slots[run] == kNoSlot) return;
  if (rows.width % 4 == 0 && reinterpret_cast<uintptr_t>(gradients) % 16 == 0) {
    step_run<4>(rows, batch, run, gradients, step, scale, bound);
  } else {
    step_run<1>(rows, batch, run, gradients, step, scale, bound);
  }
}

// Thread `own` of the threads of a row, of which each has four columns, or one: applies the step to them.  The first sets the
// row's score.
//   gradient [width]
template <class Step>
__device__ void step_pointed_row(const Rows& rows, float* row, const float* gradient, const Step& step,
                                 float scale, float bound, uint64_t score, uint32_t own, uint32_t threads) {
  const uint64_t no_hash = 0;  // floats are not rounded
  if (threads == rows.width) {
    SteppedColumns<Step, 1>(rows, row, own).apply(step, {{gradient[own]}}, scale, bound, &no_hash);
  } else {
    const auto four = *reinterpret_cast<const Floats<4>*>(gradient + 4 * own);
    SteppedColumns<Step, 4>(rows, row, 4 * own).apply(step, four, scale, bound, &no_hash);
  }
  if (own == 0) rows.scores[static_cast<uint64_t>(row - rows.rows) / rows.stride] = score;
}

template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    step_rows(Rows rows, Batch batch, const float* gradients, Step step, float scale, float bound) {
  step_own_run(rows, batch, gradients, step, scale, bound, warp_index());
}

// The gradients of a long run pass through shared memory in tiles.  A tile is kTileKeys gradients of
// kTileColumns columns.  While one tile is added up, kTilesAhead tiles are being copied, and the positions of
// as many more.  All threads of a block copy, and the first warp adds.
constexpr uint32_t kTileKeys = 64, kTileColumns = kLanes, kTilesAhead = 8;
constexpr uint32_t kTiles = kTilesAhead + 1, kTilesOfPositions = 2 * kTilesAhead;
constexpr uint32_t kStepBytes =
    kTiles * kTileKeys * kTileColumns * sizeof(float) + kTilesOfPositions * kTileKeys * sizeof(uint32_t);

// Adds up the gradients of a long run; owned by one block.  A gradient in shared memory is 32 floats; thread
// i of eight copies its i-th 16 bytes.
class LongRunSum {
 public:
  // All arguments must stay valid as long as this object.
  //   shared [kStepBytes / 4]
  __device__ LongRunSum(const Batch& batch, const float* const& gradients, const uint32_t& width,
                        float* shared)
      : batch_(batch),
        gradients_(gradients),
        width_(width),
        aligned_(width % 4 == 0 && reinterpret_cast<uintptr_t>(gradients) % 16 == 0),
        tiles_(shared),
        positions_(reinterpret_cast<uint32_t*>(shared + kTiles * kTileKeys * kTileColumns)) {}

  // Returns the sum of column first_column + lane, in those lanes of the first warp that have a column.
  __device__ float add_up(uint32_t run, uint32_t first_column) {
    begin_ = batch_.begins[run];
    size_ = batch_.begins[run + 1] - begin_;
    first_column_ = first_column;
    const uint32_t num_tiles = (size_ + kTileKeys - 1) / kTileKeys;
    for (uint32_t tile = 0; tile < kTilesAhead; ++tile) copy_positions(tile);
    gpu::commit_copies();
    gpu::wait_copies<0>();
    gpu::sync_block();
    for (uint32_t tile = 0; tile < kTilesAhead; ++tile) copy_tile(tile);
    float sum = -0.0f;  // -0 plus the first gradient is that gradient, whatever its sign
    for (uint32_t tile = 0; tile < num_tiles; ++tile) {
      gpu::wait_copies<kTilesAhead - 1>();
      gpu::sync_block();  // the tile has come, and the one before it has been added up
      copy_tile(tile + kTilesAhead);
      if (threadIdx.x < kLanes) sum = add_tile(tile, sum);
    }
    gpu::wait_copies<0>();
    gpu::sync_block();  // the next run uses the same memory
    return sum;
  }

 private:
  static constexpr uint32_t kParts = kTileColumns / 4;                    // parts of 16 bytes of a gradient
  static constexpr uint32_t kCopies = kTileKeys * kParts / kStepThreads;  // copies of a thread for each tile
  static constexpr uint32_t kKeysAtOnce = kStepThreads / kParts;
  static constexpr uint32_t kAhead = 16;  // values that a thread reads before it adds up as many others
  static_assert(kTileKeys <= kStepThreads);

  // Begins to copy the positions of a tile.  Behind the last tile nothing is copied.
  __device__ void copy_positions(uint32_t tile) {
    const uint32_t j = tile * kTileKeys + threadIdx.x;
    if (threadIdx.x >= kTileKeys || j >= size_) return;
    gpu::copy_async(positions_ + (tile % kTilesOfPositions) * kTileKeys + threadIdx.x,
                    batch_.positions + begin_ + j, sizeof(uint32_t));
  }

  // Begins to copy a tile whose positions have come, and the positions of a later tile; both make one group
  // of copies.  Whole tiles, which are nearly all of a long run, are copied without a branch, since the first
  // warp has little time beside its additions.
  __device__ void copy_tile(uint32_t tile) {
    const uint32_t column = first_column_ + 4 * (threadIdx.x % kParts);
    const bool whole = aligned_ && (tile + 1) * kTileKeys <= size_ && first_column_ + kTileColumns <= width_;
    if (whole) {
      PS_UNROLL for (uint32_t n = 0; n < kCopies; ++n) {
        gpu::copy_async(target(tile, n), source(tile, n, column), 4 * sizeof(float));
      }
    } else {
      for (uint32_t n = 0; n < kCopies; ++n) copy_some(tile, n, column);
    }
    copy_positions(tile + kTilesAhead);
    gpu::commit_copies();
  }

  __device__ float* target(uint32_t tile, uint32_t n) const {
    return tiles_ + ((tile % kTiles) * kTileKeys + in_tile(n)) * kTileColumns + 4 * (threadIdx.x % kParts);
  }
  __device__ const float* source(uint32_t tile, uint32_t n, uint32_t column) const {
    const uint64_t position = positions_[(tile % kTilesOfPositions) * kTileKeys + in_tile(n)];
    return gradients_ + position * width_ + column;
  }
  __device__ static uint32_t in_tile(uint32_t n) { return n * kKeysAtOnce + threadIdx.x / kParts; }

  // Copies the existing ones of four columns of a gradient.
  __device__ void copy_some(uint32_t tile, uint32_t n, uint32_t column) const {
    if (tile * kTileKeys + in_tile(n) >= size_) return;
    float* const to = target(tile, n);
    const float* const from = source(tile, n, column);
    if (aligned_) {
      if (column < width_) gpu::copy_async(to, from, 4 * sizeof(float));
      return;
    }
    for (uint32_t i = 0; i < 4 && column + i < width_; ++i) gpu::copy_async(to + i, from + i, sizeof(float));
  }

  // Reads kAhead values of this thread's column, from key `first` of a tile on.
  __device__ void read(const float* values, uint32_t first, float* out) const {
    if (first_column_ + threadIdx.x >= width_) return;
    for (uint32_t n = 0; n < kAhead; ++n) out[n] = values[(first + n) * kTileColumns];
  }

  // Adds a tile to the sum.  The next kAhead values are read before those read earlier are added up;
  // otherwise each addition would wait for its value.
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
      gpu::sync_warp();  // no compiler moves a read behind this
      for (float value : ahead[n % 2]) sum += value;
    }
    return sum;
  }

  const Batch& batch_;
  const float* const& gradients_;  // read again for each tile, since registers are few
  const uint32_t& width_;
  const bool aligned_;
  float* const tiles_;
  uint32_t* const positions_;
  uint32_t begin_ = 0, size_ = 0, first_column_ = 0;
};

// One block: applies the step to one tile of columns of a long run, from column `first` on.
template <class Step>
__device__ void step_columns(const Rows& rows, const Batch& batch, LongRunSum& long_run, uint32_t run,
                             uint32_t first, const Step& step, float scale, float bound) {
  const uint32_t slot = batch.slots[run];
  if (slot == kNoSlot) return;
  const float sum = long_run.add_up(run, first);
  const uint32_t c = first + threadIdx.x;
  if (threadIdx.x >= kTileColumns || c >= rows.width) return;
  SteppedColumns<Step, 1>(rows, row_at(rows, slot), c)
      .apply(step, {{sum}}, scale, bound, batch.run_hashes + run);
}

// Blocks of kStepThreads with kStepBytes of shared memory, each for every n-th long run and tile of its
// columns.  They do for long runs what step_rows does for the others.
template <class Step>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    step_long_runs(Rows rows, Batch batch, const float* gradients, Step step, float scale, float bound) {
  const uint32_t of_row = (rows.width + kTileColumns - 1) / kTileColumns;
  const uint64_t items = static_cast<uint64_t>(*batch.num_long_runs) * of_row;
  LongRunSum long_run(batch, gradients, rows.width, gpu::dynamic_shared<float>());
  for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
    step_columns(rows, batch, long_run, batch.long_runs[item / of_row],
                 static_cast<uint32_t>(item % of_row) * kTileColumns, step, scale, bound);
  }
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_STEP_KERNELS_H_
