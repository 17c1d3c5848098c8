// The ranks that the pushes of the suite `gpu` draw.  Used by bench/cuda/device_pushes.cu and
// bench/gpu/cpu_tables.cc.
#ifndef PS_BENCH_GPU_ZIPF_RANKS_H_
#define PS_BENCH_GPU_ZIPF_RANKS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace ps {

// Returns `count` ranks in [0, num_ranks), drawn by Zipf's law with exponent 1.05.
std::vector<uint64_t> zipf_ranks(uint64_t num_ranks, int64_t count);

// Returns how many different ranks there are in `ranks`.
uint64_t count_distinct(std::span<const uint64_t> ranks);

}  // namespace ps

#endif  // PS_BENCH_GPU_ZIPF_RANKS_H_
