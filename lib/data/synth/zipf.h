// Zipf's law over [0, n): rank r is drawn with probability proportional to (r + 1)^-a.  Exact, in constant
// time and a few kilobytes for any n.  Used by every kind of synthetic data with ids or words.
//
// The ranks are divided into ranges: each of the first 1024 ranks is one, the following ranges grow by 1/64.
// An alias table chooses a range by the mass of the step function that lies over the law on it; a rank drawn
// evenly from the range is then kept with probability law / step, which is at least (64/65)^a, so that nearly
// all draws are kept without computing a power. (Rejection-inversion, Hörmann and Derflinger 1996, needs a
// logarithm and an exponential a draw.)
#ifndef PS_DATA_SYNTH_ZIPF_H_
#define PS_DATA_SYNTH_ZIPF_H_

#include <cstdint>
#include <vector>

#include "data/synth/alias_table.h"
#include "data/synth/example_random.h"

namespace ps {

// Constant after construction: any thread may draw.
class ZipfLaw {
 public:
  // num_ranks in [1, 2^48]; exponent >= 0, where 0 is the uniform law.
  ZipfLaw(uint64_t num_ranks, double exponent);

  // Ranks that are a range of their own: for exponents about 1 they are half of all draws.
  static constexpr uint64_t kSingleRanks = 1024;

  uint64_t num_ranks() const { return num_ranks_; }

  uint64_t draw(ExampleRandom& random) const {
    for (;;) {
      uint32_t drawn = column(random.next64());
      if (drawn < kSingleRanks) return drawn;
      Draw ranged = finish(drawn, random.next64());
      if (ranged.kept) return ranged.rank;
    }
  }

  // A draw in two steps, so that many draws can overlap.  The first step uses one random number; if it chose
  // a range of several ranks, the second step uses the number after it.
  struct Draw {
    uint64_t rank;
    uint32_t numbers;  // random ones that were used: 1 or 2
    bool kept;         // false: the draw is repeated with the numbers that follow
  };
  uint32_t column(uint64_t bits) const { return table_.draw(bits); }
  Draw finish(uint32_t column, uint64_t bits) const {
    // A single rank is its distance from the start of an empty range.  The code uses masks, since a branch
    // could not be predicted, and compilers turn a conditional expression into one.
    uint32_t ranged = 0 - static_cast<uint32_t>(column >= kSingleRanks);
    const Range& range = ranges_[(column - (kSingleRanks - 1)) & ranged];
    WideProduct position = multiply_wide(bits, range.width);
    uint64_t rank = range.first + position.high + (column & ~ranged);
    bool is_kept = position.low < range.surely_kept || kept(range, rank, position.low);
    return {rank, 1 + (ranged & 1), is_kept};
  }

 private:
  struct Range {
    uint64_t first, width;
    uint64_t surely_kept;  // law / step at the last rank of the range, times 2^64
  };

  // Returns true if the rank is kept, given the random fraction `fraction` / 2^64.
  bool kept(const Range& range, uint64_t rank, uint64_t fraction) const;

  uint64_t num_ranks_;
  double exponent_;
  std::vector<Range> ranges_;  // an empty range, then the ranges behind the single ranks
  AliasTable table_;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_ZIPF_H_
