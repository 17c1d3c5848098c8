#include "checkpoint/inspect/quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kRanges = 1 << 16;
constexpr uint32_t kSign = uint32_t{1} << 31;

// Maps a float to an integer of the same order. -0 counts as 0.
uint32_t ordered(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

float from_ordered(uint32_t bits) {
  return std::bit_cast<float>((bits & kSign) != 0 ? bits & ~kSign : ~bits);
}

// Returns the range that has the number of this rank, and subtracts the counts of the lower ranges from `rank`.
uint32_t find_range(const std::vector<uint64_t>& counts, uint64_t& rank) {
  uint32_t range = 0;
  for (; rank > counts[range]; ++range) rank -= counts[range];
  return range;
}

}  // namespace

Quantiles::Quantiles(std::span<const double> quantiles)
    : quantiles_(quantiles.begin(), quantiles.end()), ranges_(kRanges) {}

void Quantiles::add(float value) {
  ++ranges_[ordered(value) >> 16];
  ++count_;
}

// Finds the range in which each quantile is, and its rank there.  Only these ranges count lower bits in the
// second pass; quantiles of the same range share its counts.
void Quantiles::begin_second() {
  counted_.assign(kRanges, nullptr);
  for (double quantile : quantiles_) {
    if (count_ == 0) return;
    const double exact_rank = std::ceil(quantile * static_cast<double>(count_));
    uint64_t rank = std::clamp(static_cast<uint64_t>(exact_rank), uint64_t{1}, count_);
    const uint32_t range = find_range(ranges_, rank);
    targets_.push_back({range, rank});
    Counts& counts = within_[range];
    counts.resize(kRanges);
    counted_[range] = &counts;
  }
}

void Quantiles::add_again(float value) {
  const uint32_t bits = ordered(value);
  if (Counts* counts = counted_[bits >> 16]) ++(*counts)[bits & (kRanges - 1)];
}

// The upper 16 bits of the quantile are the range, and its rank there tells the lower ones.
float Quantiles::value(size_t index) const {
  PS_CHECK(index < targets_.size());
  uint64_t rank = targets_[index].rank;
  const uint32_t range = targets_[index].range, low = find_range(within_.at(range), rank);
  return from_ordered(range << 16 | low);
}

}  // namespace ps
