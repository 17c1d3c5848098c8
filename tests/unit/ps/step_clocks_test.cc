// The four step clocks, each in what it alone does.
#include "ps/server/step_clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_parts.h"
#include "support/scratch_folder.h"

namespace ps::step_clocks_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Begun = RunParts::Begun;

// ---- synchronous

TEST(SynchronousClock, AStepIsWholeWhenEveryTrainerPushed) {
  RunParts run({}, 3);
  OutcomePtr first = run.push(0, 0, 1), third = run.push(2, 0, 4);
  EXPECT_TRUE(first->waits() && third->waits());
  EXPECT_EQ(run.weight(), 0);
  EXPECT_EQ(num_waiting(run.clock->trainers()), 2u);
  OutcomePtr second = run.push(1, 0, 2);
  EXPECT_TRUE(first->answer && second->answer && third->answer);
  EXPECT_EQ(run.weight(), -7);
  EXPECT_EQ(run.clock->clock(), 1u);
  EXPECT_EQ(num_waiting(run.clock->trainers()), 0u);
}

TEST(SynchronousClock, GradientsAreAddedInTheOrderOfRanksWhateverCameFirst) {
  const float gradients[] = {1e8f, 1, -1e8f};
  std::vector<float> weights;
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 0, 1}, {0, 2, 1}}) {
    RunParts run({}, 3);
    for (int rank : order) run.push(rank, 0, gradients[rank]);
    weights.push_back(run.weight());
  }
  EXPECT_THAT(weights, ElementsAre(0, 0, 0)) << "1 is lost in 1e8";
}

TEST(SynchronousClock, PullsWaitForTheStepsBeforeThem) {
  RunParts run({}, 2);
  EXPECT_TRUE(run.clock->may_pull(0));
  EXPECT_FALSE(run.clock->may_pull(1));
  for (int rank : {0, 1}) run.push(rank, 0, 1);
  EXPECT_TRUE(run.clock->may_pull(1));
  EXPECT_FALSE(run.clock->may_pull(2));
}

TEST(SynchronousClock, ATrainerWithoutDataHoldsNoStepUpAndThePassEndsWithTheLast) {
  RunParts run({}, 2);
  EXPECT_TRUE(run.end(1, 0)->waits());
  OutcomePtr step = run.push(0, 0, 1);
  EXPECT_FALSE(step->done().pass_ended);
  EXPECT_EQ(run.weight(), -1);
  run.end(1, 1);
  EXPECT_TRUE(run.end(0, 1)->done().pass_ended);
  EXPECT_EQ(run.clock->pass(), 1u);
  EXPECT_EQ(run.clock->run_state().trainers.at(1).batches, 0u);
}

TEST(SynchronousClock, TrainersAreToldTheStepAfterWhichACheckpointBegins) {
  RunParts run({}, 2);
  run.want_checkpoints([](uint64_t number) { return number == 3; });
  std::vector<uint64_t> told;
  for (uint64_t step = 0; step < 2; ++step) {
    run.push(0, step, 1);
    told.push_back(run.push(1, step, 1)->done().checkpoint_at);
  }
  EXPECT_THAT(told, ElementsAre(0, 3));
  EXPECT_EQ(run.clock->next_checkpoint(0), 3u);
  run.mark(0, 2, 1);
  EXPECT_THAT(run.begun, IsEmpty());
  run.mark(1, 2, 1);
  EXPECT_THAT(run.begun, ElementsAre(Begun(3, false)));
}

TEST(SynchronousClock, TheOthersGoOnWithoutTrainersThatAreGivenUp) {
  RunParts run({}, 3);
  OutcomePtr first = run.push(0, 0, 1);
  run.push(1, 0, 2);
  run.give_up(2);
  EXPECT_TRUE(first->answer);
  EXPECT_EQ(run.weight(), -3);
}

TEST(SynchronousClock, WholePushesOfATrainerThatIsGivenUpCountAndHalfOnesDoNot) {
  RunParts run({.staleness = 1}, 2);
  run.push(1, 0, 10);
  run.send(1, {.step = 1, .info = {1, 0}, .slice = 0, .num_slices = 2}, 100);
  run.push(0, 0, 1);
  run.give_up(1);
  run.push(0, 1, 2);
  EXPECT_EQ(run.weight(), -13);
  EXPECT_EQ(run.clock->clock(), 2u);
}

