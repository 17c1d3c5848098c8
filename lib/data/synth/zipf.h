// Zipf's law over [0, n): rank r is drawn with probability proportional to (r + 1)^-a.  Exact, in constant
// time and a few kilobytes for any n.  Used by every kind of synthetic data with ids or words.
//
// The ranks are cut into ranges: the first 1024 alone, then ranges that grow by 1/64.  An alias table chooses
// a range by the mass of the step function that lies over the law on it; a rank drawn evenly from the range
// is then kept with probability law / step, which is at least (64/65)^a, so that all but a few draws are kept
// without computing a power. (Rejection-inversion, Hörmann and Derflinger 1996, needs a logarithm and an
// exponential a draw.)
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

  // Ranks that are drawn as such: for exponents about 1 they take half of all draws.
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

  // A draw in two steps, for many at a time: from the next random number, and from the one after it, which is
  // used when the first step gave a range.
  struct Draw {
    uint64_t rank;
    uint32_t numbers;  // random ones that were used: 1 or 2
    bool kept;         // else the draw begins again, with the numbers that follow
  };
  uint32_t column(uint64_t bits) const { return table_.draw(bits); }
  Draw finish(uint32_t column, uint64_t bits) const {
    // A single rank is its distance from the start of an empty range.  Masks, since nobody could guess a
    // branch, and compilers make one of a question.
    uint32_t ranged = 0 - static_cast<uint32_t>(column >= kSingleRanks);
    const Range& range = ranges_[(column - (kSingleRanks - 1)) & ranged];
    WideProduct place = multiply_wide(bits, range.width);
    uint64_t rank = range.first + place.high + (column & ~ranged);
    bool is_kept = place.low < range.surely_kept || kept(range, rank, place.low);
    return {rank, 1 + (ranged & 1), is_kept};
  }

 private:
  struct Range {
    uint64_t first, width;
    uint64_t surely_kept;  // law / step at the last rank of the range, times 2^64
  };

  // Whether a rank is kept by a coin with `fraction` / 2^64.
  bool kept(const Range& range, uint64_t rank, uint64_t fraction) const;

  uint64_t num_ranks_;
  double exponent_;
  std::vector<Range> ranges_;  // an empty one, and those after the single ranks
  AliasTable table_;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_ZIPF_H_
