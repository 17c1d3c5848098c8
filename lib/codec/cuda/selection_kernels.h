// The kernels of DeviceSelector.  Used by device_selection.cu alone.  A warp works on a tile of values.
#ifndef PS_CODEC_CUDA_SELECTION_KERNELS_H_
#define PS_CODEC_CUDA_SELECTION_KERNELS_H_

#include "codec/cuda/selection_state.h"
#include "codec/cuda/selection_values.h"
#include "codec/selection_sample.h"
#include "gpu/device.h"
#include "math/kernels/half.h"

namespace ps::device_selection {

inline namespace PS_GPU_NAMESPACE {

using gpu::kFullWarp;
using gpu::kWarpSize;
using gpu::Order;

__device__ inline uint32_t thread_index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline uint32_t num_threads() {
  return gridDim.x * blockDim.x;
}

__device__ inline uint32_t size_of(float value) {
  return bits_of(value) & ~kSign;
}

__device__ inline uint32_t larger(uint32_t x, uint32_t y) {
  return x < y ? y : x;
}

// The number of lanes below this one that the mask names.
__device__ inline uint32_t lanes_below(uint32_t mask) {
  return static_cast<uint32_t>(gpu::count_ones(mask & ((1u << gpu::lane()) - 1)));
}

// A value of a tile that was collected, in one lane; `here` is false where the lane has none.
struct Seen {
  bool here;
  uint32_t index;
  float value;
};

// Calls visit(seen) in all lanes together, for the values collected in a tile in their order.
template <class Visit>
__device__ void visit_tile(const float* values, const Search& search, uint32_t tile, Visit visit) {
  const uint32_t lane = gpu::lane(), collected = search.collected[tile];
  if (collected <= search.capacity) {
    const Candidate* stash = search.stash + static_cast<uint64_t>(tile) * search.capacity;
    for (uint32_t begin = 0; begin < collected; begin += kWarpSize) {
      Seen seen{begin + lane < collected, 0, 0};
      if (seen.here) {
        seen.index = stash[begin + lane].index;
        seen.value = stash[begin + lane].value;
      }
      visit(seen);
    }
    return;
  }
  const uint32_t first = tile * search.tile_size, left = search.size - first;
  const uint32_t end = first + (left < search.tile_size ? left : search.tile_size);
  for (uint32_t begin = first; begin < end; begin += kWarpSize) {
    const uint32_t i = begin + lane;
    Seen seen{false, i, i < end ? values[i] : 0};
    seen.here = i < end && size_of(seen.value) >= search.state->least;
    visit(seen);
  }
}

// One block.  The rank is that of the least size among the sample; 0: there is no sample, or all values are to be
// collected.
__global__ inline void begin_selection(Search search, uint32_t least, uint32_t rank) {
  for (uint32_t bin = threadIdx.x; bin < kBins; bin += blockDim.x) search.state->bins[bin] = 0;
  if (threadIdx.x != 0) return;
  search.state->least = least;
  search.state->collected = 0;
  search.state->again = 0;
  search.state->largest = 0;
  search.state->prefix = 0;
  search.state->rank = rank;
  search.state->done = 0;
}

// A search for the size of a rank, one digit a kernel: each block makes a histogram of that digit, over the sizes
// whose higher digits are those found so far; the last block to end adds up the bins from the largest digit
// down until the rank is reached.

__device__ inline void clear_bins(uint32_t* bins) {
  for (uint32_t bin = threadIdx.x; bin < kBins; bin += blockDim.x) bins[bin] = 0;
  gpu::sync_block();
}

__device__ inline void count_size(uint32_t* bins, Digit digit, uint32_t prefix, uint32_t size) {
  if (size >> (digit.shift + digit.bits) != prefix) return;
  gpu::atomic_add<Order::kRelaxed>(&bins[size >> digit.shift & ((1u << digit.bits) - 1)], 1);
}

// Returns the sum of the values of all threads of the block before this one.
__device__ inline uint32_t sum_before(uint32_t value) {
  PS_SHARED_ARRAY(uint32_t, sums, kWarpSize);
  const uint32_t lane = gpu::lane(), warp = threadIdx.x / kWarpSize;
  uint32_t sum = value;
  for (unsigned distance = 1; distance < kWarpSize; distance *= 2) {
    const uint32_t other = gpu::shuffle_up(kFullWarp, sum, distance);
    if (lane >= distance) sum += other;
  }
  gpu::sync_block();  // waits until all have read the sums of the call before
  if (lane == kWarpSize - 1) sums[warp] = sum;
  gpu::sync_block();
  for (uint32_t w = 0; w < warp; ++w) sum += sums[w];
  return sum - value;
}

// Adds the block's histogram to that of the state.  Returns true in all threads of the last block that does.
__device__ inline bool add_bins(State* state, const uint32_t* bins) {
  PS_SHARED_ARRAY(uint32_t, blocks_before, 1);
  gpu::sync_block();
  for (uint32_t bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    if (bins[bin] != 0) gpu::atomic_add<Order::kRelaxed>(&state->bins[bin], bins[bin]);
  }
  gpu::sync_block();
  if (threadIdx.x == 0) blocks_before[0] = gpu::atomic_add<Order::kAcquireRelease>(&state->done, 1);
  gpu::sync_block();
  return blocks_before[0] + 1 == gridDim.x;
}

// Finds the digit, and makes the state ready for the next one.  Runs in a block of kThreads threads, each of
// which has some bins; the first thread has the largest ones.  Returns true in the one thread that found the
// digit.
__device__ inline bool find_digit(State* state, Digit digit) {
  constexpr uint32_t kOwn = kBins / kThreads;
  const uint32_t first = kBins - kOwn * (threadIdx.x + 1);  // its smallest bin
  const uint32_t rank = state->rank;
  uint32_t counts[kOwn], sum = 0;
  for (uint32_t n = 0; n < kOwn; ++n) {
    counts[n] = state->bins[first + n];
    state->bins[first + n] = 0;
    sum += counts[n];
  }
  uint32_t before = sum_before(sum);  // sizes with a digit above these bins
  if (rank <= before || rank > before + sum) return false;
  uint32_t found = kOwn - 1;
  for (; before + counts[found] < rank; --found) before += counts[found];
  state->prefix = state->prefix << digit.bits | (first + found);
  state->rank = rank - before;
  state->done = 0;
  return true;
}

// The search over the sample.  Any number of blocks.
template <class Values>
__global__ void search_sample(Values values, Search search, SelectionSample sample, uint64_t draw, int pass) {
  PS_SHARED_ARRAY(uint32_t, bins, kBins);
  State* const state = search.state;
  const Digit digit = digit_of(pass);
  clear_bins(bins);
  for (uint64_t n = thread_index(); n < sample.size(); n += num_threads()) {
    const uint64_t i = sample.line(draw, n / SelectionSample::kLine) + n % SelectionSample::kLine;
    count_size(bins, digit, state->prefix, size_of(values.at(static_cast<uint32_t>(i))));
  }
  if (!add_bins(state, bins) || !find_digit(state, digit) || pass + 1 < kDigits) return;
  state->least = state->prefix >= kInfinite ? kNothing : larger(1, state->prefix);
  state->prefix = 0;
  state->rank = search.count;
}

// The first digit of the search over all values, where too few have been collected.  All sizes with that digit, or
// a larger one, are collected next.  Any number of blocks.
template <bool kFast>
__global__ void search_all(GivenValues<kFast> values, Search search) {
  PS_SHARED_ARRAY(uint32_t, bins, kBins);
  State* const state = search.state;
  if (state->collected >= search.enough) return;
  const Digit digit = digit_of(0);
  clear_bins(bins);
  const uint32_t fours = search.size / 4;
  for (uint32_t n = thread_index(); n < fours; n += num_threads()) {
    const Four four = values.take_four(4 * n);
    for (int c = 0; c < 4; ++c) count_size(bins, digit, 0, size_of(four.values[c]));
  }
  const uint32_t last = 4 * fours + thread_index();
  if (last < search.size) count_size(bins, digit, 0, size_of(values.at(last)));
  if (!add_bins(state, bins) || !find_digit(state, digit)) return;
  state->least = larger(1, state->prefix << digit.shift);
  state->collected = 0;
  state->again = 1;
  state->prefix = 0;
  state->rank = search.count;
}

// The values that a warp has collected in its tile.
struct Tile {
  Candidate* stash;
  uint32_t capacity, least, collected, largest;

  __device__ void keep(uint32_t position, uint32_t index, float value) const {
    if (position < capacity) stash[position] = {index, value};
  }
  // All lanes call both functions together.  Values are kept in the order of the lanes.
  __device__ void collect(bool here, uint32_t index, float value) {
    const bool collects = here && size_of(value) >= least;
    const uint32_t mask = gpu::ballot(kFullWarp, collects);
    if (collects) keep(collected + lanes_below(mask), index, value);
    collected += static_cast<uint32_t>(gpu::count_ones(mask));
  }
  __device__ void collect_four(uint32_t index, const Four& four) {
    uint32_t position = collected;
    bool collects[4];
    for (int c = 0; c < 4; ++c) {
      collects[c] = size_of(four.values[c]) >= least;
      const uint32_t mask = gpu::ballot(kFullWarp, collects[c]);
      position += lanes_below(mask);
      collected += static_cast<uint32_t>(gpu::count_ones(mask));
    }
    for (uint32_t c = 0; c < 4; ++c) {
      if (collects[c]) keep(position++, index + c, four.values[c]);
    }
  }
};

// The pass over all values, which computes them if they are not given.  One warp a tile.  The kernel runs only
// if the state's `again` has the value of the parameter.
template <class Values>
__global__ void collect_tiles(Values values, Search search, uint32_t again) {
  constexpr uint32_t kTurn = 4 * kWarpSize * Values::kLoads;  // values of a turn of the warp
  const uint32_t index = thread_index() / kWarpSize, lane = gpu::lane();
  if (index >= search.num_tiles || search.state->again != again) return;
  const uint32_t first = index * search.tile_size, left = search.size - first;
  const uint32_t end = first + (left < search.tile_size ? left : search.tile_size);
  Tile tile{search.stash + static_cast<uint64_t>(index) * search.capacity, search.capacity,
            search.state->least, 0, 0};
  uint32_t begin = first;
  for (; begin + kTurn <= end; begin += kTurn) {
    Four fours[Values::kLoads];
    for (uint32_t n = 0; n < Values::kLoads; ++n) {
      fours[n] = values.take_four(begin + 4 * (n * kWarpSize + lane));
    }
    uint32_t largest = 0;
    for (uint32_t n = 0; n < Values::kLoads; ++n) {
      for (int c = 0; c < 4; ++c) largest = larger(largest, size_of(fours[n].values[c]));
    }
    tile.largest = larger(tile.largest, largest);
    if (!gpu::any(kFullWarp, largest >= tile.least)) continue;
    for (uint32_t n = 0; n < Values::kLoads; ++n) {
      tile.collect_four(begin + 4 * (n * kWarpSize + lane), fours[n]);
    }
  }
  for (; begin < end; begin += kWarpSize) {
    const uint32_t i = begin + lane;
    const float value = i < end ? values.take(i) : 0;
    tile.largest = larger(tile.largest, size_of(value));
    tile.collect(i < end, i, value);
  }
  const uint32_t largest = Values::kComputes ? gpu::reduce_max(kFullWarp, tile.largest) : 0;
  if (lane != 0) return;
  search.collected[index] = tile.collected;
  if (tile.collected > 0) gpu::atomic_add<Order::kRelaxed>(&search.state->collected, tile.collected);
  if constexpr (Values::kComputes) gpu::atomic_max<Order::kRelaxed>(&search.state->largest, largest);
}

// The search over the collected values, where there are more than are to be kept.  `values` are all values, for
// tiles whose stash was too small.  Any number of blocks.
__global__ inline void search_collected(const float* values, Search search, int pass) {
  PS_SHARED_ARRAY(uint32_t, bins, kBins);
  State* const state = search.state;
  if (state->collected <= search.count) return;
  const Digit digit = digit_of(pass);
  const uint32_t prefix = state->prefix;
  clear_bins(bins);
  for (uint32_t tile = thread_index() / kWarpSize; tile < search.num_tiles;
       tile += num_threads() / kWarpSize) {
    visit_tile(values, search, tile, [&](const Seen& seen) {
      if (seen.here) count_size(bins, digit, prefix, size_of(seen.value));
    });
  }
  if (add_bins(state, bins)) find_digit(state, digit);
}

// Counts what each tile keeps; one warp a tile.  After a search the prefix is the least size to keep, else it is
// zero, and all are kept.
__global__ inline void count_kept(const float* values, Search search) {
  const uint32_t tile = thread_index() / kWarpSize;
  if (tile >= search.num_tiles) return;
  const uint32_t least = search.state->prefix;
  Kept kept{search.collected[tile], 0};
  if (least > 0 && kept.above > 0) {
    kept.above = 0;
    visit_tile(values, search, tile, [&](const Seen& seen) {
      const uint32_t size = size_of(seen.value);
      kept.above += static_cast<uint32_t>(gpu::count_ones(gpu::ballot(kFullWarp, seen.here && size > least)));
      kept.equal +=
          static_cast<uint32_t>(gpu::count_ones(gpu::ballot(kFullWarp, seen.here && size == least)));
    });
  }
  if (gpu::lane() == 0) search.kept[tile] = kept;
}

__device__ inline uint32_t smaller(uint32_t x, uint32_t y) {
  return x < y ? x : y;
}

// Replaces the counts of each tile by the sums over the tiles before it, and writes the number of selected
// values.  Runs in one block of kScanThreads threads, each of which adds up consecutive tiles.
__global__ inline void add_up_kept(Search search, uint32_t* num_selected) {
  const uint32_t own = (search.num_tiles + blockDim.x - 1) / blockDim.x;
  const uint32_t first = smaller(own * threadIdx.x, search.num_tiles);
  const uint32_t end = smaller(first + own, search.num_tiles);
  Kept sum{0, 0};
  for (uint32_t tile = first; tile < end; ++tile) {
    sum.above += search.kept[tile].above;
    sum.equal += search.kept[tile].equal;
  }
  Kept before{sum_before(sum.above), sum_before(sum.equal)};
  for (uint32_t tile = first; tile < end; ++tile) {
    const Kept kept = search.kept[tile];
    search.kept[tile] = before;
    before.above += kept.above;
    before.equal += kept.equal;
  }
  if (threadIdx.x + 1 == blockDim.x) {
    *num_selected = before.above + smaller(before.equal, search.state->rank);
  }
}

// Removes the sent values from the arrays of a step; null arrays are left alone.
struct Masking {
  float *velocity, *residual;
  bool half;  // true: values are rounded to 16 bits
};

// Writes the selected values in the order of their indices; one warp a tile.
__global__ inline void write_selected(const float* values, Search search, Masking masking, uint32_t* indices,
                                      float* selected) {
  const uint32_t tile = thread_index() / kWarpSize;
  if (tile >= search.num_tiles || search.collected[tile] == 0) return;
  const uint32_t least = search.state->prefix, most_equal = search.state->rank;
  Kept before = search.kept[tile];
  visit_tile(values, search, tile, [&](const Seen& seen) {
    const uint32_t size = size_of(seen.value);
    const uint32_t above = gpu::ballot(kFullWarp, seen.here && size > least);
    const uint32_t equal = gpu::ballot(kFullWarp, seen.here && size == least);
    const Kept here{before.above + lanes_below(above), before.equal + lanes_below(equal)};
    before.above += static_cast<uint32_t>(gpu::count_ones(above));
    before.equal += static_cast<uint32_t>(gpu::count_ones(equal));
    if (!seen.here || size < least || (size == least && here.equal >= most_equal)) return;
    const uint32_t position = here.above + smaller(here.equal, most_equal);
    const float sent = masking.half ? Half::decode(Half::encode(seen.value)) : seen.value;
    indices[position] = seen.index;
    selected[position] = sent;
    if (masking.residual != nullptr) masking.residual[seen.index] = seen.value - sent;
    if (masking.velocity != nullptr) masking.velocity[seen.index] = 0;
  });
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_selection

#endif  // PS_CODEC_CUDA_SELECTION_KERNELS_H_
