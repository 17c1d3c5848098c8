// The trainers of a run: they join, leave, return, and are given up.
#include "ps/server/run_membership.h"
#include "ps/wire/gather.h"
#include "shard_test.h"

namespace ps::shard_run_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ShardTest, ARankBelongsToOneProcessAtATime) {
  make(2);
  push(0, 0, {1}, 1);
  EXPECT_THAT(refusal([&] { join(0, 2, 2); }, Code::kUnavailable), HasSubstr("another process"));
  EXPECT_THAT(refusal([&] { join(1, 3, 2); }, Code::kUsage), HasSubstr("one of 3 trainers"));
  leave(0, 2, 1);
  join(0, 2, 1, /*known=*/true);  // the same, back again
  push(1, 0, {1}, 1);
  EXPECT_EQ(shard_->steps().clock(), 1u);
}

TEST_F(ShardTest, AnotherProcessTakesARankUpWhereItWasLeft) {
  make(2);
  for (int rank : {0, 1}) push(rank, 0, {1}, 1);
  push(0, 1, {1}, 1);
  push_slice(1, {.step = 1, .info = {1, 0}, .slice = 0, .num_slices = 2}, {1}, 8);  // and dies
  leave(1, 2, 1);
  RunStatus run_status = join(1, 2, 7);
  EXPECT_EQ(run_status.step, 1u);
  EXPECT_EQ(run_status.batches, 1u);
  EXPECT_EQ(run_status.pass_batches, 1u);
  EXPECT_TRUE(run_status.pass_begun);
  push(1, 1, {1}, 1);
  EXPECT_THAT(weights({1}), ElementsAre(-4)) << "half a push is forgotten";
  EXPECT_EQ(shard_->counters().trainers_returned, 1u);
  EXPECT_THAT(refusal([&] { join(1, 2, 1, /*known=*/true); }, Code::kFenced), HasSubstr("another process"));
}

TEST_F(ShardTest, RunStatusTellsOfPassesThatHaveEnded) {
  make(1);
  push(0, 0, {1}, 1);
  push_end(0, 1);
  leave(0, 1, 1);
  RunStatus run_status = join(0, 1, 2);
  EXPECT_EQ(run_status.step, 2u);
  EXPECT_EQ(run_status.pass, 1u);
  EXPECT_EQ(run_status.batches, 1u);
  EXPECT_EQ(run_status.pass_batches, 0u);
  EXPECT_FALSE(run_status.pass_begun);
}

// A pass has begun for a trainer once it has pushed for it: from then on, pushes of others may change the
// rows at any moment.
TEST_F(ShardTest, APassHasBegunForWhoHasPushedForIt) {
  make(2);
  for (int rank : {0, 1}) push(rank, 0, {1}, 1);
  for (int rank : {0, 1}) push_end(rank, 1);
  push_slice(0, {.step = 2, .info = {1, 1}, .slice = 0, .num_slices = 1}, {1}, 8);
  for (int rank : {0, 1}) leave(rank, 2, 1);
  EXPECT_TRUE(join(0, 2, 7).pass_begun);
  EXPECT_FALSE(join(1, 2, 7).pass_begun);
}

// The process that returns computes its step again, while this shard has it already and others have not.
TEST_F(ShardTest, APullForTheStepBeforeIsAnsweredAsTheFirstTime) {
  place_ = {.num_dense = 2};
  make(2);
  for (int rank : {0, 1}) push(rank, 0, {1}, 1);
  EXPECT_THAT(pull(1, 1, {1, 2}, 1)->floats(4), ElementsAre(-2, -2, 0, 0));
  for (int rank : {0, 1}) push(rank, 1, {1}, 1);
  EXPECT_THAT(pull(1, 1, {1, 2}, 2)->floats(4), ElementsAre(-2, -2, 0, 0));
  EXPECT_THAT(pull(1, 2, {1, 2}, 3)->floats(4), ElementsAre(-4, -4, 0, 0));
  EXPECT_THAT(pull(1, 1, {1, 2}, 4)->floats(4), ElementsAre(-2, -2, 0, 0))
      << "also after a pull that runs ahead";
  EXPECT_EQ(shard_->counters().pulls_repeated, 2u);
  push(1, 2, {1}, 1);  // all shards have applied step 1
  EXPECT_THAT(pull(1, 1, {1, 2})->floats(2), ElementsAre(-4, -4)) << "nobody needs it any more";
}

