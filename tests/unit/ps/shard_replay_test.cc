// A shard that makes its changes again becomes the same, wherever the log ends, and goes on the same.
#include "ps/server/shard_replay.h"
#include "base/hash.h"
#include "base/random.h"
#include "shard_test.h"
#include "support/environment.h"

namespace ps::shard_replay_test {
namespace {

struct Change {
  ShardEvent event;
  int rank;
  std::string body;
};

class ReplayTest : public ShardTest, public testing::WithParamInterface<Consistency> {
 protected:
  ReplayTest() {
    place_ = {.num_dense = 2};  // answers to pulls are remembered
    loss_.go_on = true;
  }

  void begin() {
    make(0, GetParam());
    watch();
    cuts_.clear();
    shard_->checkpoints().on_checkpoint(
        [this](uint64_t step, bool) {
          cuts_.push_back({step, shard_->recovery().save_snapshot(), changes_.size()});
          told_.push_back(kept_of(*shard_));
        },
        [](uint64_t step) { return step % 3 == 0; });
    for (int rank = 0; rank < kTrainers; ++rank) join(rank, kTrainers, 1);
  }
  void watch() {
    shard_->on_change([this](ShardEvent event, int rank, std::string_view body) {
      changes_.push_back({event, rank, std::string(body)});
    });
  }

  // Something that a trainer may do next, as (seed, number) says.
  void act(uint64_t seed, uint64_t number) {
    Random random(seed, number);
    const int rank = static_cast<int>(random.below(kTrainers));
    uint64_t& step = steps_[rank];
    if (random.below(20) == 0) return take_part_anew(rank, number);
    if (random.below(20) == 0) return gather(rank, random.below(3));
    std::vector<uint64_t> keys;
    for (uint64_t key = random.below(5); key < 100; key += 1 + random.below(30)) keys.push_back(key);
    pull(rank, step, keys, ++pulls_);
    if (random.below(3) == 0) return;
    const bool cut = step + 1 == checkpoint_at_[rank];
    const PushHeader header{.step = step, .info = {1, 0}, .begins_checkpoint = cut, .num_slices = 2};
    push_slice(rank, header, keys, static_cast<float>(random.uniform()));
    if (random.below(5) == 0) return;
    PushHeader last = header;
    last.slice = 1;
    if (cut || random.below(4) == 0) last.chunk = cat("chunk of ", rank, " at ", number);
    const OutcomePtr outcome = push_slice(rank, last, keys, 1);
    waiting_[rank] = outcome;
    for (int each = 0; each < kTrainers; ++each) {
      if (!waiting_[each] || waiting_[each]->waits()) continue;
      checkpoint_at_[each] = std::max(checkpoint_at_[each], waiting_[each]->done().checkpoint_at);
      ++steps_[each], waiting_[each] = nullptr;
    }
  }
  void take_part_anew(int rank, uint64_t generation) {
    leave(rank, kTrainers, generations_[rank]);
    generations_[rank] = 1000 + generation;
    const RunStatus run_status = join(rank, kTrainers, generations_[rank]);
    steps_[rank] = run_status.step;
    checkpoint_at_[rank] = run_status.checkpoint_at;
    waiting_[rank] = nullptr;
  }
  // In one, in two pieces, or the first of these alone.
  void gather(int rank, uint64_t way) {
    const std::string all = cat("from ", rank);
    const std::string_view text(all);
    const auto give_piece = [&](uint64_t first, uint64_t count) {
      const uint64_t rest = text.size() - first - count;
      give(rank, {.number = 0, .bytes = text.substr(first, count), .first = first, .rest = rest});
    };
    give_piece(0, way == 0 ? text.size() : 3);
    if (way == 1) give_piece(3, text.size() - 3);
  }

