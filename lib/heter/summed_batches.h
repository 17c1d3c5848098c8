// The sum of the gradients that several readers' batches give in one step, added as servers add it: in the
// order of ranks, where the first batch with a value sets it and the others add to it.  Used by SharedCopies.
#ifndef PS_HETER_SUMMED_BATCHES_H_
#define PS_HETER_SUMMED_BATCHES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ps/wire/stored_rows.h"

namespace ps {

// Returns the ascending union of ascending lists of keys.
std::vector<uint64_t> union_of(std::span<const std::span<const uint64_t>> lists);

// The gradients of one batch's rows, whose keys ascend: [keys, cols].
struct RowGradients {
  std::span<const uint64_t> keys;
  const float* gradients;
};

// sums [keys, cols] <- the sums of the rows of `keys`, which are the union of the keys of the batches.
void sum_rows(std::span<const uint64_t> keys, std::span<const RowGradients> batches, size_t cols,
              float* sums);

// sums [count] <- the sums of whole parameters.
void sum_whole(std::span<const float* const> batches, size_t count, float* sums);

// mean [count] <- the sum of share * value over the batches, where a share is a batch's part of the examples.
// The values of a single batch are copied.
void mean_of(std::span<const float* const> batches, std::span<const float> shares, size_t count, float* mean);

// Copies rows of one parameter that several batches sent.  `wanted` has ascending keys; for each, the first row
// that was sent is copied.  Appends blocks of these rows to `taken`.
void copy_wanted(std::span<const RowBlock* const> sent, std::span<const uint64_t> wanted,
                 std::vector<RowBlock>& taken);

}  // namespace ps

#endif  // PS_HETER_SUMMED_BATCHES_H_
