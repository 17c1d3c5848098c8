// Steps: pulls, pushes and what becomes of them.
#include "shard_test.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/snapshot_fields.h"

namespace ps::shard_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ShardTest, AStepIsTheSumOfAllTrainersAndMovesTheClock) {
  make(2);
  auto first = push(0, 0, {1, 2}, 1);
  EXPECT_TRUE(first->waits());
  EXPECT_THAT(weights({1, 2, 3}), ElementsAre(0, 0, 0));
  auto second = push(1, 0, {2, 3}, 10);
  EXPECT_EQ(first->done().learning_rate, 1);
  EXPECT_FALSE(second->waits());
  EXPECT_EQ(shard_->steps().clock(), 1u);
  EXPECT_THAT(weights({1, 2, 3}), ElementsAre(-1, -11, -10));
}

TEST_F(ShardTest, TheMeanIsOverTheExamplesOfAllTrainers) {
  make(2, {}, "mean");
  push(0, 0, {1}, 8, 1);
  push(1, 0, {1}, 8, 3);
  EXPECT_THAT(weights({1}), ElementsAre(-4));
}

TEST_F(ShardTest, SumsRunInRankOrderWhateverTheOrderOfArrival) {
  std::vector<std::vector<float>> results;
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    make(3);
    const float gradients[] = {1e8f, -1e8f, 1};
    for (int rank : order) push(rank, 0, {5}, gradients[rank]);
    results.push_back(weights({5}));
  }
  EXPECT_THAT(results, testing::Each(ElementsAre(-1))) << "(1e8 - 1e8) + 1";
}

TEST_F(ShardTest, ATrainingPullWaitsForItsStep) {
  make(1);
  auto early = pull(0, 1, {1});
  EXPECT_TRUE(early->waits());
  EXPECT_THAT(pull(0, 0, {1})->floats(2), ElementsAre(0, 0));
  push(0, 0, {1}, 1);
  ASSERT_FALSE(early->waits());
  EXPECT_THAT(early->floats(2), ElementsAre(-1, -1));
}

TEST_F(ShardTest, WithStalenessAPullMayBeBehind) {
  make(2, {.staleness = 2});
  EXPECT_FALSE(pull(0, 2, {1})->waits());
  auto third = pull(0, 3, {1});
  EXPECT_TRUE(third->waits());
  for (uint64_t step = 0; step < 3; ++step) push(0, step, {1}, 1);
  EXPECT_TRUE(third->waits());
  push(1, 0, {1}, 1);
  EXPECT_THAT(third->floats(1), ElementsAre(-2)) << "one step of two trainers";
}

TEST_F(ShardTest, ARepeatedPushIsAnsweredAgainAndNotApplied) {
  make(1);
  push(0, 0, {1}, 1);
  push(0, 1, {1}, 1);
  auto again = push(0, 1, {1}, 1);
  EXPECT_FALSE(again->waits());
  EXPECT_THAT(weights({1}), ElementsAre(-2));
  EXPECT_EQ(shard_->counters().pushes_repeated, 1u);
}

TEST_F(ShardTest, APushThatIsRepeatedWhileItWaitsCountsOnce) {
  make(2);
  auto lost = push(0, 0, {1}, 1), again = push(0, 0, {1}, 1);
  push(1, 0, {1}, 1);
  EXPECT_FALSE(lost->waits());
  EXPECT_FALSE(again->waits());
  EXPECT_THAT(weights({1}), ElementsAre(-2));
}

TEST_F(ShardTest, PiecesOfAPushAreOneStepInAnyOrder) {
  make(1);
  auto last = push_slice(0, {.step = 0, .info = {1, 0}, .slice = 1, .num_slices = 2}, {7}, 1);
  EXPECT_TRUE(last->waits());
  auto first = push_slice(0, {.step = 0, .info = {1, 0}, .slice = 0, .num_slices = 2}, {8}, 2);
  EXPECT_FALSE(first->waits());
  EXPECT_FALSE(last->waits());
  EXPECT_EQ(shard_->counters().steps, 1u);
  EXPECT_THAT(weights({7, 8}), ElementsAre(-1, -2));
}

