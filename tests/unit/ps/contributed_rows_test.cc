// Contributions that are given out in slices of a range of keys.
#include "ps/server/contributed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

namespace ps::contributed_rows_test {
namespace {

using testing::ElementsAre;

// Contributions of width 2: the values of row n of a contribution are its number + n / 1000.
class ContributedRowsTest : public testing::Test {
 protected:
  void add(std::vector<uint64_t> keys, int trainer = 0) {
    RowSlice& slice = slices_.emplace_back();
    slice.keys = std::move(keys);
    std::vector<float>& floats = floats_.emplace_back();
    for (size_t n = 0; n < slice.keys.size(); ++n)
      floats.insert(floats.end(), 2, static_cast<float>(slices_.size()) + static_cast<float>(n) / 1000);
    contributions_.push_back({&slice, floats.data(), trainer, 1});
  }

  // All slices in turn: for each, the keys that it has of each contribution.
  std::vector<std::vector<std::vector<uint64_t>>> slices(uint64_t most) {
    rows_.begin(contributions_, 2);
    std::vector<std::vector<std::vector<uint64_t>>> all;
    std::vector<RowsOfOne> some;
    while (!rows_.ended()) {
      rows_.next(most, some);
      all.emplace_back();
      for (const RowsOfOne& rows : some) all.back().emplace_back(rows.keys.begin(), rows.keys.end());
    }
    return all;
  }

  std::deque<RowSlice> slices_;
  std::deque<std::vector<float>> floats_;
  std::vector<Contribution> contributions_;
  ContributedRows rows_;
};

TEST_F(ContributedRowsTest, SliceHasTheRowsOfAllTrainersUpToAKey) {
  add({1, 3, 5, 7}, 0);
  add({2, 3, 9}, 1);
  EXPECT_THAT(slices(100), ElementsAre(ElementsAre(ElementsAre(1, 3, 5, 7), ElementsAre(2, 3, 9))));
  const auto some = slices(2);
  ASSERT_GT(some.size(), 1u);
  EXPECT_THAT(some.front(), ElementsAre(ElementsAre(1), ElementsAre(2)));
  std::map<uint64_t, size_t> last_of;  // the slice in which a key was
  for (size_t s = 0; s < some.size(); ++s) {
    for (const auto& keys : some[s]) {
      for (uint64_t key : keys) EXPECT_EQ(last_of.try_emplace(key, s).first->second, s) << "key " << key;
    }
  }
  EXPECT_EQ(last_of.size(), 6u);
}

TEST_F(ContributedRowsTest, SlicesOfOneTrainersPushAreAChainWithoutCommonKeys) {
  add({1, 2});
  add({3, 8});
  rows_.begin(contributions_, 2);
  EXPECT_TRUE(rows_.lie_apart());
  add({8}, 1);
  rows_.begin(contributions_, 2);
  EXPECT_FALSE(rows_.lie_apart());
}

TEST_F(ContributedRowsTest, NothingIsLeftOfContributionsWithoutRows) {
  add({});
  rows_.begin(contributions_, 2);
  EXPECT_TRUE(rows_.ended());
  EXPECT_TRUE(rows_.lie_apart());
}

// Every row comes once, with its own values, in ascending slices, whatever the sizes.
TEST_F(ContributedRowsTest, RandomContributionsComeWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    slices_.clear(), floats_.clear(), contributions_.clear();
    size_t expected = 0;
    for (int trainer = 0; trainer < 3; ++trainer) {
      std::set<uint64_t> keys;
      for (uint64_t n = random() % 20; n > 0; --n) keys.insert(random() % 50);
      expected += keys.size();
      add({keys.begin(), keys.end()}, trainer);
    }
    const uint64_t most = 1 + random() % 12;
    rows_.begin(contributions_, 2);
    std::vector<RowsOfOne> some;
    size_t num_rows = 0;
    uint64_t before = 0;  // all keys of the slices so far are below
    while (!rows_.ended()) {
      rows_.next(most, some);
      uint64_t end = before;
      for (const RowsOfOne& rows : some) {
        ASSERT_FALSE(rows.keys.empty());
        EXPECT_GE(rows.keys.front(), before);
        end = std::max(end, rows.keys.back() + 1);
        num_rows += rows.keys.size();
        const size_t from = static_cast<size_t>(rows.floats[0]) - 1;
        const std::vector<uint64_t>& all = slices_[from].keys;
        const auto first = std::ranges::find(all, rows.keys.front());
        EXPECT_EQ(rows.floats, floats_[from].data() + 2 * (first - all.begin()));
      }
      before = end;
    }
    EXPECT_EQ(num_rows, expected) << "slices of " << most;
  }
}

}  // namespace
}  // namespace ps::contributed_rows_test
