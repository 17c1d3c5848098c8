#include "codec/selection.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"

namespace ps {

namespace {

constexpr int64_t kSelectedChunk = 1 << 16;  // values of one call of the kernel

uint32_t size_of(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7fffffff;
}

// One digit of a radix selection.  Makes a histogram of the digit over the values whose higher bits are
// `above`, and goes down from the largest digit until `rank` values are reached.  Returns that digit, and
// subtracts the number of values with a larger digit from `rank`.
template <int kShift, int kBits>
uint32_t digit_of_rank(std::span<const float> values, uint32_t above, uint64_t& rank) {
  std::array<uint64_t, 1 << kBits> counts{};
  for (float value : values) {
    const uint32_t size = size_of(value);
    counts[size >> kShift & ((1u << kBits) - 1)] += size >> (kShift + kBits) == above ? 1 : 0;
  }
  uint32_t digit = (1u << kBits) - 1;
  for (; digit > 0 && counts[digit] < rank; --digit) rank -= counts[digit];
  return digit;
}

}  // namespace

// Selects by radix: finds the 31 bits of the size as three digits, the highest first, with one pass over the
// values for each.
uint32_t size_of_rank(std::span<const float> values, uint64_t count) {
  if (count > values.size() || count == 0) return 0;
  const uint32_t high = digit_of_rank<20, 11>(values, 0, count);
  const uint32_t middle = digit_of_rank<9, 11>(values, high, count);
  const uint32_t low = digit_of_rank<0, 9>(values, high << 11 | middle, count);
  return high << 20 | middle << 9 | low;
}

// Chooses the lines of the sample, which depend on `draw`, size and count alone, so that a device chooses
// the same ones.
void Selector::begin(uint64_t size, uint64_t count, uint64_t draw) {
  PS_CHECK(size <= kMaxSparseSize && count <= size);
  size_ = size, count_ = count;
  num_collected_ = 0;
  lines_.clear();
  const SelectionSample sample = selection_sample(size, count);
  for (uint64_t n = 0; n < sample.num_lines; ++n) lines_.push_back(sample.line(draw, n));
  sample_.resize(sample.size());
  sample_rank_ = selection_sample_rank(sample, size, count);
}

// A size of zero would collect zeros, which are never selected, so the least size is 1: the smallest float
// above zero.
uint32_t Selector::least() {
  if (count_ == 0 || sample_.empty())
    return kInfiniteSize;  // no value reaches it: finish selects from all values
  return std::max(1u, size_of_rank(sample_, sample_rank_));
}

// The kernel writes all n values before it knows which to keep, so there must be room for all of them.
// Doubling makes the copies rare.
Collected Selector::room(int64_t n) {
  const size_t needed = num_collected_ + static_cast<size_t>(n);
  if (index_.size() < needed) {
    index_.resize(std::max(needed, index_.size() * 2));
    value_.resize(index_.size());
  }
  return {index_.data() + num_collected_, value_.data() + num_collected_};
}

void Selector::collect_all(std::span<const float> values, uint32_t least) {
  num_collected_ = 0;
  for (size_t begin = 0; begin < values.size(); begin += kSelectedChunk) {
    const int64_t n = static_cast<int64_t>(std::min<size_t>(kSelectedChunk, values.size() - begin));
    const Collected out = room(n);
    collected(kernels_.collect(values.data() + begin, n, static_cast<uint32_t>(begin), least, out));
  }
}

// Selects exactly count_ of the collected values: all that are larger than the size of rank count_, and the
// first ones among those that have this size.
void Selector::keep_largest(SparseVector& sparse) const {
  const std::span<const float> values(value_.data(), num_collected_);
  const uint32_t least = num_collected_ > count_ ? size_of_rank(values, count_) : 0;
  // The number of values of size `least` that are kept: those that the larger ones leave.
  uint64_t equal = count_;
  if (least > 0) {
    for (float value : values) equal -= size_of(value) > least ? 1 : 0;
  }
  for (size_t i = 0; i < num_collected_; ++i) {
    const uint32_t size = size_of(value_[i]);
    if (size < least || (size == least && equal == 0)) continue;
    if (size == least) --equal;
    sparse.index.push_back(index_[i]);
    sparse.value.push_back(value_[i]);
  }
}

// If the estimated threshold was too high, too few values were collected.  Then the exact threshold of all
// values is computed and they are collected again. keep_largest removes the surplus of a threshold that was too
// low.
void Selector::finish(std::span<const float> values, SparseVector& sparse) {
  sparse.clear();
  if (count_ == 0) return;
  const double enough = kind_ == Selection::kExact || sample_.empty() ? 1 : kLeastSelected;
  if (static_cast<double>(num_collected_) < enough * static_cast<double>(count_)) {
    collect_all(values, std::max(1u, size_of_rank(values, count_)));
  }
  keep_largest(sparse);
}

// The steps of a selection for values that are in memory already: the pass that collects runs only if the
// sample has set a threshold.
void Selector::select(std::span<const float> values, uint64_t count, uint64_t draw, SparseVector& sparse) {
  begin(values.size(), count, draw);
  for (size_t n = 0; n < lines_.size(); ++n) std::copy_n(&values[lines_[n]], kLine, &sample_[n * kLine]);
  const uint32_t size = least();
  if (size < kInfiniteSize) collect_all(values, size);
  finish(values, sparse);
}

}  // namespace ps