// A compute trainer pushes some slices, the reader for which it computes tells how many there are.
TEST_F(ShardTest, PiecesThatDoNotTellTheirNumberArePartOfTheStepOfThoseThatDo) {
  make(1);
  const PushHeader other{.step = 0, .info = {5, 0}, .slice = 0, .num_slices = 0};
  auto first = push_slice(0, other, {8}, 2);
  EXPECT_FALSE(first->waits()) << "it is held";
  EXPECT_EQ(shard_->counters().steps, 0u);
  auto again = push_slice(0, other, {8}, 2);
  EXPECT_FALSE(again->waits()) << "of another compute trainer, or sent again";
  auto last = push_slice(0, {.step = 0, .info = {1, 0}, .slice = 1, .num_slices = 2}, {7}, 1);
  EXPECT_FALSE(last->waits());
  EXPECT_EQ(shard_->counters().steps, 1u);
  EXPECT_THAT(weights({7, 8}), ElementsAre(-1, -2));
  push_slice(0, other, {8}, 2);
  EXPECT_THAT(weights({8}), ElementsAre(-2)) << "the step was applied";
}

TEST_F(ShardTest, PiecesThatDoNotTellTheirNumberMayComeLast) {
  make(1);
  auto last = push_slice(0, {.step = 0, .info = {1, 0}, .slice = 1, .num_slices = 2}, {7}, 1);
  EXPECT_TRUE(last->waits());
  push_slice(0, {.step = 0, .slice = 0, .num_slices = 0}, {8}, 2);
  EXPECT_FALSE(last->waits());
  EXPECT_THAT(weights({7, 8}), ElementsAre(-1, -2));
}

// It has pulled rows of a step that was not in the log when the server was killed.
TEST_F(ShardTest, SlicesThatDoNotTellTheirNumberMayComeAStepEarly) {
  make(1);
  const auto push_uncounted = [this](uint64_t step) {
    return push_slice(0, {.step = step, .slice = 0, .num_slices = 0}, {8}, 2);
  };
  EXPECT_THAT(refusal([&] { push_uncounted(2); }, Code::kData), HasSubstr("comes before step 0"));
  EXPECT_FALSE(push_uncounted(1)->waits()) << "it is held";
  push(0, 0, {7}, 1);
  EXPECT_THAT(weights({7, 8}), ElementsAre(-1, 0));
  push_slice(0, {.step = 1, .info = {1, 0}, .slice = 1, .num_slices = 2}, {7}, 1);
  EXPECT_EQ(shard_->counters().steps, 2u);
  EXPECT_THAT(weights({7, 8}), ElementsAre(-2, -2));
}

TEST_F(ShardTest, PiecesBeyondTheNumberThatIsToldAreRefused) {
  make(1);
  push_slice(0, {.step = 0, .slice = 2, .num_slices = 0}, {8}, 2);
  auto push_counted = [&](uint32_t slice, uint32_t count) {
    push_slice(0, {.step = 0, .info = {1, 0}, .slice = slice, .num_slices = count}, {7}, 1);
  };
  EXPECT_THAT(refusal([&] { push_counted(1, 2); }, Code::kData), HasSubstr("do not belong together"));
  push_counted(1, 4);
  EXPECT_THAT(refusal([&] { push_slice(0, {.step = 0, .slice = 4, .num_slices = 0}, {9}, 1); }, Code::kData),
              HasSubstr("do not belong together"));
}

TEST_F(ShardTest, APieceWhoseNumberNoPushCanHaveIsRefused) {
  make(1);
  for (uint32_t slice : {uint32_t{1} << 20, UINT32_MAX}) {
    const PushHeader header{.step = 0, .slice = slice, .num_slices = 0};
    EXPECT_THAT(refusal([&] { push_slice(0, header, {8}, 2); }, Code::kData), HasSubstr("push: slice "));
  }
}

