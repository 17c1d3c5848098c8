#include "bench/cuda/known_rows.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

__device__ uint64_t item_index() {
  return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__global__ void sequence_kernel(uint64_t* keys, uint64_t size, uint64_t first) {
  const uint64_t i = item_index();
  if (i < size) keys[i] = bench_key(first + i);
}

__global__ void draws_kernel(uint64_t* keys, uint64_t size, uint64_t first, uint64_t range, uint64_t seed) {
  const uint64_t i = item_index();
  if (i < size) keys[i] = bench_key(first + hash_key(seed + i) % range);
}

__global__ void rows_kernel(float* rows, const uint64_t* keys, uint64_t size, uint32_t width,
                            uint32_t floats) {
  const uint64_t i = item_index();
  if (i >= size * floats) return;
  const auto column = static_cast<uint32_t>(i % floats);
  rows[i] = column < width ? bench_value(keys[i / floats], column) : 0;
}

__device__ void add_one(uint64_t* count) {
  gpu::atomic_add<gpu::Order::kRelaxed>(count, 1);
}

// Adds 1 to the kind of a row [width]: right, zero, or wrong.  Floats are compared exactly, since tables
// only copy them.
__device__ void count_row(const float* row, uint64_t key, uint32_t width, RowKinds* kinds) {
  bool right = true, zero = true;
  for (uint32_t c = 0; c < width; ++c) {
    right = right && row[c] == bench_value(key, c);
    zero = zero && row[c] == 0;
  }
  add_one(right ? &kinds->right : zero ? &kinds->zero : &kinds->wrong);
}

__global__ void count_rows_kernel(const float* rows, const uint8_t* found, const uint64_t* keys,
                                  uint64_t size, uint32_t width, RowKinds* kinds) {
  const uint64_t i = item_index();
  if (i >= size) return;
  if (found != nullptr && found[i] == 0) return add_one(&kinds->missing);
  count_row(rows + i * width, keys[i], width, kinds);
}

__global__ void count_pointers_kernel(float* const* pointers, const uint64_t* keys, uint64_t size,
                                      uint32_t width, RowKinds* kinds) {
  const uint64_t i = item_index();
  if (i >= size) return;
  if (pointers[i] == nullptr) return add_one(&kinds->missing);
  count_row(pointers[i], keys[i], width, kinds);
}

}  // namespace

void write_sequence(gpu::Stream& stream, uint64_t* keys, uint64_t size, uint64_t first) {
  run_items(sequence_kernel, size, stream, keys, size, first);
}

void write_draws(gpu::Stream& stream, uint64_t* keys, uint64_t size, uint64_t first, uint64_t range,
                 uint64_t seed) {
  run_items(draws_kernel, size, stream, keys, size, first, range, seed);
}

void write_rows(gpu::Stream& stream, float* rows, const uint64_t* keys, uint64_t size, uint32_t width,
                uint32_t floats) {
  run_items(rows_kernel, size * floats, stream, rows, keys, size, width, floats);
}

void count_rows(gpu::Stream& stream, const float* rows, const uint8_t* found, const uint64_t* keys,
                uint64_t size, uint32_t width, RowKinds* kinds) {
  run_items(count_rows_kernel, size, stream, rows, found, keys, size, width, kinds);
}

void count_pointers(gpu::Stream& stream, float* const* pointers, const uint64_t* keys, uint64_t size,
                    uint32_t width, RowKinds* kinds) {
  run_items(count_pointers_kernel, size, stream, pointers, keys, size, width, kinds);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
