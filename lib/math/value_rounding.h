// ValueRounding: weights that a table stores as floats of 16 bits, rounded after each step.  Used by tables in the memory of
// devices (lib/table/cuda), whose kernels compile it too, and by those that plan them (lib/device).
#ifndef PS_MATH_VALUE_ROUNDING_H_
#define PS_MATH_VALUE_ROUNDING_H_

#include <cstdint>

#include "base/hash.h"
#include "math/kernels/half.h"

namespace ps {

enum class ValueType : uint8_t { kF32, kF16, kBf16 };

// Rounds to the nearest value, ties to even.  Or rounds evenly: to one of the two neighbours, chosen by (seed,
// step, key, column) alone, such that the mean over all choices is the weight.  Both leave a weight that the
// type can represent unchanged.
struct ValueRounding {
  ValueType type = ValueType::kF32;
  bool evenly = false;
  uint64_t seed = 0;  // that of the table; at_step mixes the step into it

  [[nodiscard]] constexpr ValueRounding at_step(uint64_t step) const {
    return {type, evenly, hash_key(seed ^ hash_key(step + 1))};
  }

  // Returns the seed of a row, given the hash of its key.
  constexpr uint64_t row_seed(uint64_t hash) const { return evenly ? hash_key(seed ^ hash) : 0; }

  // Returns the bits of a weight of that row in 16 bits; the type must not be f32.
  constexpr uint16_t encode(float weight, uint64_t row_seed, uint32_t column) const {
    if (!evenly) return type == ValueType::kF16 ? Half::encode(weight) : Bfloat::encode(weight);
    const uint32_t random =
        static_cast<uint32_t>(hash_key(row_seed + (uint64_t{column} + 1) * 0x9e3779b97f4a7c15u) >> 32);
    return type == ValueType::kF16 ? Half::encode_evenly(weight, random)
                                   : Bfloat::encode_evenly(weight, random);
  }
  constexpr float decode(uint16_t bits) const {
    return type == ValueType::kF16 ? Half::decode(bits) : Bfloat::decode(bits);
  }

  // Returns the rounded weight.
  constexpr float round(float weight, uint64_t row_seed, uint32_t column) const {
    return type == ValueType::kF32 ? weight : decode(encode(weight, row_seed, column));
  }

  // Returns true if the type can represent this weight.
  constexpr bool holds(float weight) const {
    if (type == ValueType::kF32) return true;
    const float nearest =
        type == ValueType::kF16 ? decode(Half::encode(weight)) : decode(Bfloat::encode(weight));
    return bits_of(nearest) == bits_of(weight);
  }
};

}  // namespace ps

#endif  // PS_MATH_VALUE_ROUNDING_H_
