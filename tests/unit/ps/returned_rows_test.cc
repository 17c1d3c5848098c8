// Trainers that train rows themselves: a shard sets those that come back from their owner once, says whose rows were lost, and
// makes all of it again from its log.
#include <cmath>
#include <limits>

#include "ps/server/shard_replay.h"
#include "ps/wire/row_owner.h"
#include "ps/wire/stored_rows.h"
#include "shard_test.h"

namespace ps::returned_rows_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

// Rows whose weights are all `weight`.
std::string message(uint64_t number, std::vector<uint64_t> keys, float weight) {
  RowBlock rows;
  rows.values.assign(2 * keys.size(), weight);
  rows.keys = std::move(keys);
  return encode_returned_rows({number, {{0, rows}}});
}

TEST_F(ShardTest, ARowThatComesBackIsSetOnce) {
  make(1);
  shard_->return_rows(0, message(1, {1, 2}, 5));
  shard_->return_rows(0, message(2, {2}, 6));
  shard_->return_rows(0, message(1, {1, 2}, 5));
  EXPECT_THAT(weights({1, 2}), ElementsAre(5, 6)) << "the first message came again, late";
}

TEST_F(ShardTest, ReturnedRowsThatAreNotNumbersAreRefusedAndCounted) {
  make(1);
  shard_->return_rows(0, message(1, {1, 2}, 5));
  const float infinite = std::numeric_limits<float>::infinity();
  uint64_t refused = 0;
  for (const float bad : {infinite, -infinite, std::nanf("")}) {
    EXPECT_THAT(refusal([&] { shard_->return_rows(0, message(2, {2}, bad)); }, Code::kData),
                HasSubstr("have values that are not finite"));
    EXPECT_EQ(shard_->counters().refused_not_finite, ++refused);
  }
  EXPECT_THAT(weights({1, 2}), ElementsAre(5, 5));
  shard_->return_rows(0, message(2, {2}, 6));
  EXPECT_THAT(weights({1, 2}), ElementsAre(5, 6)) << "the number of a refused message is free";
}

TEST_F(ShardTest, AnotherProcessCountsItsMessagesAnew) {
  make(1);
  shard_->return_rows(0, message(9, {1}, 5));
  leave(0, 1, 1);
  join(0, 1, 7);
  shard_->return_rows(0, message(1, {1}, 6));
  EXPECT_THAT(weights({1}), ElementsAre(6));
}

TEST_F(ShardTest, OfSeveralTrainersEachReturnsTheRowsThatItOwns) {
  make(2);
  for (uint64_t key : {1, 2, 3, 4}) {
    const int owner = row_owner(key, 2);
    EXPECT_THAT(refusal([&] { shard_->return_rows(1 - owner, message(key, {key}, 7)); }, Code::kData),
                HasSubstr(cat("of 2 trainers, trainer ", owner, " trains the row of key ", key,
                              ", and not trainer ", 1 - owner)));
    shard_->return_rows(owner, message(key, {key}, static_cast<float>(key)));
  }
  EXPECT_THAT(weights({1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
}

// Counts the owners of neighbouring keys, and of those keys that the first of two devices has.
TEST(RowOwners, EachHasAsManyRowsAsTheOthers) {
  EXPECT_EQ(row_owner(0, 1), 0);
  for (int trainers : {2, 3, 8}) {
    std::vector<int> owned(static_cast<size_t>(trainers)), of_a_device = owned;
    for (uint64_t key = 0; key < 24000; ++key) {
      const int owner = row_owner(key, trainers);
      ASSERT_TRUE(owner >= 0 && owner < trainers) << key;
      ++owned[static_cast<size_t>(owner)];
      of_a_device[static_cast<size_t>(owner)] += (hash_key(key) & 0xffffffff) < 0x80000000;
    }
    EXPECT_THAT(owned, Each(AllOf(Ge(24000 / trainers * 9 / 10), Le(24000 / trainers * 11 / 10))));
    EXPECT_THAT(of_a_device, Each(AllOf(Ge(12000 / trainers * 9 / 10), Le(12000 / trainers * 11 / 10))));
  }
  EXPECT_EQ(row_owner(17, 8), 2) << "a change of the protocol";
}

TEST_F(ShardTest, StepsWithoutGradientsLeaveRowsAsTheyCameBack) {
  make(1);
  shard_->return_rows(0, message(1, {1}, 5));
  push_body(0, encode_push({.step = 0, .info = {1, 0}}, 0, ""));
  EXPECT_EQ(shard_->counters().steps, 1u);
  EXPECT_THAT(weights({1}), ElementsAre(5));
}

TEST_F(ShardTest, WhoTakesARankUpHearsThatRowsWereLost) {
  make(1);
  uint64_t generation = 1;
  auto take_up = [&] {
    leave(0, 1, generation);
    return join(0, 1, ++generation);
  };
  EXPECT_FALSE(take_up().has_rows);
  shard_->return_rows(0, encode_returned_rows({1, {}}));
  EXPECT_TRUE(take_up().has_rows) << "a message without rows says it too";
  push_body(0, encode_push({.step = 0, .info = {1, 0}}, 0, ""));
  EXPECT_TRUE(take_up().has_rows);
  push_body(0, encode_push({.step = 1, .info = {1, 0}, .begins_checkpoint = true}, 0, ""));
  EXPECT_FALSE(take_up().has_rows) << "all rows are back before a checkpoint begins";
  shard_->return_rows(0, encode_returned_rows({1, {}}));
  push_end(0, 2);
  EXPECT_FALSE(take_up().has_rows) << "and at the end of a pass";
}

TEST_F(ShardTest, RowsThatCameBackComeBackFromTheLogToo) {
  make(0);
  struct Change {
    ShardEvent event;
    int rank;
    std::string body;
  };
  std::vector<Change> changes;
  shard_->on_change([&](ShardEvent event, int rank, std::string_view body) {
    changes.push_back({event, rank, std::string(body)});
  });
  join(0, 1, 1);
  shard_->return_rows(0, message(1, {1, 2}, 5));
  shard_->return_rows(0, message(1, {1, 2}, 5));
  push_body(0, encode_push({.step = 0, .info = {1, 0}}, 0, ""));
  shard_->return_rows(0, message(2, {2}, 6));
  EXPECT_EQ(changes.size(), 5u) << "a message that comes again is no change";
  make(0);
  ShardReplay replay(*shard_);
  for (const Change& change : changes) replay.add(change.event, change.rank, change.body, now_);
  replay.end(now_);
  EXPECT_THAT(weights({1, 2}), ElementsAre(5, 6));
  leave(0, 1, 1);
  EXPECT_TRUE(join(0, 1, 2).has_rows);
}

}  // namespace
}  // namespace ps::returned_rows_test