// The reader's own shards may not all have applied the step before: it may have to pull again what it has not received.
TEST_F(ShardTest, APieceOfAComputeTrainerLeavesTheReaderItsAnswers) {
  place_ = {.num_dense = 2};
  make(1);
  auto first = pull(0, 0, {1}, /*number=*/1);
  push(0, 0, {1}, 5);
  push_slice(0, {.step = 1, .slice = 0, .num_slices = 0}, {1}, 2);
  auto again = pull(0, 0, {1}, /*number=*/1);
  ASSERT_FALSE(again->waits());
  EXPECT_EQ(again->answer, first->answer) << "the weights before step 0";
}

TEST_F(ShardTest, PiecesOfAPushMayAscendOrHaveTheSameKeys) {
  make(1);
  for (uint64_t second : {9, 8}) {
    push_slice(0, {.step = 9 - second, .info = {1, 0}, .slice = 0, .num_slices = 2}, {7, 8}, 1);
    push_slice(0, {.step = 9 - second, .info = {1, 0}, .slice = 1, .num_slices = 2}, {second}, 2);
  }
  EXPECT_THAT(weights({7, 8, 9}), ElementsAre(-2, -4, -2)) << "8 has 1, then 1 + 2";
}

TEST_F(ShardTest, AStepThatAllEndIsNotAppliedAndEndsThePass) {
  make(2);
  auto ended = push_end(0, 0);
  auto other = push(1, 0, {1}, 1);
  EXPECT_FALSE(ended->done().pass_ended);
  EXPECT_FALSE(other->done().pass_ended);
  ended = push_end(0, 1);
  other = push_end(1, 1);
  EXPECT_TRUE(ended->done().pass_ended);
  EXPECT_TRUE(other->done().pass_ended);
  EXPECT_EQ(shard_->counters().steps, 1u);
  EXPECT_TRUE(push_end(1, 1)->done().pass_ended) << "also when it is asked again";
}

TEST_F(ShardTest, AClippedStepIsMeasuredThenAppliedOnce) {
  optimizer_["clip_norm"] = 5;
  make(2);
  auto first = push(0, 0, {1}, 1), second = push(1, 0, {1}, 2);
  ASSERT_EQ(first->done().squares.size(), 2u);
  EXPECT_EQ(second->done().squares[0].value(), 18) << "two elements of 3";
  EXPECT_THAT(weights({1}), ElementsAre(0));
  EXPECT_EQ(push(0, 0, {1}, 1)->done().squares[0].value(), 18) << "also when it is asked again";
  EXPECT_THAT(refusal([&] { commit(0, 1, {100, 0}); }, Code::kData), HasSubstr("not waiting"));
  EXPECT_THAT(refusal([&] { commit(0, 0, {100}); }, Code::kData), HasSubstr("not waiting"));
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THAT(refusal([&] { commit(0, 0, {bad, 0}); }, Code::kData), HasSubstr("not finite"));
  }
  EXPECT_EQ(shard_->counters().refused_not_finite, 2u);
  EXPECT_THAT(weights({1}), ElementsAre(0));
  commit(0, 0, {100, 0});  // with what other shards have the norm is 10: the gradient is halved
  EXPECT_THAT(weights({1}), ElementsAre(-1.5));
  EXPECT_FALSE(commit(1, 0, {100, 0})->waits());
  EXPECT_THAT(weights({1}), ElementsAre(-1.5));
  EXPECT_EQ(shard_->steps().clock(), 1u);
}

TEST_F(ShardTest, StatisticsAreTheMeanOverExamples) {
  make(2);
  push_statistic(0, 0, 4, 1);
  push_statistic(1, 0, 8, 3);
  EXPECT_EQ(statistic(), 7);
}

