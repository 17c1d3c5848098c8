// The sum of what several readers' batches of one step gave, as servers add it up: in the order of ranks, the first with a
// number sets it, the others add to it.  Used by SharedCopies.
#ifndef PS_HETER_SUMMED_BATCHES_H_
#define PS_HETER_SUMMED_BATCHES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ps/wire/stored_rows.h"

namespace ps {

// The ascending union of ascending lists of keys.
std::vector<uint64_t> union_of(std::span<const std::span<const uint64_t>> lists);

// The gradients of one batch's rows, whose keys ascend: [keys, cols].
struct RowGradients {
  std::span<const uint64_t> keys;
  const float* gradients;
};

// sums [keys, cols] <- of the rows of `keys`, the union of those of the batches.
void sum_rows(std::span<const uint64_t> keys, std::span<const RowGradients> batches, size_t cols,
              float* sums);

// sums [count] <- of whole parameters.
void sum_whole(std::span<const float* const> batches, size_t count, float* sums);

// mean [count] <- values, each with the share that its batch has of the examples; of one batch alone, as they are.
void mean_of(std::span<const float* const> batches, std::span<const float> shares, size_t count, float* mean);

// Takes from the rows of one parameter that several batches sent those of `wanted`, which ascend, each once: appends to
// `taken` blocks of them.
void copy_wanted(std::span<const RowBlock* const> sent, std::span<const uint64_t> wanted,
                 std::vector<RowBlock>& taken);

}  // namespace ps

#endif  // PS_HETER_SUMMED_BATCHES_H_