TEST(SynchronousClock, ATrainerThatReturnsEntersAtThePresentStep) {
  RunParts run({}, 2);
  run.push(0, 0, 1);
  run.give_up(1);
  run.push(0, 1, 1);
  run.roster.at(1).given_up = false;
  run.clock->take_over(1, /*returns=*/true);
  EXPECT_EQ(run.clock->trainer(1).next_step, 2u);
  EXPECT_TRUE(run.push(0, 2, 1)->waits()) << "it is waited for again";
  run.push(1, 2, 10);
  EXPECT_EQ(run.weight(), -13);
}

TEST(SynchronousClock, ATrainerThatReturnsTakesNoPartInAStepThatIsMeasured) {
  RunParts run({}, 2, {{"clip_norm", 100}});
  run.push(0, 0, 1);
  run.give_up(1);
  run.roster.at(1).given_up = false;
  run.clock->take_over(1, /*returns=*/true);
  EXPECT_EQ(run.clock->trainer(1).next_step, 1u);
  EXPECT_TRUE(run.commit(0, 0, 1)->answer);
  EXPECT_EQ(run.weight(), -1);
}

// ---- stale

TEST(StaleClock, PullsMayBeSoManyStepsAhead) {
  RunParts run({.staleness = 2}, 1);
  EXPECT_EQ(run.clock->lead(), 2u);
  EXPECT_TRUE(run.clock->may_pull(2));
  EXPECT_FALSE(run.clock->may_pull(3));
  run.push(0, 0, 1);
  EXPECT_TRUE(run.clock->may_pull(3));
  EXPECT_FALSE(run.clock->may_pull(4));
}

TEST(StaleClock, StepsThatAreAheadAreAppliedInTheirOrderWhenTheLastTrainerComes) {
  RunParts run({.staleness = 2}, 2);
  std::vector<OutcomePtr> ahead;
  for (uint64_t step = 0; step < 3; ++step) ahead.push_back(run.push(0, step, 1));
  EXPECT_EQ(run.clock->trainer(0).pushed_steps(), 3u);
  EXPECT_EQ(run.clock->trainer(1).pushed_steps(), 0u);
  run.push(1, 1, 10);
  EXPECT_EQ(run.clock->clock(), 0u) << "its first step is missing";
  run.push(1, 0, 10);
  EXPECT_EQ(run.clock->clock(), 2u);
  EXPECT_TRUE(ahead[0]->answer && ahead[1]->answer && ahead[2]->waits());
  EXPECT_EQ(run.weight(), -22);
}

// Some trainer may have pushed as many steps as the lead before it hears of the checkpoint.
TEST(StaleClock, ACheckpointBeginsAfterTheFirstStepThatNobodyHasPushedYet) {
  RunParts run({.staleness = 2}, 1);
  run.want_checkpoints([](uint64_t) { return true; });
  EXPECT_EQ(run.push(0, 0, 1)->done().checkpoint_at, 4u);
  EXPECT_EQ(run.push(0, 1, 1)->done().checkpoint_at, 4u) << "none is decided on before that one has begun";
  run.push(0, 2, 1);
  run.mark(0, 3, 1);
  EXPECT_THAT(run.begun, ElementsAre(Begun(4, false)));
}

// ---- ahead

TEST(AheadClock, HoldsPushesUntilTheTrainerSaysThatAllShardsDo) {
  RunParts run({.ahead = 3}, 1);
  EXPECT_EQ(run.clock->lead(), 3u);
  for (uint64_t step = 0; step < 3; ++step) {
    EXPECT_TRUE(run.push(0, step, 1)->done().held) << "answered at once, though nothing is applied";
  }
  EXPECT_EQ(run.weight(), 0);
  const Done done = run.hold(0, 0)->done();
  EXPECT_FALSE(done.held);
  EXPECT_EQ(run.weight(), -1);
  EXPECT_EQ(run.clock->clock(), 1u);
  run.hold(0, 1);
  run.hold(0, 2);
  EXPECT_EQ(run.weight(), -3);
  EXPECT_FALSE(holds_pushes(run.clock->trainers()));
}

TEST(AheadClock, StepsAreAppliedInTheirOrderAndOnce) {
  RunParts run({.ahead = 3}, 1);
  run.push(0, 0, 1);
  run.push(0, 1, 1);
  EXPECT_TRUE(run.hold(0, 1)->waits()) << "step 0 is not applied";
  EXPECT_THROW(run.hold(0, 2), Error) << "it has not come";
  EXPECT_EQ(run.weight(), 0);
  run.hold(0, 0);
  EXPECT_THROW(run.hold(0, 0), Error) << "a shard answers it again before it comes here";
  EXPECT_EQ(run.weight(), -2);
}