TEST_F(ShardTest, AsynchronousPushesAreAppliedAtOnceAndOldOnesDropped) {
  make(2, {.async = true, .max_lag = 1});
  pull(1, 0, {1});
  for (uint64_t step = 0; step < 2; ++step) {
    pull(0, step, {1});
    EXPECT_FALSE(push(0, step, {1}, 1)->waits());
  }
  EXPECT_TRUE(push(1, 0, {1}, 1)->done().dropped) << "two steps behind";
  pull(1, 1, {1});
  EXPECT_FALSE(push(1, 1, {1}, 1)->done().dropped);
  EXPECT_THAT(weights({1}), ElementsAre(-3));
  EXPECT_EQ(shard_->counters().pushes_dropped, 1u);
}

TEST_F(ShardTest, AnAsynchronousPassEndsForAllTogether) {
  make(2, {.async = true});
  auto first = push_end(0, 0);
  EXPECT_TRUE(first->waits());
  push(1, 0, {1}, 1);
  EXPECT_TRUE(first->waits());
  EXPECT_TRUE(push_end(1, 1)->done().pass_ended);
  EXPECT_TRUE(first->done().pass_ended);
}

TEST_F(ShardTest, WhatMakesNoSenseIsRefusedAndChangesNothing) {
  make(1);
  EXPECT_THAT(refusal([&] { push(0, 1, {1}, 1); }, Code::kData), HasSubstr("comes before step 0"));
  EXPECT_THAT(refusal([&] { push(0, 0, {100}, 1); }, Code::kData), HasSubstr("key 100 is not of this shard"));
  EXPECT_THAT(refusal([&] { pull(0, 0, {100}); }, Code::kData), HasSubstr("key 100"));
  std::string parts;
  encode_range_slice(0, 0, 1, false, parts);
  EXPECT_THAT(refusal([&] { read(*shard_, parts); }, Code::kData),
              HasSubstr("not reached by numbers of rows"));
  parts.clear();
  encode_range_slice(1, 2, 1, true, parts);
  EXPECT_THAT(refusal([&] { read(*shard_, parts); }, Code::kData), HasSubstr("of 2"));
  EXPECT_EQ(shard_->steps().clock(), 0u);
  push(0, 0, {1}, 1);
  EXPECT_THAT(weights({1}), ElementsAre(-1));
}

TEST_F(ShardTest, ATrainerReadsTheStateOfParametersThatServersMoveAndDoesNotSetIt) {
  make(1);
  std::string parts;
  encode_range_slice(1, 1, 1, true, parts);
  EXPECT_THAT(read(*shard_, parts)->floats(1), ElementsAre(0));
  std::string load = encode_load(1, parts);
  put(load, 3.0f);
  load.resize(padded(load.size()));
  BufferPool pool;
  Buffer body = pool.take(load.size());
  std::copy(load.begin(), load.end(), body.data());
  const PushRequest request = decode_load(std::move(body), shard_->tables().widths());
  EXPECT_THAT(refusal([&] { shard_->load(request); }, Code::kData), HasSubstr("the servers move"));
}

TEST_F(ShardTest, WhatWasPulledIsPushedWithoutItsKeys) {
  make(2);
  pull(0, 0, {1, 5}, /*number=*/1);
  pull(0, 0, {7}, /*number=*/2);
  pull(1, 0, {5}, /*number=*/1);  // numbers are each trainer's own
  push_pulled(0, 0, 1, {1, 1, 2, 2});
  EXPECT_FALSE(push_pulled(1, 0, 1, {4, 4})->waits());
  EXPECT_THAT(weights({1, 5, 7}), ElementsAre(-1, -6, 0));
}

