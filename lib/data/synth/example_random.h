// Random numbers of one synthetic example: they depend on (seed, purpose, index) alone, so that any thread
// may make any example.  Used by the generators, which draw some 100 numbers an example.
//
// Philox chooses a start for each example; from there SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) counts
// on. It costs 0.7 ns a number where Philox costs 4.9 (2-core AMD EPYC).
#ifndef PS_DATA_SYNTH_EXAMPLE_RANDOM_H_
#define PS_DATA_SYNTH_EXAMPLE_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/random.h"

namespace ps {

// High and low half of a 128-bit product: an integer in [0, b), and its fraction.
struct WideProduct {
  uint64_t high, low;
};
inline WideProduct multiply_wide(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(a) * b;
  return {static_cast<uint64_t>(product >> 64), static_cast<uint64_t>(product)};
}

// The use of a sequence: different uses have independent numbers.
enum class Purpose : uint64_t { kExample, kCalibration, kTruth };

class ExampleRandom {
 public:
  ExampleRandom(uint64_t seed, Purpose purpose, uint64_t index) {
    auto start = philox(seed, static_cast<uint64_t>(purpose), index);
    state_ = start[0] | static_cast<uint64_t>(start[1]) << 32;
  }

  uint64_t next64() { return mix(state_ += kStep); }

  // peek64 returns the number that next64 would return after `ahead` calls; skip leaves out the next
  // `numbers`.
  uint64_t peek64(uint64_t ahead) const { return mix(state_ + (ahead + 1) * kStep); }
  void skip(uint64_t numbers) { state_ += numbers * kStep; }

  static double uniform_of(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // [0, 1)
  double uniform() { return uniform_of(next64()); }

  // Returns a number in [0, bound).  Its bias is below bound / 2^64, too small to be seen in any data.
  uint64_t below(uint64_t bound) { return multiply_wide(next64(), bound).high; }

  double normal() {
    double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;

  static uint64_t mix(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
  }

  uint64_t state_;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_EXAMPLE_RANDOM_H_
