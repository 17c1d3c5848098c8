// ExactSquares: a sum of squares of floats without rounding, so that it does not depend on how the floats are
// cut up and who adds first.  Used where a norm is taken over what lies in several places.
#ifndef PS_MATH_EXACT_SQUARES_H_
#define PS_MATH_EXACT_SQUARES_H_

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace ps {

// A fixed-point number of 640 bits, the lowest of which is worth 2^-298, the square of the smallest float
// (Kulisch's accumulator).  The largest square is below 2^256: 2^86 of them fit.
class ExactSquares {
 public:
  void add(const float* values, int64_t count);
  void add(const ExactSquares& other);

  // To the nearest double or the one beside it, always the same; infinite when a value was not finite.
  double value() const;

  void save(std::string& out) const;
  void load(ByteReader& in);

  bool operator==(const ExactSquares&) const = default;

 private:
  static constexpr int kLowestExponent = -298;

  void add_bits(uint64_t bits, size_t limb);

  std::array<uint64_t, 10> limbs_{};  // the lowest first
  uint64_t not_finite_ = 0;           // how many values
};

}  // namespace ps

#endif  // PS_MATH_EXACT_SQUARES_H_
