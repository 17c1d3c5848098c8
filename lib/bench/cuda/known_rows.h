// The keys and values of rows that all workloads of the suite `gpu` use: kernels write them on the device,
// and compare them there with the results of tables.  Used by bench/cuda/*.cu.
#ifndef PS_BENCH_CUDA_KNOWN_ROWS_H_
#define PS_BENCH_CUDA_KNOWN_ROWS_H_

#include <cstdint>

#include "bench/gpu/known_values.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// Each call queues its work on a stream.  All arrays lie on the stream's device.

// Writes the keys of items first, first + 1, ... to keys [size].
void write_sequence(gpu::Stream& stream, uint64_t* keys, uint64_t size, uint64_t first);

// Writes the keys of items that are drawn evenly from [first, first + range) to keys [size].
void write_draws(gpu::Stream& stream, uint64_t* keys, uint64_t size, uint64_t first, uint64_t range,
                 uint64_t seed);

// Writes rows [size, floats]: `width` values of each key, then zeros for the state of an optimizer.
void write_rows(gpu::Stream& stream, float* rows, const uint64_t* keys, uint64_t size, uint32_t width,
                uint32_t floats);

// Numbers of rows by kind: `right` have the values of their keys, `zero` are all zero, as new rows are,
// `missing` were not found, and `wrong` are all others.
struct RowKinds {
  uint64_t right = 0, zero = 0, missing = 0, wrong = 0;
};

// Counts rows [size, width] into *kinds.  A key whose `found` is 0 is missing; if `found` is null, no key is
// missing.
void count_rows(gpu::Stream& stream, const float* rows, const uint8_t* found, const uint64_t* keys,
                uint64_t size, uint32_t width, RowKinds* kinds);

// Counts the rows to which pointers [size] point into *kinds; a null pointer is a row that is missing.
void count_pointers(gpu::Stream& stream, float* const* pointers, const uint64_t* keys, uint64_t size,
                    uint32_t width, RowKinds* kinds);

// Launches a kernel with a thread for each item.
template <class... Parameters, class... Arguments>
void run_items(void (*kernel)(Parameters...), uint64_t items, gpu::Stream& stream, Arguments&&... arguments) {
  constexpr unsigned kThreads = 128;
  gpu::launch(kernel, gpu::blocks_for(items, kThreads), kThreads, 0, stream, arguments...);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_BENCH_CUDA_KNOWN_ROWS_H_
