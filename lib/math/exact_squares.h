// ExactSquares: a sum of squares of floats without rounding, so that it does not depend on how the floats are
// divided and in which order they are added.  Used to take norms over values that several processes hold.
#ifndef PS_MATH_EXACT_SQUARES_H_
#define PS_MATH_EXACT_SQUARES_H_

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace ps {

// A fixed-point number of 640 bits (Kulisch's accumulator).  The lowest bit is worth 2^-298, the square of the
// smallest float.  The largest square is below 2^256, so that 2^86 of them fit.  One owner thread.
class ExactSquares {
 public:
  void add(const float* values, int64_t count);
  void add(const ExactSquares& other);

  // Returns the nearest double or its neighbour: the same sum always gives the same double.  Returns infinity if
  // a value was not finite.
  double value() const;

  void save(std::string& out) const;
  void load(ByteReader& in);

  bool operator==(const ExactSquares&) const = default;

 private:
  static constexpr int kLowestExponent = -298;

  void add_bits(uint64_t bits, size_t limb);

  std::array<uint64_t, 10> limbs_{};  // least significant first
  uint64_t not_finite_ = 0;           // number of values that were not finite
};

}  // namespace ps

#endif  // PS_MATH_EXACT_SQUARES_H_
