// The ledger of what a shard holds: each account has what was taken from it and not given back.
#include "ps/server/held_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace ps::held_bytes_test {
namespace {

using testing::HasSubstr;

class HeldBytesTest : public testing::Test {
 protected:
  static constexpr HeldPeer kTrainer = 3, kReader = kFirstReader + 5;

  uint64_t in_use(HeldKind kind) const { return held_.bytes_in_use(kind); }

  std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(5000);
  TableMemory tables_{budget_, {}};
  ShardCounters counters_;
  HeldMemory held_{1000, tables_, counters_};
};

TEST_F(HeldBytesTest, GoBackWhenTheyAreDestroyed) {
  {
    const HeldBytes pull = held_.take(kTrainer, HeldKind::kPulls, 300),
                    push = held_.take(kTrainer, HeldKind::kPushes, 200);
    EXPECT_EQ(pull.bytes(), 300u);
    EXPECT_EQ(in_use(HeldKind::kPulls), 300u);
    EXPECT_EQ(in_use(HeldKind::kPushes), 200u);
    EXPECT_EQ(held_.bytes_in_use(), 500u);
  }
  EXPECT_EQ(held_.bytes_in_use(), 0u);
  EXPECT_EQ(in_use(HeldKind::kPulls), 0u);
}

TEST_F(HeldBytesTest, GoBackOnceWhenTheyWereMoved) {
  HeldBytes first = held_.take(kTrainer, HeldKind::kPulls, 300);
  HeldBytes second = std::move(first);
  EXPECT_EQ(held_.bytes_in_use(), 300u);
  second = held_.take(kTrainer, HeldKind::kPulls, 100);
  EXPECT_EQ(held_.bytes_in_use(), 100u) << "what it had before is given back at once";
  second = HeldBytes();
  EXPECT_EQ(held_.bytes_in_use(), 0u);
}

TEST_F(HeldBytesTest, ChangeTheirAccount) {
  HeldBytes pull = held_.take(kTrainer, HeldKind::kPulls, 300), nothing;
  held_.move(pull, HeldKind::kPullHistory);
  held_.move(nothing, HeldKind::kPullHistory);
  EXPECT_EQ(in_use(HeldKind::kPulls), 0u);
  EXPECT_EQ(in_use(HeldKind::kPullHistory), 300u);
  EXPECT_EQ(held_.bytes_in_use(), 300u);
  pull = HeldBytes();
  EXPECT_EQ(in_use(HeldKind::kPullHistory), 0u);
}

TEST_F(HeldBytesTest, ARequestWithoutRoomTakesNothingAndIsCounted) {
  const HeldBytes most = held_.take(kTrainer, HeldKind::kTrainers, 900);
  EXPECT_TRUE(held_.has_room(100));
  EXPECT_FALSE(held_.has_room(101));
  const Error error = error_of([&] { (void)held_.take(kTrainer, HeldKind::kGatherings, 101); });
  EXPECT_EQ(error.code(), Code::kExhausted);
  EXPECT_THAT(error.message(), HasSubstr("--max-memory"));
  EXPECT_EQ(counters_.refused_for_memory, 1u);
  EXPECT_EQ(held_.bytes_in_use(), 900u);
  EXPECT_EQ(held_.take(kTrainer, HeldKind::kGatherings, 100).bytes(), 100u) << "exactly what is left";
  EXPECT_EQ(error_of([&] { (void)held_.take(kTrainer, HeldKind::kPulls, UINT64_MAX); }).code(),
            Code::kExhausted);
}

TEST_F(HeldBytesTest, NothingMayBeTakenAndGivenBack) {
  HeldBytes some = held_.take(kTrainer, HeldKind::kPulls, 10);
  const HeldBytes none = held_.take(kTrainer, HeldKind::kTrainers, 0);
  some = HeldBytes();
  EXPECT_EQ(held_.bytes_of(kTrainer), 0u);
}

TEST_F(HeldBytesTest, EachPeerHasAnAccount) {
  HeldBytes pull = held_.take(kTrainer, HeldKind::kPulls, 300);
  const HeldBytes push = held_.take(kTrainer, HeldKind::kPushes, 200),
                  read = held_.take(kReader, HeldKind::kPulls, 50);
  EXPECT_EQ(held_.bytes_of(kTrainer), 500u);
  EXPECT_EQ(held_.bytes_of(kReader), 50u);
  EXPECT_EQ(held_.bytes_of(kTrainer + 1), 0u);
  held_.move(pull, HeldKind::kPullHistory);
  EXPECT_EQ(held_.bytes_of(kTrainer), 500u);
  pull = HeldBytes();
  EXPECT_EQ(held_.bytes_of(kTrainer), 200u);
}

TEST_F(HeldBytesTest, ReadersLeaveThreeQuartersToTrainers) {
  HeldBytes first = held_.take(kReader, HeldKind::kPulls, 200);
  EXPECT_TRUE(held_.has_room(kReader + 1, 50));
  EXPECT_FALSE(held_.has_room(kReader + 1, 51)) << "readers share a quarter";
  EXPECT_EQ(error_of([&] { (void)held_.take(kReader + 1, HeldKind::kPulls, 51); }).code(), Code::kExhausted);
  const HeldBytes trainers = held_.take(kTrainer, HeldKind::kPushes, 800);
  first = HeldBytes();
  EXPECT_TRUE(held_.has_room(kReader + 1, 200));
  EXPECT_FALSE(held_.has_room(kReader + 1, 201)) << "trainers may have taken the readers' quarter";
}

TEST_F(HeldBytesTest, EveryKindIsDescribed) {
  held_.set_unlimited(true);
  const HeldBytes gathered = held_.take(kTrainer, HeldKind::kGatherings, 70), run = held_.take_trainers(1);
  held_.set_chunk_bytes(9);
  std::vector<HeldStatus> kinds;
  held_.describe(kinds);
  std::map<std::string, uint64_t> bytes;
  for (const HeldStatus& kind : kinds) bytes[kind.kind] = kind.bytes;
  EXPECT_EQ(bytes.size(), kNumHeldKinds + 2);
  EXPECT_EQ(bytes["gatherings"], 70u);
  EXPECT_EQ(bytes["trainers"], run.bytes());
  EXPECT_EQ(bytes["state chunks"], 9u);
}

// A run that begins has room beside nothing; requests of the run before may go a little later.
TEST_F(HeldBytesTest, TheTrainersOfARunHaveTheirMemoryBesideWhatTheLastRunLeft) {
  const HeldBytes left = held_.take(kTrainer, HeldKind::kCheckpoints, 1000);
  EXPECT_FALSE(held_.has_room(1));
  const HeldBytes trainers = held_.take_trainers(1);
  EXPECT_EQ(held_.bytes_in_use(), 1000 + trainers.bytes());
  EXPECT_EQ(error_of([&] { held_.check_trainers(1000); }).code(), Code::kExhausted);
}

TEST_F(HeldBytesTest, RowsThatWaitCountToo) {
  const Buffer rows = held_.pool().take(512);
  EXPECT_GE(held_.bytes_in_use(), 512u);
  EXPECT_FALSE(held_.has_room(600));
}

TEST_F(HeldBytesTest, NothingIsRefusedWithoutALimit) {
  held_.set_unlimited(true);
  HeldBytes much = held_.take(kTrainer, HeldKind::kPushes, 10'000);
  EXPECT_EQ(held_.bytes_in_use(), 10'000u);
  held_.set_unlimited(false);
  EXPECT_FALSE(held_.has_room(0)) << "more is held than may be";
  much = HeldBytes();
  EXPECT_TRUE(held_.has_room(1000));
}

// State chunks lie in memory of the tables where there is no room beside the rows that wait.
TEST_F(HeldBytesTest, ChunksTakeMemoryOfTheTablesWhenTheyAreTooMany) {
  EXPECT_TRUE(held_.set_chunk_bytes(1000));
  EXPECT_EQ(budget_->used_bytes(), 0u);
  EXPECT_TRUE(held_.set_chunk_bytes(4000));
  EXPECT_GE(budget_->used_bytes(), 4000u);
  EXPECT_FALSE(held_.set_chunk_bytes(6000));
  EXPECT_TRUE(held_.set_chunk_bytes(0));
  EXPECT_EQ(budget_->used_bytes(), 0u);
}

TEST(MemoryOf, SlicesCountTheirKeysAndCounts) {
  RowSlice range, keys;
  range.by_keys = false;
  range.count = 1'000'000;
  keys.keys = {1, 2, 3};
  RowSlice counted = keys;
  counted.counts.resize(3);
  EXPECT_EQ(memory_of(std::vector{range}), sizeof(RowSlice)) << "rows of a range are not in memory";
  EXPECT_EQ(memory_of(std::vector{keys}), sizeof(RowSlice) + 24);
  EXPECT_EQ(memory_of(std::vector{range, keys, counted}), 3 * sizeof(RowSlice) + 48 + 3 * sizeof(KeyCount));
}

}  // namespace
}  // namespace ps::held_bytes_test
