// The distinct ranks of one row, drawn by Zipf's law.  Used by FeatureLaw.
#ifndef PS_DATA_SYNTH_DISTINCT_RANKS_H_
#define PS_DATA_SYNTH_DISTINCT_RANKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/synth/example_random.h"
#include "data/synth/zipf.h"

namespace ps {

// kOneEach: each id of a row gets a random number of its own, as rows with values need.
enum class Coins { kNone, kOneEach };

// Scratch memory of one thread.  Reused, it allocates nothing per row once it has grown.
class DistinctRanks {
 public:
  // Replaces the ranks by `count` <= law.num_ranks() distinct ones, in the order drawn.  With kOneEach, the
  // random number that follows the numbers of a rank becomes its coin.
  void draw(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom& random);

  std::span<const uint64_t> ranks() const { return std::span(ranks_).first(num_drawn_); }
  std::span<const uint64_t> coins() const {
    return std::span(coins_).first(num_drawn_);
  }  // 64 random bits each

 private:
  // The ranks of this row.  Open addressing: a slot holds rank + 2^48 round, and is taken when its round is
  // the current one, so that the set is emptied in constant time.
  struct Set {
    uint64_t* slots;
    uint64_t round;  // times 2^48
    int shift;       // 64 - log2 of the number of slots

    bool insert(uint64_t rank);
  };

  Set begin_row(uint64_t count);
  void draw_few(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom& random);
  template <Coins kCoins>
  uint64_t draw_some(const ZipfLaw& law, uint64_t count, uint64_t draws, Set seen, ExampleRandom& random);

  // The most random numbers drawn ahead; a row of 40 ids needs about 85.
  static constexpr size_t kMostAhead = 128;

  std::vector<uint64_t> slots_;
  uint64_t round_ = 0;                   // in [1, 2^16) from the first row on
  std::vector<uint64_t> ranks_, coins_;  // the first num_drawn_ count
  size_t num_drawn_ = 0;
  std::array<uint64_t, kMostAhead + 2> numbers_;  // drawn ahead
  std::array<uint32_t, kMostAhead + 2> columns_;  // results of the law's first step for each of numbers_
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_DISTINCT_RANKS_H_
