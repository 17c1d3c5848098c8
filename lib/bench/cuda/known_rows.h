// The keys and the values of rows that all workloads of the suite `gpu` use: made on the device, and compared there with
// what tables give back.  Used by bench/cuda/*.cu.
#ifndef PS_BENCH_CUDA_KNOWN_ROWS_H_
#define PS_BENCH_CUDA_KNOWN_ROWS_H_

#include <cstdint>

#include "bench/gpu/known_values.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// Each call queues its work on a stream.  All arrays lie on the stream's device.

// keys [size] <- those of items first, first + 1, ...
void write_sequence(gpu::Stream& stream, uint64_t* keys, uint64_t size, uint64_t first);

// keys [size] <- those of items drawn evenly from [first, first + range).
void write_draws(gpu::Stream& stream, uint64_t* keys, uint64_t size, uint64_t first, uint64_t range,
                 uint64_t seed);

// rows [size, floats] <- `width` values of each key, then zeros: the state of an optimizer.
void write_rows(gpu::Stream& stream, float* rows, const uint64_t* keys, uint64_t size, uint32_t width,
                uint32_t floats);

// The rows of a call by what they are: those of their keys, those that are all zero, as new rows are, those that are
// missing, and others.
struct RowKinds {
  uint64_t right = 0, zero = 0, missing = 0, wrong = 0;
};

// Adds to *kinds, for rows [size, width].  A key whose `found` is 0 is missing; null: none is.
void count_rows(gpu::Stream& stream, const float* rows, const uint8_t* found, const uint64_t* keys,
                uint64_t size, uint32_t width, RowKinds* kinds);

// The same for pointers [size] to rows; a null is a row that is missing.
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
