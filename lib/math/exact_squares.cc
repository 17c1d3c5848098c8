#include "math/exact_squares.h"

#include <bit>
#include <cmath>
#include <limits>

namespace ps {

// Adds to one limb, and adds the carry to the limbs above.
void ExactSquares::add_bits(uint64_t bits, size_t limb) {
  for (; bits != 0 && limb < limbs_.size(); ++limb) {
    limbs_[limb] += bits;
    bits = limbs_[limb] < bits;
  }
}

// A float is m 2^e with m < 2^24 and e in [-149, 104]: its square is m^2 2^(2e), 48 bits that lie in one
// limb or two.  Subnormal floats have exponent field 0 and no hidden bit.  `position` is the bit of the
// accumulator that m^2 begins at.  With shift <= 16 the 48 bits end within the limb; else the bits that
// were shifted out go to the next one.
void ExactSquares::add(const float* values, int64_t count) {
  constexpr uint32_t kFractionBits = 23, kInfinite = 255;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]) & 0x7fffffff;
    const uint32_t exponent = bits >> kFractionBits;
    if (bits == 0) continue;
    if (exponent == kInfinite) {
      ++not_finite_;
      continue;
    }
    const uint64_t fraction = bits & ((1u << kFractionBits) - 1);
    const uint64_t m = exponent == 0 ? fraction : fraction | 1u << kFractionBits;
    const uint32_t position = 2 * (exponent == 0 ? 0 : exponent - 1);  // 2e + 298
    const size_t limb = position / 64;
    const uint32_t shift = position % 64;
    add_bits(m * m << shift, limb);
    if (shift > 16) add_bits(m * m >> (64 - shift), limb + 1);
  }
}

void ExactSquares::add(const ExactSquares& other) {
  for (size_t i = 0; i < limbs_.size(); ++i) add_bits(other.limbs_[i], i);
  not_finite_ += other.not_finite_;
}

// Adds the limbs from the most significant one on.  The limbs do not depend on the order of the squares and
// this order is fixed, so that equal sums give equal doubles.
double ExactSquares::value() const {
  if (not_finite_ > 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    sum += std::ldexp(static_cast<double>(limbs_[i]), static_cast<int>(64 * i) + kLowestExponent);
  }
  return sum;
}

void ExactSquares::save(std::string& out) const {
  for (uint64_t limb : limbs_) put(out, limb);
  put(out, not_finite_);
}

void ExactSquares::load(ByteReader& in) {
  in.get_array(std::span<uint64_t>(limbs_));
  not_finite_ = in.get<uint64_t>();
}

}  // namespace ps
