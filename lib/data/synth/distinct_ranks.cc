#include "data/synth/distinct_ranks.h"

#include <algorithm>
#include <bit>

namespace ps {

namespace {

constexpr int kRankBits = 48;

// Returns the size of the hash set for a row of so many ids.  It is so large that collisions are rare; 40 ids
// take 4 KB, and rows of usual length at most 16 KB.
constexpr uint64_t slots_for(uint64_t ranks) {
  return std::bit_ceil(std::max<uint64_t>(2, ranks <= 256 ? 8 * ranks : 2 * ranks + 2));
}

// Returns how many random numbers are drawn ahead: enough for most rows, repeated ids included.
constexpr uint64_t ahead_for(uint64_t ranks, Coins coins) {
  return ranks * 9 / 4 + 1 + (coins == Coins::kOneEach ? ranks : 0);
}

// A steep law would draw the same few ids for a very long time.  After so many draws, the row is filled up
// with the most frequent ids that are not drawn yet, which further draws would most likely have given.
constexpr uint64_t most_draws(uint64_t count) {
  return 16 * count + 64;
}

// Rows of up to so many ids are drawn by draw_few.
constexpr uint64_t kFew = 8;

}  // namespace

DistinctRanks::Set DistinctRanks::begin_row(uint64_t count) {
  size_t slots = slots_for(count);
  if (slots > slots_.size()) slots_.assign(slots, round_ = 0);
  if (++round_ == uint64_t{1} << (64 - kRankBits)) {
    std::fill(slots_.begin(), slots_.end(), 0);
    round_ = 1;
  }
  if (ranks_.size() < count) ranks_.resize(count), coins_.resize(count);
  num_drawn_ = 0;
  return {slots_.data(), round_ << kRankBits, 64 - std::countr_zero(slots)};
}

// Returns false if the set has the rank already.  Has no branch for that: repeated ranks are common, and no
// branch predictor can guess them.
inline bool DistinctRanks::Set::insert(uint64_t rank) {
  uint64_t entry = rank | round, slot = rank * 0x9e3779b97f4a7c15ULL >> shift, difference;
  // A slot that another rank of this round occupies differs from `entry` in the low kRankBits bits alone; a
  // free slot differs in the high bits too.  So the loop probes on exactly while 1 <= difference <
  // 2^kRankBits.
  while ((difference = slots[slot] ^ entry) - 1 < (uint64_t{1} << kRankBits) - 1)
    slot = (slot + 1) & (~uint64_t{0} >> shift);
  slots[slot] = entry;
  return difference != 0;
}

// Adds ranks until there are `count` of them, or `draws` draws are done, or the numbers drawn ahead are used
// up.  Returns how many of `draws` remain.
//
// How many random numbers a draw consumes is known only after its first step, so each draw would depend on
// the result of the one before.  Therefore a first loop computes the first step for every number, as if a
// draw began at each; in the second loop, a draw depends on the one before by an addition alone.
template <Coins kCoins>
uint64_t DistinctRanks::draw_some(const ZipfLaw& law, uint64_t count, uint64_t draws, Set seen,
                                  ExampleRandom& random) {
  // Each draw consumes at least one number, so no more numbers than draws are needed.
  size_t ahead = std::min({ahead_for(count - num_drawn_, kCoins), uint64_t{kMostAhead}, draws});
  for (size_t i = 0; i < ahead + 2; ++i) {
    numbers_[i] = random.peek64(i);
    columns_[i] = law.column(numbers_[i]);
  }
  size_t at = 0, taken = num_drawn_;
  uint64_t *ranks = ranks_.data(), *row_coins = coins_.data();
  while (at < ahead && taken < count) {
    ZipfLaw::Draw drawn = law.finish(columns_[at], numbers_[at + 1]);
    at += drawn.numbers;
    if (!drawn.kept) [[unlikely]]
      continue;
    size_t fresh = seen.insert(drawn.rank);
    ranks[taken] = drawn.rank;
    if constexpr (kCoins == Coins::kOneEach) {
      row_coins[taken] = numbers_[at];
      at += fresh;
    }
    taken += fresh;
    --draws;
  }
  random.skip(at);
  num_drawn_ = taken;
  return draws;
}

// Draws the same ranks one at a time, for rows so short that comparing a rank with all others is faster than
// a hash set.
void DistinctRanks::draw_few(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom& random) {
  uint64_t draws = most_draws(count);
  for (uint64_t next = 0; num_drawn_ < count;) {
    uint64_t rank = draws > 0 ? law.draw(random) : next++;
    if (draws > 0) --draws;
    if (std::ranges::find(ranks(), rank) != ranks().end()) continue;
    ranks_[num_drawn_] = rank;
    if (coins == Coins::kOneEach) coins_[num_drawn_] = random.next64();
    ++num_drawn_;
  }
}

// Long rows are drawn by draw_some until they are complete, or most_draws(count) draws are done.  The last
// loop fills up a row of a law so steep that this was not enough.
void DistinctRanks::draw(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom& random) {
  Set seen = begin_row(count);
  if (count <= kFew) return draw_few(law, count, coins, random);
  auto some = [&](auto&&... rest) {
    return coins == Coins::kNone ? draw_some<Coins::kNone>(rest...) : draw_some<Coins::kOneEach>(rest...);
  };
  for (uint64_t draws = most_draws(count); num_drawn_ < count && draws > 0;)
    draws = some(law, count, draws, seen, random);
  for (uint64_t rank = 0; num_drawn_ < count; ++rank) {
    if (!seen.insert(rank)) continue;
    ranks_[num_drawn_] = rank;
    if (coins == Coins::kOneEach) coins_[num_drawn_] = random.next64();
    ++num_drawn_;
  }
}

}  // namespace ps