TEST(AheadClock, APushThatIsRepeatedIsAnsweredAgain) {
  RunParts run({.ahead = 3}, 1);
  run.push(0, 0, 1);
  EXPECT_TRUE(run.push(0, 0, 1)->done().held);
  run.hold(0, 0);
  EXPECT_EQ(run.weight(), -1);
}

TEST(AheadClock, TellsThePlaceOfATrainerAsItWillBe) {
  RunParts run({.ahead = 4}, 1);
  run.push(0, 0, 1);
  run.hold(0, 0);
  run.push(0, 1, 1);
  TrainerPosition position = run.clock->position_of(0);
  EXPECT_EQ(std::tuple(position.step, position.held, position.batches, position.pass),
            std::tuple(2u, 1u, 2u, 0u));
  EXPECT_TRUE(position.pass_begun);
  EXPECT_TRUE(run.end(0, 2)->done().held);
  position = run.clock->position_of(0);
  EXPECT_EQ(std::tuple(position.step, position.held, position.batches, position.pass),
            std::tuple(3u, 2u, 2u, 1u));
  EXPECT_EQ(position.pass_batches, 0u);
  EXPECT_FALSE(position.pass_begun);
  run.hold(0, 1);
  EXPECT_TRUE(run.hold(0, 2)->done().pass_ended);
  const TrainerPosition then = run.clock->position_of(0);
  EXPECT_EQ(std::tuple(then.step, then.held, then.batches, then.pass), std::tuple(3u, 0u, 2u, 1u));
  EXPECT_EQ(run.clock->pass(), 1u);
}

TEST(AheadClock, HalfAPushIsNotHeld) {
  RunParts run({.ahead = 2}, 1);
  run.send(0, {.step = 0, .info = {1, 0}, .slice = 0, .num_slices = 2}, 1);
  run.push(0, 1, 1);
  EXPECT_EQ(run.clock->position_of(0).step, 0u);
  EXPECT_THROW(run.hold(0, 0), Error);
  EXPECT_TRUE(run.send(0, {.step = 0, .info = {1, 0}, .slice = 1, .num_slices = 2}, 1, 2)->done().held);
  EXPECT_EQ(run.clock->position_of(0).step, 2u);
}

TEST(AheadClock, AStepThatIsMeasuredIsNotHeldToo) {
  RunParts run({.ahead = 2}, 1, {{"clip_norm", 100}});
  EXPECT_FALSE(run.push(0, 0, 1)->done().squares.empty());
  EXPECT_TRUE(run.push(0, 1, 1)->waits()) << "steps are measured one after the other";
  EXPECT_THROW(run.hold(0, 0), Error) << "it needs the norm";
  EXPECT_TRUE(run.commit(0, 0, 1)->answer);
  EXPECT_EQ(run.weight(), -1);
}

TEST(AheadClock, AStepOfSeveralIsAppliedWhenEveryTrainerSaysThatAllShardsHoldItsOwn) {
  RunParts run({.ahead = 3}, 2);
  for (uint64_t step = 0; step < 2; ++step) {
    EXPECT_TRUE(run.push(0, step, 1)->done().held);
    run.hold(0, step);
  }
  EXPECT_TRUE(run.push(1, 0, 2)->done().held);
  EXPECT_EQ(run.weight(), 0) << "nobody has said it of the push of trainer 1";
  EXPECT_FALSE(run.hold(1, 0)->done().held);
  EXPECT_EQ(run.weight(), -3);
  EXPECT_EQ(run.clock->clock(), 1u);
}

TEST(AheadClock, TheProcessThatTakesARankOfSeveralUpSaysAgainWhatAllShardsHold) {
  RunParts run({.ahead = 3}, 2);
  for (uint64_t step = 0; step < 2; ++step) {
    run.push(1, step, 1);
    run.hold(1, step);
  }
  run.clock->take_over(1, /*returns=*/false);
  run.push(0, 0, 1);
  run.hold(0, 0);
  EXPECT_EQ(run.weight(), 0);
  const TrainerPosition position = run.clock->position_of(1);
  EXPECT_EQ(std::tuple(position.step, position.held, position.batches), std::tuple(2u, 2u, 0u));
  run.hold(1, 0);
  EXPECT_EQ(run.weight(), -2);
  EXPECT_EQ(run.clock->position_of(1).held, 1u);
}

