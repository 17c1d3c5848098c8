// Rows of distinct ranks, drawn many at a time, against ranks drawn one by one.
#include "data/synth/distinct_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace ps::distinct_ranks_test {

struct DrawnRow {
  std::vector<uint64_t> ranks, coins;
  uint64_t next;  // the random number after the row's

  bool operator==(const DrawnRow&) const = default;
};

static DrawnRow one_by_one(const ZipfLaw& law, uint64_t count, Coins coins, ExampleRandom random) {
  DrawnRow row;
  std::set<uint64_t> seen;
  uint64_t draws = 16 * count + 64;
  for (uint64_t rank = 0; row.ranks.size() < count;) {
    uint64_t drawn = draws > 0 ? law.draw(random) : rank++;
    draws -= draws > 0;
    if (!seen.insert(drawn).second) continue;
    row.ranks.push_back(drawn);
    if (coins == Coins::kOneEach) row.coins.push_back(random.next64());
  }
  row.next = random.next64();
  return row;
}

static DrawnRow together(DistinctRanks& scratch, const ZipfLaw& law, uint64_t count, Coins coins,
                         ExampleRandom random) {
  scratch.draw(law, count, coins, random);
  DrawnRow row{{scratch.ranks().begin(), scratch.ranks().end()}, {}, random.next64()};
  if (coins == Coins::kOneEach) row.coins.assign(scratch.coins().begin(), scratch.coins().end());
  return row;
}

TEST(DistinctRanks, AreThoseThatOneDrawAfterTheOtherGives) {
  struct Law {
    uint64_t ranks;
    double exponent;
  };
  DistinctRanks scratch;
  // Ranks drawn singly only, rows of nearly all ranks, the steepest law, the flattest, and the largest.
  for (Law chosen : {Law{1000, 1.1}, {300, 1.0}, {5000, 10}, {1 << 20, 0}, {uint64_t{1} << 48, 0.9}}) {
    ZipfLaw law(chosen.ranks, chosen.exponent);
    for (uint64_t count : {0, 1, 2, 8, 9, 40, 41, 299, 300}) {
      for (Coins coins : {Coins::kNone, Coins::kOneEach}) {
        ExampleRandom random(7, Purpose::kExample, count);
        ASSERT_EQ(together(scratch, law, count, coins, random), one_by_one(law, count, coins, random))
            << count << " of " << chosen.ranks << " ranks, exponent " << chosen.exponent;
      }
    }
  }
}

TEST(DistinctRanks, StayDistinctAfterMoreRowsThanTheSetCounts) {
  ZipfLaw law(20, 0);
  DistinctRanks scratch;
  for (uint64_t row = 0; row < 140'000; ++row) {
    ExampleRandom random(1, Purpose::kExample, row);
    scratch.draw(law, 20, Coins::kNone, random);
    std::vector<bool> seen(20);
    for (uint64_t rank : scratch.ranks()) seen[rank] = true;
    ASSERT_EQ(std::ranges::count(seen, true), 20) << "row " << row;
  }
}

}  // namespace ps::distinct_ranks_test
