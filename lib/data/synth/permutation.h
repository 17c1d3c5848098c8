// A pseudorandom permutation of [0, n): spreads the hot ids of a Zipf law over the whole range.
#ifndef PS_DATA_SYNTH_PERMUTATION_H_
#define PS_DATA_SYNTH_PERMUTATION_H_

#include <bit>
#include <cstdint>

#include "base/random.h"

namespace ps {

// Numbers below n are split into a high part below m, at most 64, and a low part of k bits, where m 2^k is at
// least n and at most 3 % more (for n above 64).  Each step changes one part by the other, or by itself
// invertibly.  A result outside [0, n) is permuted again, which is so rare that branch prediction works.
class Permutation {
 public:
  // n in [1, 2^48].  Permutations of different streams are independent.
  Permutation(uint64_t n, uint64_t seed, uint64_t stream) : n_(n) {
    low_bits_ = n <= 64 ? 0 : static_cast<int>(std::bit_width(n - 1)) - 6;
    mask_ = (uint64_t{1} << low_bits_) - 1;
    num_high_ = ((n - 1) >> low_bits_) + 1;
    Random random(seed, stream);
    add_ = random.next64();
    multiply1_ = random.next64() | 1;
    multiply2_ = random.next64() | 1;
  }

  uint64_t operator()(uint64_t x) const {
    do x = mix(x);
    while (x >= n_);
    return x;
  }

 private:
  uint64_t mix(uint64_t x) const {
    uint64_t high = x >> low_bits_, low = x & mask_;
    low = ((low + add_) * multiply1_) & mask_;
    low ^= low >> (low_bits_ / 2 + 1);
    high = shifted(high, low);
    low = ((low + high * add_) * multiply2_) & mask_;
    low ^= low >> (low_bits_ / 2 + 1);
    high = shifted(high, low);
    return high << low_bits_ | low;
  }

  // high + a number that depends on low, modulo num_high_.
  uint64_t shifted(uint64_t high, uint64_t low) const {
    high += ((((low + add_) * multiply2_) >> 32) * num_high_) >> 32;
    return high >= num_high_ ? high - num_high_ : high;
  }

  uint64_t n_, mask_, num_high_, add_, multiply1_, multiply2_;
  int low_bits_;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_PERMUTATION_H_