TEST(AheadClock, AMeasuredStepOfSeveralNeedsTheWordOfAll) {
  RunParts run({.ahead = 2}, 2, {{"clip_norm", 100}});
  OutcomePtr first = run.push(0, 0, 1);
  EXPECT_TRUE(first->waits());
  run.push(1, 0, 2);
  EXPECT_FALSE(first->done().squares.empty());
  OutcomePtr word = run.commit(0, 0, 9);
  EXPECT_TRUE(word->waits());
  EXPECT_FALSE(run.push(1, 0, 2)->done().squares.empty()) << "a push that is repeated is answered again";
  EXPECT_TRUE(word->waits());
  EXPECT_EQ(run.weight(), 0);
  EXPECT_TRUE(run.commit(1, 0, 9)->answer && word->answer);
  EXPECT_EQ(run.weight(), -3);
  EXPECT_TRUE(run.end(0, 1)->waits());
  EXPECT_TRUE(run.end(1, 1)->done().held) << "nothing is measured";
  run.hold(0, 1);
  EXPECT_TRUE(run.hold(1, 1)->done().pass_ended);
}

TEST(AheadClock, NobodyIsLeftBehindByOthersThatAreAhead) {
  EXPECT_FALSE(RunParts({.ahead = 2}, 2).clock->goes_on_without_trainers());
  EXPECT_TRUE(RunParts({}, 2).clock->goes_on_without_trainers());
}

// ---- asynchronous

TEST(AsynchronousClock, EveryPushIsAStepOfItsOwn) {
  RunParts run({.async = true}, 2);
  EXPECT_TRUE(run.push(0, 0, 1)->answer);
  EXPECT_TRUE(run.push(0, 1, 1)->answer);
  EXPECT_TRUE(run.push(1, 0, 10)->answer);
  EXPECT_EQ(run.weight(), -12);
  EXPECT_EQ(run.counters.steps, 3u);
  EXPECT_TRUE(run.clock->may_pull(1000));
  EXPECT_TRUE(run.clock->logs_pulls());
}

TEST(AsynchronousClock, AGradientForWeightsThatAreTooOldIsDropped) {
  RunParts run({.async = true, .max_lag = 2}, 2);
  run.clock->note_pull(1);
  for (uint64_t step = 0; step < 3; ++step) {
    run.clock->note_pull(0);
    run.push(0, step, 1);
  }
  OutcomePtr late = run.push(1, 0, 100);
  EXPECT_TRUE(late->done().dropped);
  EXPECT_EQ(run.weight(), -3);
  EXPECT_EQ(run.counters.pushes_dropped, 1u);
  run.clock->note_pull(1);
  for (uint64_t step = 3; step < 5; ++step) run.push(0, step, 0);
  EXPECT_FALSE(run.push(1, 1, 100)->done().dropped) << "exactly as old as it may be";
}

TEST(AsynchronousClock, ThePassEndsForAllWithTheLastTrainer) {
  RunParts run({.async = true}, 2);
  OutcomePtr early = run.end(0, 0);
  EXPECT_TRUE(early->waits());
  EXPECT_FALSE(run.push(1, 0, 1)->done().pass_ended);
  OutcomePtr last = run.end(1, 1);
  EXPECT_TRUE(early->done().pass_ended && last->done().pass_ended);
  EXPECT_EQ(run.clock->pass(), 1u);
}

TEST(AsynchronousClock, CheckpointsAreNumberedByTheBatchesOfAllAndThePasses) {
  RunParts run({.async = true}, 2);
  run.push(0, 0, 1);
  run.mark(0, 1, 1);
  run.mark(1, 0, 1);
  EXPECT_THAT(run.begun, ElementsAre(Begun(3, false)));
  run.push(1, 1, 1);
  run.end(0, 2);
  run.end(1, 2, /*checkpoint=*/true);
  EXPECT_THAT(run.begun, ElementsAre(Begun(3, false), Begun(5, true)));
}

// Trainer 1 is killed when one of two shards has its last push, and comes again as another process, which
// begins with the step that the other shard lacks.
TEST(AsynchronousClock, ShardsNumberCheckpointsAlikeThoughALostTrainerHasPushedToSomeOfThem) {
  RunParts ahead({.async = true}, 2), behind({.async = true}, 2);
  for (RunParts* shard : {&ahead, &behind}) {
    shard->push(0, 0, 1);
    shard->push(1, 0, 1);
  }
  ahead.push(1, 1, 1);
  for (RunParts* shard : {&ahead, &behind}) {
    shard->give_up(1);
    shard->mark(0, 1, 1);
    EXPECT_THAT(shard->begun, ElementsAre(Begun(2, false)));
    shard->push(0, 2, 1);
    shard->end(0, 3, /*checkpoint=*/true);
    EXPECT_THAT(shard->begun, ElementsAre(Begun(2, false), Begun(4, true)));
    EXPECT_EQ(shard->clock->run_state().clock, 4u);
    shard->roster.at(1).given_up = false;
  }
  behind.push(1, 1, 1);
  for (RunParts* shard : {&ahead, &behind}) {
    RunParts again({.async = true}, 2);
    load_shard_snapshot(save_shard_snapshot(shard->snapshot_parts()), again.snapshot_parts(), nullptr);
    for (RunParts* each : {shard, &again}) {
      each->begun.clear();
      each->push(1, 2, 1);
      each->end(1, 3, /*checkpoint=*/true);
      each->end(0, 4, /*checkpoint=*/true);
      EXPECT_THAT(each->begun, ElementsAre(Begun(5, true)))
          << "where it takes part, it is counted from then on";
      each->push(1, 4, 1);
      each->end(1, 5, /*checkpoint=*/true);
      each->end(0, 5, /*checkpoint=*/true);
      EXPECT_THAT(each->begun, ElementsAre(Begun(5, true), Begun(7, true)));
    }
  }
}