// A trainer that waits for long and loses its connection again and again must not fill the server's memory.
TEST_F(ShardTest, WhatIsAskedAgainOverNewConnectionsIsKeptOnce) {
  make(2);
  for (int again = 0; again < 100; ++again) {
    OutcomePtr of_old_connection[] = {push(0, 0, {1}, 1), pull(0, 1, {1}), gather(0, 0, "a")};
    EXPECT_LE(shard_->num_waiting(), 6u);
    for (OutcomePtr& outcome : of_old_connection) outcome->wanted = false;
    join(0, 2, 1, /*known=*/true);
    leave(0, 2, 1);
  }
}

// The bytes of a process that is gone are not those of the next one's.
TEST_F(ShardTest, AnotherProcessGivesFromTheBeginning) {
  make(2);
  const auto piece_of = [](uint64_t first, std::string_view bytes, uint64_t rest) {
    return GatherRequest{.number = 0, .bytes = bytes, .first = first, .rest = rest};
  };
  EXPECT_TRUE(give(0, piece_of(0, "old", 3))->waits());
  leave(0, 2, 1);
  join(0, 2, 2);
  EXPECT_THAT(refusal([&] { give(0, piece_of(3, "old", 0)); }, Code::kData), HasSubstr("expected the first"));
  const OutcomePtr piece = give(0, piece_of(0, "ne", 2)), last = give(0, piece_of(2, "w ", 0));
  EXPECT_EQ(*piece->answer, "");
  gather(1, 0, "b");
  ASSERT_TRUE(last->answer);
  EXPECT_THAT(decode_gathered(*last->answer), ElementsAre("new ", "b"));
}

TEST_F(ShardTest, TheNextRunBeginsWhenARankReturnsThatHasEndedTheLast) {
  make(1);
  push(0, 0, {1}, 1);
  shard_->membership().end_run(0);
  EXPECT_THAT(refusal([&] { join(0, 1, 2); }, Code::kUnavailable), HasSubstr("another run has to end first"));
  leave(0, 1, 1);
  const RunStatus run_status = join(0, 1, 2);
  EXPECT_EQ(run_status.step, 0u);
  EXPECT_EQ(run_status.run, 2u);
  EXPECT_EQ(shard_->steps().clock(), 0u);
  EXPECT_THAT(weights({1}), ElementsAre(-1)) << "the weights stay";
  EXPECT_THAT(refusal([&] { join(0, 1, 1, /*known=*/true); }, Code::kFenced), HasSubstr("another process"));
}

TEST_F(ShardTest, TheFirstShardSaysForAllWhichRunItIs) {
  make(1);
  push(0, 0, {1}, 1);
  leave(0, 1, 1);
  EXPECT_EQ(join(0, 1, 2, /*known=*/false, /*run=*/1).step, 1u) << "the run goes on";
  leave(0, 1, 2);
  EXPECT_EQ(join(0, 1, 3, /*known=*/false, /*run=*/3).step, 0u) << "another run";
}

TEST_F(ShardTest, WhoWaitsForATrainerThatIsGoneIsTold) {
  make(2);
  auto waiting = push(0, 0, {1}, 1);
  leave(1, 2, 1);
  now_ = std::chrono::seconds(9);
  shard_->membership().check_trainers(now_);
  EXPECT_TRUE(waiting->waits());
  now_ = std::chrono::seconds(10);
  shard_->membership().check_trainers(now_);
  ASSERT_TRUE(waiting->error);
  EXPECT_THAT(waiting->error->message(), HasSubstr("no connection from trainer 1 of 2 for 10 s, at step 0"));
}

class ShardGoesOnTest : public ShardTest {
 protected:
  ShardGoesOnTest() { loss_.go_on = true; }
  void lose(int rank, int trainers) {
    leave(rank, trainers, 1);
    now_ += std::chrono::seconds(10);
    shard_->membership().check_trainers(now_);
  }
};

