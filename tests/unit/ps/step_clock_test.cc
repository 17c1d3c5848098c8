// Step clocks: whose pushes make a step, and what is the same for all of them.
#include "ps/server/step_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/asynchronous_clock.h"
#include "ps/server/synchronous_clock.h"
#include "run_parts.h"
#include "support/scratch_folder.h"

namespace ps::step_clock_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StepClocks, EachConsistencyHasItsClock) {
  EXPECT_NE(dynamic_cast<SynchronousClock*>(RunParts({}).clock.get()), nullptr);
  EXPECT_EQ(dynamic_cast<StaleClock*>(RunParts({}).clock.get()), nullptr);
  EXPECT_NE(dynamic_cast<StaleClock*>(RunParts({.staleness = 2}).clock.get()), nullptr);
  EXPECT_NE(dynamic_cast<AsynchronousClock*>(RunParts({.async = true, .staleness = 2}).clock.get()), nullptr);
}

// ---- the same for all

class AnyClock : public testing::TestWithParam<Consistency> {
 protected:
  RunParts run_{GetParam(), 1};
};

TEST_P(AnyClock, AStepIsAppliedOnceAndAnsweredAgain) {
  EXPECT_EQ(run_.repeated(0, 0), std::nullopt);
  OutcomePtr first = run_.push(0, 0, 3);
  ASSERT_TRUE(first->answer);
  EXPECT_EQ(first->done().learning_rate, 1);
  const std::optional<Done> again = run_.repeated(0, 0);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode_done(*again), *first->answer);
  EXPECT_EQ(run_.weight(), -3);
  EXPECT_EQ(run_.counters.steps, 1u);
}

TEST_P(AnyClock, AStepThatIsLongPastIsRefused) {
  const uint64_t last = run_.clock->lead() + 1;
  for (uint64_t step = 0; step <= last; ++step) run_.push(0, step, 1);
  for (uint64_t step = 1; step <= last; ++step) EXPECT_TRUE(run_.repeated(0, step)) << step;
  EXPECT_EQ(error_of([this] { run_.repeated(0, 0); }).code(), Code::kData);
}

TEST_P(AnyClock, AStepIsWholeWhenAllItsMessagesHaveCome) {
  PushHeader header{.step = 0, .info = {1, 0}, .slice = 2, .num_slices = 3};
  OutcomePtr last = run_.send(0, header, 1);
  header.slice = 0;
  run_.send(0, header, 10);
  run_.send(0, header, 10);
  EXPECT_TRUE(last->waits()) << "a message that comes twice is one";
  EXPECT_TRUE(holds_pushes(run_.clock->trainers()));
  header.slice = 1;
  run_.send(0, header, 100);
  EXPECT_TRUE(last->answer);
  EXPECT_EQ(run_.weight(), -111);
  EXPECT_FALSE(holds_pushes(run_.clock->trainers()));
}

// Another process of the rank, which computes for it, does not know how many messages there are.
TEST_P(AnyClock, AStepOfTwoProcessesIsWholeWhenOneHasToldTheNumberAndAllAreThere) {
  run_.send(0, {.step = 0, .slice = 0, .num_slices = 0}, 1);
  EXPECT_EQ(run_.counters.steps, 0u);
  OutcomePtr last = run_.send(0, {.step = 0, .info = {1, 0}, .slice = 1, .num_slices = 2}, 10);
  EXPECT_TRUE(last->answer);
  EXPECT_EQ(run_.weight(), -11);
}

TEST_P(AnyClock, MessagesThatDoNotBelongTogetherAreRefused) {
  run_.send(0, {.step = 0, .info = {1, 0}, .slice = 0, .num_slices = 3}, 1);
  const PushHeader others[] = {{.step = 0, .info = {1, 0}, .slice = 1, .num_slices = 2},
                               {.step = 0, .info = {1, 0}, .ended = true, .slice = 1, .num_slices = 3},
                               {.step = 0, .slice = 3, .num_slices = 0}};
  for (const PushHeader& other : others) {
    EXPECT_EQ(error_of([&] { run_.send(0, other, 1); }).code(), Code::kData)
        << other.slice << other.num_slices;
  }
  EXPECT_EQ(run_.counters.steps, 0u);
}

TEST_P(AnyClock, ANumberOfMessagesBelowThoseThatCameIsRefused) {
  run_.send(0, {.step = 0, .slice = 4, .num_slices = 0}, 1);
  EXPECT_EQ(error_of([this] {
              run_.send(0, {.step = 0, .info = {1, 0}, .slice = 0, .num_slices = 3}, 1);
            }).code(),
            Code::kData);
}

