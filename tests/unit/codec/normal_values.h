// Normal values, as gradients are taken to be.  Used by the tests of selection and of DGC.
#ifndef PS_TESTS_UNIT_CODEC_NORMAL_VALUES_H_
#define PS_TESTS_UNIT_CODEC_NORMAL_VALUES_H_

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace ps {

using Floats = std::vector<float>;

// `size` of them, the same for the same seed and stream.
inline Floats normal_values(uint64_t seed, uint64_t stream, size_t size) {
  Random random(seed, stream);
  Floats all(size);
  for (float& value : all) value = static_cast<float>(random.normal());
  return all;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_CODEC_NORMAL_VALUES_H_
