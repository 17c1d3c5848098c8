// Arrays of random numbers for the tests of kernels.
#ifndef PS_TESTS_UNIT_MATH_RANDOM_ARRAYS_H_
#define PS_TESTS_UNIT_MATH_RANDOM_ARRAYS_H_

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace ps {

// Normal numbers of one stream.
template <class T>
std::vector<T> random_values(int64_t size, uint64_t stream) {
  Random random(29, stream);
  std::vector<T> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<T>(random.normal()));
  return out;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_MATH_RANDOM_ARRAYS_H_