TEST_F(ShardGoesOnTest, TheOthersGoOnWithoutATrainerThatIsGone) {
  make(3, {}, "mean");
  auto first = push(0, 0, {1}, 2), third = push(2, 0, {1}, 4);
  auto gathered = gather(0, 0, "a");
  lose(1, 3);
  EXPECT_FALSE(first->waits());
  EXPECT_FALSE(third->waits());
  EXPECT_THAT(weights({1}), ElementsAre(-3)) << "the mean of those who are there";
  gather(2, 0, "c");
  ASSERT_TRUE(gathered->answer);
  EXPECT_THAT(decode_gathered(*gathered->answer), ElementsAre("a", "", "c"));
  for (int rank : {0, 2}) push_end(rank, 1);
  EXPECT_TRUE(push_end(0, 1)->done().pass_ended);
  EXPECT_EQ(shard_->counters().trainers_given_up, 1u);
  EXPECT_THAT(refusal([&] { join(1, 3, 1, /*known=*/true); }, Code::kFenced), HasSubstr("start it again"));
}

// The steps that a lost trainer pushed completely count, up to the first gap.
TEST_F(ShardGoesOnTest, WhatATrainerPushedBeforeItWasGoneCounts) {
  make(2, {.staleness = 1});
  push(1, 0, {1}, 5);
  push_slice(1, {.step = 1, .info = {1, 0}, .slice = 1, .num_slices = 2}, {1}, 50);
  lose(1, 2);
  push(0, 0, {1}, 1);
  push(0, 1, {1}, 1);
  EXPECT_THAT(weights({1}), ElementsAre(-7));
}

TEST_F(ShardGoesOnTest, ATrainerThatWasGivenUpEntersAtThePresentStep) {
  make(2);
  push(0, 0, {1}, 1);
  lose(1, 2);
  push(0, 1, {1}, 1);
  RunStatus run_status = join(1, 2, 7);
  EXPECT_TRUE(run_status.was_given_up);
  EXPECT_EQ(run_status.step, 2u);
  EXPECT_EQ(run_status.batches, 0u);
  auto waiting = push(0, 2, {1}, 1);
  EXPECT_TRUE(waiting->waits()) << "it is one of them again";
  push(1, 2, {1}, 10);
  EXPECT_THAT(weights({1}), ElementsAre(-13));
}

// A step whose norms were computed without a trainer is applied without it.
TEST_F(ShardGoesOnTest, ATrainerThatWasGivenUpEntersBehindAStepThatIsMeasured) {
  optimizer_["clip_norm"] = 5;
  make(2);
  push(0, 0, {1}, 1);
  lose(1, 2);
  EXPECT_EQ(join(1, 2, 7).step, 1u);
  EXPECT_FALSE(commit(0, 0, {2, 0})->waits());
  EXPECT_THAT(weights({1}), ElementsAre(-1));
}

TEST_F(ShardGoesOnTest, AnAsynchronousPassEndsWithoutIt) {
  make(3, {.async = true});
  push_end(1, 0);
  auto ended = push_end(0, 0);
  lose(2, 3);
  EXPECT_TRUE(ended->done().pass_ended);
}

TEST_F(ShardGoesOnTest, WhenAllAreGoneNobodyIsGivenUp) {
  make(2);
  push(0, 0, {1}, 1);
  leave(0, 2, 1);
  lose(1, 2);
  EXPECT_EQ(shard_->counters().trainers_given_up, 0u);
  EXPECT_EQ(join(1, 2, 7).step, 0u);
}

// ---- trainers that join

class ShardJoinsTest : public ShardTest {
 protected:
  ShardJoinsTest() { loss_.go_on = true; }

  static Member member(int rank, uint64_t generation = 1) {
    return {.rank = rank, .trainers = 2, .generation = generation, .max_trainers = 3};
  }
  RunStatus come(int rank, uint64_t generation = 1) {
    return shard_->membership().join(member(rank, generation), now_);
  }
  void begin(const Consistency& consistency = {}) {
    make(0, consistency);
    for (int rank : {0, 1}) come(rank);
  }
};

