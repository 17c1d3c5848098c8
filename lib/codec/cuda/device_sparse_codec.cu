#include "codec/cuda/device_sparse_codec.h"

#include "math/kernels/half.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr unsigned kSparseThreads = 256;  // threads of a block
constexpr int64_t kTile = 1024;           // values that a warp reads

__device__ int64_t sparse_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// Writes the sum of one value, and lowers *odd to its index if it is not finite.  The minimum does not
// depend on the order of threads.
template <bool kAdd>
__global__ void make_sum(SumsThere sums) {
  const int64_t i = sparse_thread();
  if (i >= sums.size) return;
  const float value = sums.scale * sums.values[i];
  const float sum = kAdd ? sums.sums[i] + value : value;
  sums.sums[i] = sum;
  if ((bits_of(sum) & ~kSign) < kInfinity) return;
  gpu::atomic_min<gpu::Order::kRelaxed>(sums.odd, static_cast<uint64_t>(i));
}

__global__ void subtract_values(SparseThere vector, float* sums) {
  const int64_t i = sparse_thread();
  if (i < vector.size) sums[vector.index[i]] -= vector.value[i];
}

__global__ void set_values(SparseThere vector, float divisor, float* values) {
  const int64_t i = sparse_thread();
  if (i < vector.size) values[vector.index[i]] = vector.value[i] / divisor;
}

__global__ void add_values(const float* values, int64_t size, float* sums) {
  const int64_t i = sparse_thread();
  if (i < size) sums[i] += values[i];
}

// The values of at least a size in a tile of a warp.
struct FoundTile {
  int64_t first, end;
  uint32_t least;

  static __device__ FoundTile of(int64_t tile, int64_t size, uint32_t least) {
    const int64_t first = tile * kTile, left = size - first;
    return {first, left < kTile ? size : first + kTile, least};
  }
  // All lanes call it together; they have the values from `begin` on.
  __device__ uint32_t ballot(const float* values, int64_t begin) const {
    const int64_t i = begin + gpu::lane();
    return gpu::ballot(gpu::kFullWarp, i < end && (bits_of(values[i]) & ~kSign) >= least);
  }
};

// One warp counts each tile.  The warp behind the last tile counts nothing.
// The ballot of a warp tells which of 32 values reach the size; its ones are counted turn by turn.
__global__ void count_found(const float* values, int64_t size, uint32_t least, int64_t tiles,
                            uint32_t* counts) {
  const int64_t index = sparse_thread() / gpu::kWarpSize;
  if (index > tiles) return;
  uint32_t count = 0;
  const FoundTile tile = FoundTile::of(index, size, least);
  for (int64_t begin = tile.first; begin < tile.end; begin += gpu::kWarpSize)
    count += static_cast<uint32_t>(gpu::count_ones(tile.ballot(values, begin)));
  if (gpu::lane() == 0) counts[index] = count;
}

// A warp writes the values of its tile from begins[index] on, 32 at a time.  A lane's place among those
// found is the number of lower lanes that found one, so that indices ascend.
__global__ void write_found(const float* values, int64_t size, uint32_t least, int64_t tiles,
                            const uint32_t* begins, uint32_t* indices, float* found) {
  const int64_t index = sparse_thread() / gpu::kWarpSize;
  if (index >= tiles || begins[index] == begins[index + 1]) return;
  uint32_t next = begins[index];
  const FoundTile tile = FoundTile::of(index, size, least);
  for (int64_t begin = tile.first; begin < tile.end; begin += gpu::kWarpSize) {
    const uint32_t mask = tile.ballot(values, begin), own = 1u << gpu::lane();
    if ((mask & own) != 0) {
      const uint32_t at = next + static_cast<uint32_t>(gpu::count_ones(mask & (own - 1)));
      indices[at] = static_cast<uint32_t>(begin + gpu::lane());
      found[at] = values[begin + gpu::lane()];
    }
    next += static_cast<uint32_t>(gpu::count_ones(mask));
  }
}

unsigned sparse_blocks(int64_t threads) {
  return gpu::blocks_for(static_cast<uint64_t>(threads), kSparseThreads);
}

int64_t tiles_of(int64_t size) {
  return (size + kTile - 1) / kTile;
}

}  // namespace

void make_sums(gpu::Stream& stream, const SumsThere& sums) {
  if (sums.size == 0) return;
  gpu::launch(sums.add ? make_sum<true> : make_sum<false>, sparse_blocks(sums.size), kSparseThreads, 0,
              stream, sums);
}

void subtract_vector(gpu::Stream& stream, const SparseThere& vector, float* sums) {
  if (vector.size == 0) return;
  gpu::launch(subtract_values, sparse_blocks(vector.size), kSparseThreads, 0, stream, vector, sums);
}

void set_dense(gpu::Stream& stream, const SparseThere& vector, float divisor, float* values, int64_t size) {
  stream.fill(values, 0, static_cast<uint64_t>(size) * sizeof(float));
  if (vector.size == 0) return;
  gpu::launch(set_values, sparse_blocks(vector.size), kSparseThreads, 0, stream, vector, divisor, values);
}

void add_dense(gpu::Stream& stream, const float* values, int64_t size, float* sums) {
  if (size == 0) return;
  gpu::launch(add_values, sparse_blocks(size), kSparseThreads, 0, stream, values, size, sums);
}

// Counts the found values of each tile, and zero for one tile more.  The exclusive sums of these counts are
// the places of the tiles in the output, and the last of them is the number of all found values.
void DeviceFinder::count(gpu::Stream& stream, const float* values, int64_t size, uint32_t least,
                         uint32_t* num) {
  const int64_t tiles = tiles_of(size);
  if (begins_.size() < tiles + 1) begins_ = gpu::DeviceArray<uint32_t>(stream.device(), tiles + 1);
  gpu::launch(count_found, sparse_blocks((tiles + 1) * gpu::kWarpSize), kSparseThreads, 0, stream, values,
              size, least, tiles, begins_.data());
  gpu::exclusive_scan(stream, workspace_, begins_.data(), begins_.data(), tiles + 1);
  stream.copy_on_device(num, begins_.data() + tiles, sizeof(uint32_t));
}

void DeviceFinder::write(gpu::Stream& stream, const float* values, int64_t size, uint32_t least,
                         uint32_t* index, float* value) {
  const int64_t tiles = tiles_of(size);
  if (tiles == 0) return;
  gpu::launch(write_found, sparse_blocks(tiles * gpu::kWarpSize), kSparseThreads, 0, stream, values, size,
              least, tiles, begins_.data(), index, value);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
