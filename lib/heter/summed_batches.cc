#include "heter/summed_batches.h"

#include <algorithm>
#include <iterator>

namespace ps {

namespace {

// Calls body(n, at) for each key of `list`, where list[n] == keys[at].  Both lists ascend, and `keys` has all
// keys of `list`.
template <class Body>
void for_each_match(std::span<const uint64_t> list, std::span<const uint64_t> keys, Body&& body) {
  size_t at = 0;
  for (size_t n = 0; n < list.size(); ++n, ++at) {
    while (keys[at] != list[n]) ++at;
    body(n, at);
  }
}

void append_row(const RowBlock& from, size_t n, RowBlock& to) {
  const size_t values = from.values.size() / from.size();
  const auto row = from.values.begin() + static_cast<ptrdiff_t>(n * values);
  to.keys.push_back(from.keys[n]);
  to.values.insert(to.values.end(), row, row + static_cast<ptrdiff_t>(values));
  if (!from.stamps.empty()) to.stamps.push_back(from.stamps[n]);
}

}  // namespace

std::vector<uint64_t> union_of(std::span<const std::span<const uint64_t>> lists) {
  std::vector<uint64_t> all, next;
  for (const std::span<const uint64_t> list : lists) {
    next.clear();
    std::ranges::set_union(all, list, std::back_inserter(next));
    all.swap(next);
  }
  return all;
}

// The first batch with a row sets its sum instead of adding to zeros, as servers do: 0 + x is not x for -0.
void sum_rows(std::span<const uint64_t> keys, std::span<const RowGradients> batches, size_t cols,
              float* sums) {
  std::vector<bool> is_set(keys.size());
  for (const RowGradients& batch : batches) {
    for_each_match(batch.keys, keys, [&](size_t n, size_t at) {
      const float* from = batch.gradients + n * cols;
      float* to = sums + at * cols;
      if (is_set[at]) {
        for (size_t j = 0; j < cols; ++j) to[j] += from[j];
      } else {
        std::copy_n(from, cols, to);
        is_set[at] = true;
      }
    });
  }
}

void sum_whole(std::span<const float* const> batches, size_t count, float* sums) {
  std::copy_n(batches.front(), count, sums);
  for (const float* from : batches.subspan(1)) {
    for (size_t i = 0; i < count; ++i) sums[i] += from[i];
  }
}

void mean_of(std::span<const float* const> batches, std::span<const float> shares, size_t count,
             float* mean) {
  for (size_t b = 0; b < batches.size(); ++b) {
    const float share = shares[b];
    if (share == 1) {
      std::copy_n(batches[b], count, mean);
    } else if (b == 0) {
      for (size_t i = 0; i < count; ++i) mean[i] = share * batches[b][i];
    } else {
      for (size_t i = 0; i < count; ++i) mean[i] += share * batches[b][i];
    }
  }
}

// is_copied[at] says that some batch before has given the row of wanted[at].  `own` has the rows of one
// batch that are new; their keys ascend, as those of the batch do.
void copy_wanted(std::span<const RowBlock* const> sent, std::span<const uint64_t> wanted,
                 std::vector<RowBlock>& taken) {
  std::vector<bool> is_copied(wanted.size());
  for (const RowBlock* rows : sent) {
    RowBlock own;
    for (size_t n = 0; n < rows->size(); ++n) {
      const auto found = std::ranges::lower_bound(wanted, rows->keys[n]);
      if (found == wanted.end() || *found != rows->keys[n]) continue;
      const size_t at = static_cast<size_t>(found - wanted.begin());
      if (is_copied[at]) continue;
      is_copied[at] = true;
      append_row(*rows, n, own);
    }
    if (own.size() > 0) taken.push_back(std::move(own));
  }
}

}  // namespace ps
