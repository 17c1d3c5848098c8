#include "bench/gpu/pushed_rows.h"

#include <algorithm>

namespace ps {

// Goes once over all look-ups.  Look-up i belongs to batch i / size and has position i % size there, by
// which its gradient is known.  sums_ [batches, ranks] counts the uses of a rank in a batch and adds its
// gradients up in double precision; a rank that is not among the chosen ones costs one search in index_of_.
// Columns are the first, the last, and two between, so that threads at both ends of a row are looked at.
PushedRows::PushedRows(std::span<const uint64_t> ranks, size_t size, uint32_t width, Gradient gradient)
    : columns_{0, width / 3, width / 2, width - 1} {
  choose_ranks(ranks);
  sums_.resize(ranks.size() / size * ranks_.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto found = index_of_.find(ranks[i]);
    if (found == index_of_.end()) continue;
    Sum& sum = sums_[i / size * ranks_.size() + found->second];
    ++sum.uses;
    for (size_t column = 0; column < kColumns; ++column) {
      sum.of_column[column] += double{gradient(i % size, columns_[column])};
    }
  }
}

// Chooses the lowest ranks, which are the most frequent, and others from all over the batches.
void PushedRows::choose_ranks(std::span<const uint64_t> ranks) {
  constexpr size_t kFirst = 8, kOthers = 56;
  for (uint64_t rank = 0; rank < kFirst; ++rank) ranks_.push_back(rank);
  for (size_t i = 0; i < kOthers; ++i) ranks_.push_back(ranks[i * ranks.size() / kOthers]);
  std::sort(ranks_.begin(), ranks_.end());
  ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
  for (size_t i = 0; i < ranks_.size(); ++i) index_of_[ranks_[i]] = i;
}

}  // namespace ps