// The second shard has neither the marker of trainer 1, which is lost, nor its last batches.
TEST(AsynchronousClock, TrainersTellTheNumberOfACheckpointThatTheFirstShardHasChosen) {
  RunParts first({.async = true}, 2), second({.async = true}, 2);
  first.want_checkpoints([](uint64_t number) { return number == 4; });
  for (uint64_t step = 0; step < 3; ++step) first.push(1, step, 1);
  second.push(1, 0, 1);
  const Done told = first.push(0, 0, 1)->done();
  second.push(0, 0, 1);
  EXPECT_EQ(told.checkpoint_at, 2u);
  EXPECT_EQ(told.checkpoint_number, 4u);
  first.mark(1, 3, 1);
  second.give_up(1);
  for (RunParts* shard : {&first, &second}) {
    shard->send(
        0,
        {.step = 1, .info = {1, 0}, .begins_checkpoint = true, .checkpoint_number = told.checkpoint_number},
        1);
    EXPECT_THAT(shard->begun, ElementsAre(Begun(4, false)));
    shard->push(0, 2, 1);
  }
  first.give_up(1);
  const Done dealt = first.ask(0, 3)->done();
  EXPECT_TRUE(dealt.dealt);
  EXPECT_EQ(dealt.checkpoint_number, 8u);
  second.ask(0, 3);
  for (RunParts* shard : {&first, &second}) {
    shard->end(0, 4, /*checkpoint=*/true, dealt.checkpoint_number);
    EXPECT_THAT(shard->begun, ElementsAre(Begun(4, false), Begun(8, true)));
  }
}

TEST(AsynchronousClock, EachTrainerIsToldWhichOfItsPushesIsItsMarker) {
  RunParts run({.async = true}, 2);
  run.want_checkpoints([](uint64_t number) { return number == 2; });
  EXPECT_EQ(run.push(0, 0, 1)->done().checkpoint_at, 0u);
  EXPECT_EQ(run.push(1, 0, 1)->done().checkpoint_at, 2u) << "its next push";
  EXPECT_EQ(run.push(0, 1, 1)->done().checkpoint_at, 3u) << "the other's next push";
  EXPECT_EQ(run.push(1, 1, 1)->done().checkpoint_at, 2u) << "that was its marker, but it had not heard of it";
  EXPECT_EQ(run.push(1, 2, 1)->done().checkpoint_at, 4u) << "another push is its marker";
  EXPECT_EQ(run.clock->next_checkpoint(0), 3u);
  EXPECT_EQ(run.clock->next_checkpoint(1), 4u);
}

TEST(AsynchronousClock, PushesAfterAMarkerWaitForTheMarkersOfTheOthers) {
  RunParts run({.async = true}, 2);
  EXPECT_TRUE(run.mark(0, 0, 1)->answer);
  OutcomePtr held = run.push(0, 1, 100);
  EXPECT_TRUE(held->waits());
  EXPECT_THAT(run.begun, IsEmpty());
  run.mark(1, 0, 10);
  EXPECT_THAT(run.begun, ElementsAre(Begun(2, false)));
  EXPECT_TRUE(held->answer);
  EXPECT_EQ(run.weight(), -111);
}

TEST(AsynchronousClock, TrainersThatAreGivenUpAreNotWaitedFor) {
  RunParts run({.async = true}, 2);
  run.mark(0, 0, 1);
  run.give_up(1);
  EXPECT_THAT(run.begun, ElementsAre(Begun(1, false)));
  EXPECT_TRUE(run.end(0, 1)->done().pass_ended);
}

}  // namespace
}  // namespace ps::step_clocks_test