TEST_F(ShardJoinsTest, AStepIsMadeOfThePushesOfThoseThatAreThere) {
  begin();
  for (int rank : {0, 1}) push(rank, 0, {1}, 1);
  EXPECT_EQ(shard_->steps().clock(), 1u);
  push(0, 1, {1}, 1);
  const RunStatus status = come(2);
  EXPECT_EQ(status.step, 1u);
  EXPECT_EQ(status.batches, 0u);
  EXPECT_TRUE(status.was_given_up);
  EXPECT_TRUE(status.pass_begun);
  EXPECT_TRUE(status.deals);
  push(1, 1, {1}, 1);
  EXPECT_EQ(shard_->steps().clock(), 1u) << "it takes part from the step on in which it came";
  push(2, 1, {1}, 1);
  EXPECT_EQ(shard_->steps().clock(), 2u);
  EXPECT_THAT(weights({1}), ElementsAre(-5));
  EXPECT_EQ(shard_->counters().trainers_joined, 1u);
  EXPECT_EQ(shard_->counters().trainers_returned, 0u);
}

TEST_F(ShardJoinsTest, NobodyWaitsForOneThatSaysThatItLeaves) {
  begin();
  come(2);
  for (int rank : {0, 1}) push(rank, 0, {1}, 1);
  push(2, 0, {1}, 10);
  push(2, 1, {1}, 100);
  for (int rank : {0, 1}) push(rank, 1, {1}, 1);
  auto first = push(0, 2, {1}, 1), second = push(1, 2, {1}, 1);
  EXPECT_TRUE(first->waits());
  shard_->membership().leave_run(2, now_);
  EXPECT_FALSE(first->waits());
  EXPECT_THAT(weights({1}), ElementsAre(-116)) << "what it has pushed counts";
  shard_->membership().leave(member(2), now_);
  EXPECT_EQ(come(2, 7).step, 3u) << "and it may come again";
  EXPECT_EQ(shard_->counters().trainers_given_up, 1u);
}

// Where all are being ended, they leave one after the other, and none goes on for a step.
TEST_F(ShardJoinsTest, ThoseWithWhomTheRunBeganAreWaitedForWhenTheyLeave) {
  begin();
  auto first = push(0, 0, {1}, 1);
  shard_->membership().leave_run(1, now_);
  EXPECT_TRUE(first->waits());
  now_ += std::chrono::seconds(1);
  shard_->membership().check_trainers(now_);
  EXPECT_FALSE(first->waits());
}

TEST_F(ShardJoinsTest, APassEndsWithoutTheShareOfARankOnceThatIsDealt) {
  begin({.async = true});
  const auto end = [this](int rank, uint64_t step) {
    return push_body(rank, encode_push({.step = step, .ended = true, .asks = true}, 0, ""));
  };
  push(0, 0, {1}, 1);
  auto first = end(0, 1), second = end(1, 0);
  ASSERT_TRUE(first->answer && second->answer);
  EXPECT_TRUE(first->done().dealt);
  const RankWork work = shard_->steps().work_of(0);
  EXPECT_EQ(work.strand, (DataStrand{2, 3, 0, 2})) << "nobody has the share of rank 2";
  EXPECT_EQ(come(2).dealings, 1u);
  EXPECT_FALSE(shard_->steps().work_of(2).strand) << "it waits for the next dealing";
}

TEST_F(ShardJoinsTest, StatusTellsOfTheRanksThatSomebodyHasHad) {
  begin();
  const auto num_told = [this] {
    ShardStatus status;
    shard_->describe(status);
    return status.trainers.size();
  };
  EXPECT_EQ(num_told(), 2u);
  come(2);
  EXPECT_EQ(num_told(), 3u);
  shard_->membership().leave_run(2, now_);
  EXPECT_EQ(num_told(), 3u);
}

TEST_F(ShardJoinsTest, NobodyJoinsTrainersThatPullAhead) {
  make(0, {.ahead = 2});
  EXPECT_THAT(refusal([&] { come(0); }, Code::kUsage), HasSubstr("leave out cluster.max_trainers"));
  EXPECT_EQ(shard_->roster().run(), 0u);
}

}  // namespace
}  // namespace ps::shard_run_test
