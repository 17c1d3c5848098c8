// Kernels that bring rows into the order of their owners and back.  Used by divided_group.cu and divided_weights.cu.
#ifndef PS_DEVICE_CUDA_DIVIDED_KERNELS_H_
#define PS_DEVICE_CUDA_DIVIDED_KERNELS_H_

#include <cstdint>

#include "gpu/device.h"
#include "table/cuda/row_access.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// The rows of one group of a KeySplit, which begin at a key of the ordered ones and at a value.
struct RowSection {
  uint64_t ordered;               // the first value of its rows in the order of owners
  const float* from;              // the first value of its table as given: of the gradients of a step,
  float* to;                      // or of the weights that are asked for
  uint64_t score;                 // which its rows get in a step
  uint32_t first_key, given_key;  // its first ordered key, and the first key of its table as given
  uint32_t width;                 // values of a row
};

struct RowSections {
  const RowSection* sections;
  uint32_t count;
};

// Returns the section of an ordered key, which is the last that begins at or before it.
__device__ inline const RowSection& section_with(const RowSections& all, uint32_t key) {
  uint32_t low = 0, high = all.count;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (all.sections[middle].first_key <= key ? low : high) = middle;
  }
  return all.sections[low];
}

// One warp a key: its gradient, and the score of its step.
//   positions [size], scores [size]; ordered as the sections say
__global__ inline void order_gradients(RowSections all, const uint32_t* positions, uint32_t size,
                                       float* ordered, uint64_t* scores) {
  const uint32_t j = device_table::warp_index();
  if (j >= size) return;
  const RowSection& section = section_with(all, j);
  const uint32_t width = section.width;
  const float* const from = section.from + uint64_t{positions[j] - section.given_key} * width;
  float* const to = ordered + section.ordered + uint64_t{j - section.first_key} * width;
  for (uint32_t c = gpu::lane(); c < width; c += gpu::kWarpSize) to[c] = from[c];
  if (gpu::lane() == 0) scores[j] = section.score;
}

// One warp a key: its row, from where its owner gave it to where it was asked for.
__global__ inline void restore_weights(RowSections all, const uint32_t* positions, uint32_t size,
                                       const float* ordered) {
  const uint32_t j = device_table::warp_index();
  if (j >= size) return;
  const RowSection& section = section_with(all, j);
  const uint32_t width = section.width;
  const float* const from = ordered + section.ordered + uint64_t{j - section.first_key} * width;
  float* const to = section.to + uint64_t{positions[j] - section.given_key} * width;
  for (uint32_t c = gpu::lane(); c < width; c += gpu::kWarpSize) to[c] = from[c];
}

// One thread an ordered key: has [size] <- 1 if a row comes for it, else 0.
__global__ inline void mark_sources(const uint32_t* sources, const uint32_t* positions, uint32_t size,
                                    uint32_t* has) {
  const uint32_t j = device_table::thread_index();
  if (j < size) has[j] = sources[positions[j]] != device_table::kNoSource;
}

// One thread an ordered key, of which numbers[j] have a row before it.  ends [owners] <- the rows of this owner and of those
// before it; owners without keys keep what is there.
__global__ inline void end_sources(const uint32_t* sources, const uint32_t* positions, const uint32_t* owners,
                                   const uint32_t* numbers, uint32_t size, uint32_t* ends) {
  const uint32_t j = device_table::thread_index();
  if (j >= size || (j + 1 < size && owners[j + 1] == owners[j])) return;
  ends[owners[j]] = numbers[j] + (sources[positions[j]] != device_table::kNoSource);
}

// One warp an ordered key: its row, if one comes for it, and the number of this row among those of its owner.
//   sources, ordered_sources [size]; given, ordered [.., width]
__global__ inline void order_rows_that_come(RowSections all, const uint32_t* positions, uint32_t size,
                                            const uint32_t* numbers, const uint32_t* sources,
                                            const float* given, uint32_t* ordered_sources, float* ordered) {
  const uint32_t j = device_table::warp_index();
  if (j >= size) return;
  const RowSection& section = section_with(all, j);
  const uint32_t width = section.width, source = sources[positions[j]];
  const bool comes = source != device_table::kNoSource;
  if (gpu::lane() == 0) {
    ordered_sources[j] =
        comes ? numbers[j] - static_cast<uint32_t>(section.ordered / width) : device_table::kNoSource;
  }
  if (!comes) return;
  const float* const from = given + uint64_t{source} * width;
  float* const to = ordered + uint64_t{numbers[j]} * width;
  for (uint32_t c = gpu::lane(); c < width; c += gpu::kWarpSize) to[c] = from[c];
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_DIVIDED_KERNELS_H_