TEST_P(AnyClock, AnotherProcessPushesAnewWhatTheOneBeforeHasNotPushedWhole) {
  run_.send(0, {.step = 0, .info = {1, 0}, .slice = 0, .num_slices = 2}, 100);
  run_.clock->take_over(0, false);
  EXPECT_FALSE(holds_pushes(run_.clock->trainers()));
  run_.push(0, 0, 1);
  EXPECT_EQ(run_.weight(), -1);
}

TEST_P(AnyClock, ThePassEndsWhenTheTrainerHasNoDataLeft) {
  EXPECT_EQ(run_.clock->pass_just_ended(), std::nullopt);
  run_.push(0, 0, 1);
  EXPECT_TRUE(pass_begun(run_.clock->trainers()));
  EXPECT_TRUE(run_.end(0, 1)->done().pass_ended);
  EXPECT_EQ(run_.clock->pass(), 1u);
  EXPECT_EQ(run_.clock->pass_just_ended(), 0u);
  EXPECT_FALSE(pass_begun(run_.clock->trainers()));
  EXPECT_EQ(run_.counters.steps, 1u) << "the end is no step of the tables";
  run_.push(0, 2, 1);
  EXPECT_EQ(run_.clock->pass_just_ended(), std::nullopt);
}

TEST_P(AnyClock, ACheckpointIsBegunAtTheEndOfAPassWhenATrainerSaysSo) {
  run_.end(0, 0);
  EXPECT_THAT(run_.begun, IsEmpty());
  run_.end(0, 1, /*checkpoint=*/true);
  EXPECT_THAT(run_.begun, ElementsAre(RunParts::Begun(run_.clock->clock(), true)));
}

TEST_P(AnyClock, BatchesOfThePassAndOfTheRunAreCounted) {
  run_.push(0, 0, 1);
  run_.push(0, 1, 1);
  run_.end(0, 2);
  run_.push(0, 3, 1);
  const RunState state = run_.clock->run_state();
  EXPECT_EQ(state.pass, 1u);
  EXPECT_EQ(state.trainers.at(0).batches, 3u);
  EXPECT_EQ(state.trainers.at(0).pass_batches, 1u);
}

TEST_P(AnyClock, GoesOnFromARunThatACheckpointHas) {
  const RunState from{5, 2, {{9, 3}}};
  run_.clock->resume_from(from);
  EXPECT_EQ(run_.clock->clock(), 5u);
  EXPECT_EQ(run_.clock->pass(), 2u);
  EXPECT_EQ(run_.clock->trainer(0).next_step, 5u);
  EXPECT_TRUE(run_.push(0, 5, 1)->answer);
  EXPECT_EQ(run_.clock->run_state().trainers.at(0).batches, 10u);
  EXPECT_EQ(run_.clock->run_state().trainers.at(0).pass_batches, 4u);
  run_.clock->restart(3);
  EXPECT_EQ(run_.clock->trainers().size(), 3u);
  EXPECT_EQ(run_.clock->pass(), 0u);
  EXPECT_EQ(run_.clock->trainer(2).rank, 2);
}

TEST_P(AnyClock, ATrainersChunkIsKeptUntilItsNextBatch) {
  run_.send(0, {.step = 0, .info = {1, 0}, .chunk = "a chunk"}, 1);
  ASSERT_EQ(run_.states.of(0).chunks.size(), 1u);
  EXPECT_EQ(*run_.states.of(0).chunks[0], "a chunk");
  EXPECT_EQ(pending_chunk_bytes(run_.clock->trainers()), 0u) << "it is not in a push any more";
  run_.push(0, 1, 1);
  EXPECT_THAT(run_.states.of(0).chunks, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Consistencies, AnyClock,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true}));

// ---- those whose trainers may be ahead

class LeadingClock : public testing::TestWithParam<Consistency> {
 protected:
  using Begun = RunParts::Begun;

  // A checkpoint is planned after step 3, and the pass ends with step 2, and with a checkpoint of its own.
  void plan_past_the_end(RunParts& run) {
    run.want_checkpoints([&run](uint64_t) { return run.begun.empty(); });
    ASSERT_EQ(run.clock->lead(), 2u);
    EXPECT_EQ(run.push(0, 0, 1)->done().checkpoint_at, 4u);
    run.push(0, 1, 1);
    EXPECT_TRUE(run.end(0, 2, /*checkpoint=*/true)->done().pass_ended);
    ASSERT_EQ(run.begun.size(), 1u);
    EXPECT_TRUE(run.begun[0].second);
  }

  RunParts run_{GetParam(), 1};
};

