#include "base/random.h"

#include <cmath>
#include <numbers>

namespace ps {

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = kMultiplier0 * c0, p1 = kMultiplier1 * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
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
  for (;;) {
    __extension__ unsigned __int128 product = static_cast<unsigned __int128>(next64()) * bound;
    uint64_t low = static_cast<uint64_t>(product);
    if (low >= bound || low >= (0 - bound) % bound) return static_cast<uint64_t>(product >> 64);
  }
}

double Random::normal() {
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace ps
