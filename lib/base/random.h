// Counter-based random numbers: a number depends on (seed, stream, index) alone, never on the numbers drawn
// before, so that any thread or server may draw any part of a sequence.  Used by initial weights, generators,
// shuffles, sampling.
//
// Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#ifndef PS_BASE_RANDOM_H_
#define PS_BASE_RANDOM_H_

#include <array>
#include <cstdint>

namespace ps {

// Four independent uniform 32-bit numbers for each (key, counter_high, counter_low).
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low);

// In [0, 1): 24 bits of a 32-bit number.
inline float unit_float(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

// Two independent standard normal numbers from two uniform ones (Box and Muller, 1958).
struct NormalPair {
  float first, second;
};
NormalPair normal_pair(uint32_t bits0, uint32_t bits1);

// The sequence of one (seed, stream), in order.  Copies go on independently from the same place.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  uint32_t next32();
  uint64_t next64();
  double uniform();                // [0, 1), 53 bits
  uint64_t below(uint64_t bound);  // [0, bound), bound > 0, without bias
  double normal();                 // mean 0, deviation 1

 private:
  uint64_t seed_, stream_, block_ = 0;
  std::array<uint32_t, 4> numbers_{};
  int used_ = 4;
};

}  // namespace ps

#endif  // PS_BASE_RANDOM_H_
