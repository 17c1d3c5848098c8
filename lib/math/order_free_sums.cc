#include "math/order_free_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ps {

namespace {

constexpr int kBits = 38;  // bits of the largest addend that are kept below its first one

// Returns 2^exponent for an exponent that a normal double can have, by writing the biased exponent into its
// bits.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

}  // namespace

void OrderFreeSums::begin(size_t n) {
  largest_.assign(n, 0.0f);
  integers_.assign(n, 0);
}

void OrderFreeSums::measure(size_t first, std::span<const float> values) {
  float* largest = largest_.data() + first;
  for (size_t i = 0; i < values.size(); ++i) largest[i] = std::max(largest[i], std::fabs(values[i]));
}

// Counts each value in units of 2^(E - 38): integers of 64 bits add up without rounding, and so in any
// order.  A value has less than 2^39 units, so that 2^23 of them stay below 2^62.
void OrderFreeSums::add(size_t first, std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const float largest = largest_[first + i];
    if (largest == 0) continue;
    const double scaled = static_cast<double>(values[i]) * power_of_two(kBits - std::ilogb(largest));
    integers_[first + i] += std::llrint(scaled);
  }
}

void OrderFreeSums::finish(std::span<float> sums) const {
  for (size_t i = 0; i < sums.size(); ++i) {
    const double unit = largest_[i] == 0 ? 0 : power_of_two(std::ilogb(largest_[i]) - kBits);
    sums[i] = static_cast<float>(static_cast<double>(integers_[i]) * unit);
  }
}

}  // namespace ps