TEST_F(ShardTest, APullThatWaitedIsRememberedToo) {
  make(1, {.staleness = 0});
  pull(0, 0, {1}, 1);
  auto waiting = pull(0, 1, {3}, 2);
  EXPECT_TRUE(waiting->waits());
  push_pulled(0, 0, 1, {1, 1});
  EXPECT_FALSE(waiting->waits());
  push_pulled(0, 1, 2, {2, 2});
  EXPECT_THAT(weights({1, 3}), ElementsAre(-1, -2));
}

// Row 3 sits out step 1, whose decay it has not seen when it is pulled for step 2.
TEST_F(ShardTest, RowsAreUpToDateWhenThePushOfTheirPullComes) {
  optimizer_ = {{"type", "sgd"}, {"learning_rate", 1}, {"l2", 0.5}};
  auto train = [&](bool by_pull) {
    make(1, {.staleness = 1});
    push(0, 0, {1, 3}, 1);
    pull(0, 1, {1}, 1);
    pull(0, 2, {3}, 2);
    by_pull ? push_pulled(0, 1, 1, {1, 1}) : push(0, 1, {1}, 1);
    by_pull ? push_pulled(0, 2, 2, {1, 1}) : push(0, 2, {3}, 1);
    return weights({1, 3});
  };
  const std::vector<float> expected = train(false);
  EXPECT_THAT(expected, ElementsAre(-0.75f, -1.25f));
  EXPECT_EQ(train(true), expected);
}

TEST_F(ShardTest, AStepThatIsOverForgetsItsPulls) {
  make(1);
  pull(0, 0, {1}, 1);
  push_pulled(0, 0, 1, {1, 1});
  EXPECT_FALSE(push_pulled(0, 0, 1, {1, 1})->waits()) << "sent again, it needs no keys to be answered";
  EXPECT_THAT(refusal([&] { push_pulled(0, 1, 1, {1, 1}); }, Code::kData), HasSubstr("there was no pull 1"));
  EXPECT_THAT(weights({1}), ElementsAre(-1));
}

TEST_F(ShardTest, PulledKeysWithoutTheirRowsAreRefused) {
  make(1);
  pull(0, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 1);
  EXPECT_THAT(refusal([&] { push_pulled(0, 0, 1, {1, 1}); }, Code::kData), HasSubstr("cut short"));
  push(0, 0, {1}, 1);
  EXPECT_THAT(weights({1}), ElementsAre(-1));
}

TEST_F(ShardTest, RowsComeInTheTypeThatIsAskedFor) {
  make(1);
  push(0, 0, {1}, 1 + 0x1p-13f);
  auto rows = pull(0, 1, {1}, 0, RowType::kF16);
  float values[2];
  row_codec(RowType::kF16, best_cpu_level()).decode(rows->answer->data(), 1, 2, values);
  EXPECT_EQ(values[0], -1);
  EXPECT_EQ(rows->answer->size(), 64u);
  EXPECT_EQ(pull(0, 1, {1})->floats(1)[0], -1 - 0x1p-13f);
}

// A server whose log has a change that cannot be made again does not start any more.
TEST_F(ShardTest, WeightsThatAreRefusedAreNotLogged) {
  shard_ = std::make_unique<Shard>(
      std::vector{synthetic_parameter("embedding", ParameterKind::kRows, false, 40, 4)},
      make_optimizer_plan(optimizer_, "sum"), place_, Consistency(), loss_);
  join(0, 1, 1);
  int changes = 0;
  shard_->on_change([&changes](ShardEvent, int, std::string_view) { ++changes; });
  std::string parts;
  encode_key_slice(0, std::vector<uint64_t>{1}, parts);
  std::string body = encode_load(1, parts);
  body.resize(body.size() + padded(4 * sizeof(float)));
  const PushRequest request = decode_load(to_buffer(pool_, body), shard_->tables().widths());
  EXPECT_THAT(refusal([&] { shard_->load(request); }, Code::kData), HasSubstr("by numbers of rows"));
  EXPECT_EQ(changes, 0);
}

}  // namespace
}  // namespace ps::shard_test
