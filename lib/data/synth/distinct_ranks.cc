#include "data/synth/distinct_ranks.h"

#include <algorithm>
#include <bit>

namespace ps {

namespace {

constexpr int kRankBits = 48;

// With so many places few ids of a row meet another's; those of 40 ids take 4 KB, and none of the usual rows
// takes more than 16.
constexpr uint64_t places_for(uint64_t ranks) {
  return std::bit_ceil(std::max<uint64_t>(2, ranks <= 256 ? 8 * ranks : 2 * ranks + 2));
}

// Random numbers that are enough for most rows of 40 ids, repeats included.
constexpr uint64_t ahead_for(uint64_t ranks, Coins coins) {
  return ranks * 9 / 4 + 1 + (coins == Coins::kOneEach ? ranks : 0);
}

// A steep law draws the same few ids for ever: after so many draws, the most frequent ids not yet drawn
// follow, which is what drawing on would most likely have given.
constexpr uint64_t most_draws(uint64_t count) {
  return 16 * count + 64;
}

// Rows of up to so many are drawn by draw_few.
constexpr uint64_t kFew = 8;

}  // namespace

DistinctRanks::Set DistinctRanks::begin_row(uint64_t count) {
  size_t places = places_for(count);
  if (places > places_.size()) places_.assign(places, round_ = 0);
  if (++round_ == uint64_t{1} << (64 - kRankBits)) {
    std::fill(places_.begin(), places_.end(), 0);
    round_ = 1;
  }
  if (ranks_.size() < count) ranks_.resize(count), coins_.resize(count);
  taken_ = 0;
  return {places_.data(), round_ << kRankBits, 64 - std::countr_zero(places)};
}

// False when the rank was there.  Has no branch for that, since nobody could guess it: many draws are of
// ranks that are drawn often.
inline bool DistinctRanks::Set::insert(uint64_t rank) {
  uint64_t entry = rank | round, place = rank * 0x9e3779b97f4a7c15ULL >> shift, difference;
  // Another rank of this round differs in the low bits alone.
  while ((difference = places[place] ^ entry) - 1 < (uint64_t{1} << kRankBits) - 1)
    place = (place + 1) & (~uint64_t{0} >> shift);
  places[place] = entry;
  return difference != 0;
}

// Takes ranks until there are `count`, or `draws` are done, or the numbers drawn ahead are used up.  Returns
// how many draws are left.
//
// How many numbers a draw takes is known only after its first one, so that a draw would wait for the one
// before.  Therefore the first step is made for every number, whether a draw begins there or not; what is
// left to wait for is an addition.
template <Coins kCoins>
uint64_t DistinctRanks::draw_some(const ZipfLaw& law, uint64_t count, uint64_t draws, Set seen,
                                  ExampleRandom& random) {
  // A draw takes a number at least, so that there are draws for all of them.
  size_t ahead = std::min({ahead_for(count - taken_, kCoins), uint64_t{kMostAhead}, draws});
  for (size_t i = 0; i < ahead + 2; ++i) {
    numbers_[i] = random.peek64(i);
    columns_[i] = law.column(numbers_[i]);
  }
  size_t at = 0, taken = taken_;
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
  taken_ = taken;
  return draws;
}

// The same ranks, one at a time, for rows so short that a look at all ranks is less than a set.
void DistinctRanks::draw_few(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom& random) {
  uint64_t draws = most_draws(count);
  for (uint64_t next = 0; taken_ < count;) {
    uint64_t rank = draws > 0 ? law.draw(random) : next++;
    if (draws > 0) --draws;
    if (std::ranges::find(ranks(), rank) != ranks().end()) continue;
    ranks_[taken_] = rank;
    if (coins == Coins::kOneEach) coins_[taken_] = random.next64();
    ++taken_;
  }
}

void DistinctRanks::draw(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom& random) {
  Set seen = begin_row(count);
  if (count <= kFew) return draw_few(law, count, coins, random);
  auto some = [&](auto&&... rest) {
    return coins == Coins::kNone ? draw_some<Coins::kNone>(rest...) : draw_some<Coins::kOneEach>(rest...);
  };
  for (uint64_t draws = most_draws(count); taken_ < count && draws > 0;)
    draws = some(law, count, draws, seen, random);
  for (uint64_t rank = 0; taken_ < count; ++rank) {
    if (!seen.insert(rank)) continue;
    ranks_[taken_] = rank;
    if (coins == Coins::kOneEach) coins_[taken_] = random.next64();
    ++taken_;
  }
}

}  // namespace ps
