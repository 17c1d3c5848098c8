#include "ps/server/contributed_rows.h"

#include <algorithm>

namespace ps {

namespace {

// Returns all rows of a contribution, with their pointers if the pull has found as many.
RowsOfOne rows_of(const Contribution& contribution) {
  RowsOfOne rows{contribution.slice->keys, contribution.slice->counts, contribution.floats, {}};
  const RowPointers* pulled = contribution.pulled;
  if (pulled == nullptr || pulled->rows.size() != rows.keys.size()) return rows;
  rows.rows = pulled->rows;
  rows.pulled_step = pulled->step;
  return rows;
}

// Returns the first `count` rows, and leaves the others in `rows`.
RowsOfOne cut(RowsOfOne& rows, size_t count, size_t cols) {
  RowsOfOne front = rows;
  front.keys = rows.keys.first(count);
  rows.keys = rows.keys.subspan(count);
  if (rows.floats != nullptr) rows.floats += count * cols;
  if (!rows.counts.empty()) {
    front.counts = rows.counts.first(count);
    rows.counts = rows.counts.subspan(count);
  }
  if (!rows.rows.empty()) {
    front.rows = rows.rows.first(count);
    rows.rows = rows.rows.subspan(count);
  }
  return front;
}

}  // namespace

// A contribution continues the last chain if all of its keys are larger than those of the chain.  Otherwise
// it begins the next one.  The keys of a contribution ascend, so the keys of a chain do too.
void ContributedRows::begin(std::span<const Contribution> contributions, int64_t cols) {
  cols_ = static_cast<size_t>(cols);
  chains_.clear();
  num_left_ = 0;
  for (const Contribution& contribution : contributions) {
    const RowsOfOne rows = rows_of(contribution);
    if (rows.keys.empty()) continue;
    num_left_ += rows.keys.size();
    const bool follows = !chains_.empty() && chains_.back().rows.back().keys.back() < rows.keys.front();
    if (!follows) chains_.emplace_back();
    chains_.back().rows.push_back(rows);
  }
}

// Returns the key that comes in the chain after `count` others; nothing if it has no more.
std::optional<uint64_t> ContributedRows::key_behind(const Chain& chain, uint64_t count) {
  for (size_t i = chain.first; i < chain.rows.size(); ++i) {
    const std::span<const uint64_t> keys = chain.rows[i].keys;
    if (count < keys.size()) return keys[count];
    count -= keys.size();
  }
  return std::nullopt;
}

// Moves the rows of the chain with keys below `end` to `some`; all rows, if there is no `end`.
void ContributedRows::take_below(Chain& chain, std::optional<uint64_t> end, std::vector<RowsOfOne>& some) {
  while (!chain.ended()) {
    RowsOfOne& rows = chain.rows[chain.first];
    size_t count = rows.keys.size();
    if (end) count = static_cast<size_t>(std::ranges::lower_bound(rows.keys, *end) - rows.keys.begin());
    const bool all = count == rows.keys.size();
    if (count > 0) some.push_back(cut(rows, count, cols_));
    num_left_ -= count;
    if (!all) return;
    ++chain.first;
  }
}

// Returns the key before which the next slice ends; nothing if it takes all rows that are left.  Every chain
// may give an equal share of `most`; the slice ends at the smallest of the keys that follow these shares.
std::optional<uint64_t> ContributedRows::end_of_slice(uint64_t most) const {
  if (most >= num_left_) return std::nullopt;
  const int64_t num_chains =
      std::ranges::count_if(chains_, [](const Chain& chain) { return !chain.ended(); });
  const uint64_t each = std::max<uint64_t>(1, most / static_cast<uint64_t>(num_chains));
  std::optional<uint64_t> end;
  for (const Chain& chain : chains_) {
    const std::optional<uint64_t> key = key_behind(chain, each);
    if (key && (!end || *key < *end)) end = key;
  }
  return end;
}

void ContributedRows::next(uint64_t most, std::vector<RowsOfOne>& some) {
  next_below(end_of_slice(most), some);
}

void ContributedRows::next_below(std::optional<uint64_t> end, std::vector<RowsOfOne>& some) {
  some.clear();
  for (Chain& chain : chains_) take_below(chain, end, some);
}

}  // namespace ps