  // Another shard, which is told the snapshot and the changes since, and decides on nothing by itself.
  std::unique_ptr<Shard> again(std::string_view snapshot, size_t since) {
    std::unique_ptr<Shard> first = std::move(shard_);
    make(0, GetParam());
    std::swap(first, shard_);
    cuts_again_.clear();
    told_again_.clear();
    first->checkpoints().on_checkpoint(
        [this, other = first.get()](uint64_t step, bool) {
          cuts_again_.push_back(step);
          told_again_.push_back(kept_of(*other));
        },
        [](uint64_t) { return false; });
    ShardReplay replay(*first);
    if (!snapshot.empty()) replay.load_snapshot(snapshot);
    for (size_t i = since; i < changes_.size(); ++i) {
      const Change& change = changes_[i];
      replay.add(change.event, change.rank, change.body, now_);
    }
    replay.end(now_);
    return first;
  }

  static std::string kept_of(const Shard& shard) {
    std::string all;
    for (const auto& [name, bytes] : shard.trainer_states().chunk_states(ShardPlace{.num_dense = 2}))
      all += name + *bytes;
    return all;
  }

  std::vector<float> table(Shard& shard) {
    std::vector<uint64_t> keys(100);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
    std::string parts;
    encode_key_slice(0, keys, parts);
    return read(shard, parts)->floats(200);
  }

  // The steps of the checkpoints that have begun, but for the first so many.
  std::vector<uint64_t> cuts_behind(size_t count) const {
    std::vector<uint64_t> steps;
    for (size_t i = count; i < cuts_.size(); ++i) steps.push_back(cuts_[i].step);
    return steps;
  }

  static constexpr int kTrainers = 3;

  // A checkpoint that has begun, the shard as it then was, and how many changes there were.
  struct BegunCut {
    uint64_t step;
    std::string snapshot;
    size_t changes;
  };
  std::vector<BegunCut> cuts_;
  std::vector<uint64_t> cuts_again_;
  std::vector<std::string> told_, told_again_;  // what rounding took, as of the checkpoints
  std::vector<Change> changes_;
  uint64_t steps_[kTrainers] = {}, generations_[kTrainers] = {1, 1, 1}, checkpoint_at_[kTrainers] = {};
  OutcomePtr waiting_[kTrainers];
  uint64_t pulls_ = 0;
};

TEST_P(ReplayTest, BecomesTheSameWhereverTheLogEnds) {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(5)); ++seed) {
    SCOPED_TRACE(seed);
    changes_.clear();
    begin();
    std::fill(std::begin(steps_), std::end(steps_), 0);
    std::fill(std::begin(generations_), std::end(generations_), 1);
    std::fill(std::begin(waiting_), std::end(waiting_), nullptr);
    std::fill(std::begin(checkpoint_at_), std::end(checkpoint_at_), 0);
    for (uint64_t number = 0; number < 150; ++number) {
      act(seed, number);
      std::unique_ptr<Shard> other = again("", 0);
      ASSERT_EQ(other->recovery().save_snapshot(), shard_->recovery().save_snapshot()) << number;
      ASSERT_EQ(table(*other), table(*shard_)) << number;
      ASSERT_EQ(cuts_again_, cuts_behind(0)) << number;
    }
    EXPECT_GT(shard_->counters().steps, 5u);
    EXPECT_GT(shard_->counters().trainers_returned, 2u);
    EXPECT_FALSE(cuts_.empty());
  }
}

TEST_P(ReplayTest, ItsSnapshotIsAllThatItRemembersOfItsRun) {
  begin();
  for (uint64_t number = 0; number < 100; ++number) {
    act(77, number);
    const std::string snapshot = shard_->recovery().save_snapshot();
    EXPECT_EQ(again(snapshot, changes_.size())->recovery().save_snapshot(), snapshot) << number;
    for (size_t size = 1; size < snapshot.size();
         size += 1 + snapshot.size() / static_cast<size_t>(tries(50))) {
      EXPECT_THROW(again(std::string_view(snapshot).substr(0, size), changes_.size()), Error) << size;
    }
  }
}

TEST_P(ReplayTest, BeginsTheSameCheckpointsFromWhereOneBegan) {
  begin();
  for (uint64_t number = 0; number < 600; ++number) act(5, number);
  ASSERT_GT(cuts_.size(), 3u);
  for (size_t i = 0; i < cuts_.size(); ++i) {
    again(cuts_[i].snapshot, cuts_[i].changes);
    EXPECT_EQ(cuts_again_, cuts_behind(i + 1)) << i;
    EXPECT_EQ(told_again_, std::vector(told_.begin() + static_cast<ptrdiff_t>(i) + 1, told_.end())) << i;
  }
  EXPECT_THAT(told_, testing::Contains(testing::HasSubstr("chunk of")));
}

