#include "base/distinct_counter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/hash.h"

namespace ps {

namespace {

constexpr int kBits = 14;
constexpr size_t kRegisters = size_t{1} << kBits;
constexpr double kM = static_cast<double>(kRegisters);
constexpr int kMostRank = 64 - kBits + 1;  // the largest value of a register

// Returns x + x^2 + 2 x^4 + 4 x^8 + …, the term that empty registers add to the estimate.
double sigma(double x) {
  double factor = 1, sum = x, before = -1;
  while (sum != before) {
    x *= x;
    before = sum;
    sum += x * factor;
    factor += factor;
  }
  return sum;
}

// Returns (1 - x - sum over k of (1 - x^(2^-k))^2 2^-k) / 3, the term that registers at the highest rank add.
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double factor = 1, sum = 1 - x, before = -1;
  while (sum != before) {
    x = std::sqrt(x);
    before = sum;
    factor /= 2;
    sum -= (1 - x) * (1 - x) * factor;
  }
  return sum / 3;
}

}  // namespace

DistinctCounter::DistinctCounter() : registers_(kRegisters) {}

// The first kBits bits of the hash choose the register; the rank is the position of the first set bit among
// the others.
void DistinctCounter::add(uint64_t key) {
  const uint64_t hash = hash_key(key + 1);  // hash_key(0) is 0
  uint8_t& most = registers_[hash >> (64 - kBits)];
  // The lowest bit is set, so that the run of zeros ends there when all other bits are zero.
  const auto rank = static_cast<uint8_t>(std::countl_zero(hash << kBits | uint64_t{1} << (kBits - 1)) + 1);
  most = std::max(most, rank);
}

void DistinctCounter::merge(const DistinctCounter& other) {
  for (size_t r = 0; r < kRegisters; ++r) registers_[r] = std::max(registers_[r], other.registers_[r]);
}

double DistinctCounter::count() const {
  // Algorithm 6 of Ertl, where C_k is the number of registers of rank k and q = kMostRank - 1:
  //  z = m tau(1 - C_(q+1) / m);  for k = q, …, 1: z = (z + C_k) / 2;  z = z + m sigma(C_0 / m)
  //  estimate = m^2 / (2 ln 2 z)
  std::array<double, kMostRank + 1> ranks{};  // registers of each rank
  for (uint8_t rank : registers_) ranks[rank] += 1;
  if (ranks[0] == kM) return 0;
  double sum = kM * tau(1 - ranks[kMostRank] / kM);
  for (int rank = kMostRank - 1; rank > 0; --rank) sum = (sum + ranks[static_cast<size_t>(rank)]) / 2;
  sum += kM * sigma(ranks[0] / kM);
  return kM * kM / (2 * std::numbers::ln2 * sum);
}

}  // namespace ps