// The trainer has pushed its marker before it hears that the pass has ended, or marks what it was told of before.
TEST_P(LeadingClock, AMarkerThatWasPlannedBeforeThePassEndedBeginsNoCheckpoint) {
  plan_past_the_end(run_);
  EXPECT_EQ(run_.clock->next_checkpoint(0), 0u);
  EXPECT_EQ(run_.mark(0, 3, 1)->done().checkpoint_at, 0u);
  EXPECT_TRUE(run_.push(0, 4, 1)->answer) << "nothing waits for others' markers";
  EXPECT_EQ(run_.begun.size(), 1u);
}

TEST_P(LeadingClock, AMarkerThatWasPlannedAfterThePassEndedBeginsItsCheckpoint) {
  plan_past_the_end(run_);
  run_.want_checkpoints([this](uint64_t) { return run_.begun.size() == 1; });
  EXPECT_EQ(run_.mark(0, 3, 1)->done().checkpoint_at, 7u);
  run_.push(0, 4, 1);
  run_.push(0, 5, 1);
  run_.mark(0, 6, 1);
  EXPECT_THAT(run_.begun, testing::ElementsAre(testing::_, Begun(run_.clock->clock(), false)));
}

TEST_P(LeadingClock, AMarkerBeginsItsCheckpointWhereThePassEndedWithoutOne) {
  run_.want_checkpoints([this](uint64_t) { return run_.begun.empty(); });
  EXPECT_EQ(run_.push(0, 0, 1)->done().checkpoint_at, 4u);
  run_.push(0, 1, 1);
  run_.end(0, 2);
  run_.mark(0, 3, 1);
  EXPECT_THAT(run_.begun, ElementsAre(Begun(run_.clock->clock(), false)));
}

TEST_P(LeadingClock, AShardThatGoesOnFromItsSnapshotKnowsThatThePassHadACheckpoint) {
  plan_past_the_end(run_);
  RunParts again(GetParam(), 1);
  const SnapshotContext parts = again.snapshot_parts();
  load_shard_snapshot(save_shard_snapshot(run_.snapshot_parts()), parts, [](int, std::string_view) {});
  again.mark(0, 3, 1);
  EXPECT_THAT(again.begun, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Consistencies, LeadingClock,
                         testing::Values(Consistency{.staleness = 2},
                                         Consistency{.async = true, .ahead = 2}));

// ---- those that are measured

// Clipping by norm: a step is measured by each shard, and applied when the sums of all have come.
class MeasuringClock : public testing::TestWithParam<Consistency> {
 protected:
  RunParts run_{GetParam(), 1, {{"clip_norm", 5}}};
};

TEST_P(MeasuringClock, AStepIsAppliedWithTheSquaresOfAllShards) {
  OutcomePtr measured = run_.push(0, 0, 6);
  ASSERT_TRUE(measured->answer);
  ASSERT_EQ(measured->done().squares.size(), 1u);
  EXPECT_EQ(measured->done().squares[0].value(), 36);
  EXPECT_EQ(run_.weight(), 0);
  EXPECT_EQ(run_.counters.steps, 0u);
  EXPECT_TRUE(run_.commit(0, 0, 100)->answer) << "the norm of all is 10";
  EXPECT_EQ(run_.weight(), -3);
  EXPECT_EQ(run_.counters.steps, 1u);
}

TEST_P(MeasuringClock, SquaresOfAStepThatIsNotMeasuredAreRefused) {
  EXPECT_EQ(error_of([this] { run_.commit(0, 0, 1); }).code(), Code::kData);
  run_.push(0, 0, 6);
  EXPECT_EQ(error_of([this] { run_.commit(0, 1, 1); }).code(), Code::kData) << "of another step";
  EXPECT_EQ(error_of([this] {
              run_.clock->waiting_push(0, {0, {1, 2}});
            }).code(),
            Code::kData)
      << "of more parameters";
  EXPECT_EQ(error_of([this] { run_.clock->waiting_push(0, {0, {}}); }).code(), Code::kData) << "of none";
}

TEST_P(MeasuringClock, TheNextStepIsMeasuredAnew) {
  run_.push(0, 0, 6);
  run_.commit(0, 0, 36);
  OutcomePtr next = run_.push(0, 1, 3);
  ASSERT_TRUE(next->answer);
  ASSERT_EQ(next->done().squares.size(), 1u);
  EXPECT_EQ(next->done().squares[0].value(), 9);
  EXPECT_EQ(run_.counters.steps, 1u);
}

INSTANTIATE_TEST_SUITE_P(Consistencies, MeasuringClock,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true}));

}  // namespace
}  // namespace ps::step_clock_test
