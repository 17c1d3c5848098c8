#include "base/random.h"

#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace ps {

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  const PhiloxNumbers all = philox_numbers(key, counter_high, counter_low);
  return std::to_array(all.numbers);
}

NormalPair normal_pair(uint32_t bits0, uint32_t bits1) {
  // 1 - u is in (0, 1], so the logarithm is finite.
  float radius = std::sqrt(-2.0f * std::log(1.0f - unit_float(bits0)));
  float angle = 2.0f * std::numbers::pi_v<float> * unit_float(bits1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

uint32_t Random::next32() {
  if (used_ == 4) {
    numbers_ = philox(seed_, stream_, block_++);
    used_ = 0;
  }
  return numbers_[static_cast<size_t>(used_++)];
}

uint64_t Random::next64() {
  uint64_t low = next32();
  return low | static_cast<uint64_t>(next32()) << 32;
}

double Random::uniform() {
  return static_cast<double>(next64() >> 11) * 0x1p-53;
}

// Lemire, "Fast random integer generation in an interval", 2019.
uint64_t Random::below(uint64_t bound) {
  // The result is the upper half of x bound, for a random x of 64 bits.  Each result has the same number of
  // x when those whose lower half is below 2^64 mod bound are drawn anew; the division is needed only if
  // the lower half is below bound.
  for (;;) {
    __extension__ unsigned __int128 product = static_cast<unsigned __int128>(next64()) * bound;
    uint64_t low = static_cast<uint64_t>(product);
    if (low >= bound || low >= (0 - bound) % bound) return static_cast<uint64_t>(product >> 64);
  }
}

// The method of Box and Muller; the second number of the pair is not used, so that each call takes the same
// number of uniform ones.
double Random::normal() {
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace ps