// Logs of this version hold these bytes: whoever changes them raises the version of logs.
TEST_P(ReplayTest, SnapshotsAndEventsAreTheBytesThatTheyWere) {
  const uint64_t expected = GetParam().async           ? 12629419950471097009u
                            : GetParam().staleness > 0 ? 14025109039817384962u
                                                       : 16091111862570950818u;
  begin();
  for (uint64_t number = 0; number < 300; ++number) act(5, number);
  std::string all = shard_->recovery().save_snapshot();
  for (const BegunCut& cut : cuts_) all += cut.snapshot;
  for (const Change& change : changes_) {
    put(all, change.event);
    put(all, static_cast<int32_t>(change.rank));
    all += change.body;
  }
  EXPECT_EQ(hash_bytes(all), expected);
}

using AheadReplayTest = ShardTest;

TEST_F(AheadReplayTest, ASnapshotKnowsWhichPushesAllShardsHold) {
  constexpr Consistency kAhead{.ahead = 3};
  make(2, kAhead);
  for (const uint64_t step : {0, 1}) {
    for (const int rank : {0, 1}) push(rank, step, {1}, 1);
    commit(0, step, {});
  }
  const std::string snapshot = shard_->recovery().save_snapshot();
  make(0, kAhead);
  ShardReplay replay(*shard_);
  replay.load_snapshot(snapshot);
  replay.end(now_);
  EXPECT_EQ(shard_->recovery().save_snapshot(), snapshot);
  EXPECT_EQ(shard_->steps().clock(), 0u);
  for (const uint64_t step : {0, 1}) commit(1, step, {});
  EXPECT_EQ(shard_->steps().clock(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Modes, ReplayTest,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true, .max_lag = 4}));

// A run that others may join is another event: its ranks come behind the trainers with whom it began.
TEST_F(AheadReplayTest, ARunKnowsAgainWhoMayJoinIt) {
  loss_.go_on = true;
  const auto come = [this](int rank) {
    shard_->membership().join({.rank = rank, .trainers = 2, .generation = 9, .max_trainers = 4}, now_);
  };
  make(0);
  std::vector<Change> changes;
  shard_->on_change([&](ShardEvent event, int rank, std::string_view body) {
    changes.push_back({event, rank, std::string(body)});
  });
  for (int rank : {0, 1, 3}) come(rank);
  for (int rank : {0, 1, 3}) push(rank, 0, {1}, 1);
  shard_->membership().leave_run(3, now_);
  const std::string snapshot = shard_->recovery().save_snapshot();
  ASSERT_EQ(changes[0].event, ShardEvent::kRun);
  EXPECT_EQ(changes[0].body.size(), 16u);
  for (const bool by_snapshot : {false, true}) {
    make(0);
    ShardReplay replay(*shard_);
    if (by_snapshot) replay.load_snapshot(snapshot);
    for (const Change& change : changes) {
      if (!by_snapshot) replay.add(change.event, change.rank, change.body, now_);
    }
    replay.end(now_);
    EXPECT_EQ(shard_->recovery().save_snapshot(), snapshot);
    EXPECT_EQ(shard_->steps().clock(), 1u);
    for (int rank : {2, 3}) EXPECT_TRUE(shard_->roster().is_given_up(rank));
    for (int rank : {0, 1}) push(rank, 1, {1}, 1);
    EXPECT_EQ(shard_->steps().clock(), 2u);
  }
}

TEST_F(AheadReplayTest, ARunOfFewerRanksThanTrainersIsRefused) {
  make(0);
  ShardReplay replay(*shard_);
  replay.add(ShardEvent::kRun, 0, event_of_numbers(uint64_t{5}, uint32_t{3}, uint32_t{2}), now_);
  EXPECT_THROW(replay.end(now_), Error);
}

}  // namespace
}  // namespace ps::shard_replay_test
