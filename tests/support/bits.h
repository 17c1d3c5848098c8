// The bits of floats, for tests in which NaN equals NaN and -0 does not equal 0.
#ifndef PS_TESTS_SUPPORT_BITS_H_
#define PS_TESTS_SUPPORT_BITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ps {

inline std::vector<uint32_t> bits_of(std::span<const float> values) {
  std::vector<uint32_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i) bits[i] = std::bit_cast<uint32_t>(values[i]);
  return bits;
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_BITS_H_
