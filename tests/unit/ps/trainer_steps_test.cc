// The pushes of a run's trainers that are not applied yet.
#include "ps/server/trainer_steps.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "run_parts.h"

namespace ps::trainer_steps_test {
namespace {

// The first slice of a step of two, beside an own chunk.
PushRequest first_slice(uint64_t step) {
  PushRequest request;
  request.step = step;
  request.num_slices = 2;
  request.chunk = "four";
  return request;
}

void put_slice(TrainerSteps& trainer, PushRequest request) {
  PendingPush& push = trainer.pending_push(request);
  push.slices.try_emplace(request.slice, std::move(request));
}

TEST(TrainerSteps, StepsCountAsPushedOnceAllTheirSlicesAreThere) {
  TrainerSteps trainer;
  trainer.next_step = 5;
  PushRequest request = first_slice(5);
  put_slice(trainer, std::move(request));
  EXPECT_EQ(trainer.next_push(), nullptr);
  EXPECT_FALSE(trainer.has_complete_push(5));
  EXPECT_EQ(trainer.pushed_steps(), 5u);
  request = first_slice(5);
  request.slice = 1;
  put_slice(trainer, std::move(request));
  EXPECT_EQ(trainer.next_push(), &trainer.pushes.at(5));
  EXPECT_TRUE(trainer.has_complete_push(5));
  EXPECT_EQ(trainer.complete_push(6), nullptr);
  EXPECT_EQ(trainer.pushed_steps(), 6u);
}

TEST(TrainerSteps, BytesOfChunksAreThoseOfAllSlicesOfAllTrainers) {
  std::vector<TrainerSteps> trainers(2);
  EXPECT_EQ(pending_chunk_bytes(trainers), 0u);
  put_slice(trainers[0], first_slice(0));
  put_slice(trainers[1], first_slice(0));
  put_slice(trainers[1], first_slice(1));
  EXPECT_EQ(pending_chunk_bytes(trainers), 12u);
}

TEST(TrainerSteps, APassHasBegunWhenSomeTrainerHasABatch) {
  std::vector<TrainerSteps> trainers(2);
  trainers[1].batches = 7;
  EXPECT_FALSE(pass_begun(trainers)) << "they are of the pass before";
  trainers[1].pass_batches = 1;
  EXPECT_TRUE(pass_begun(trainers));
}

TEST(TrainerSteps, RepliesOfConnectionsThatAreGoneAreForgotten) {
  RunParts run({}, 2);
  OutcomePtr gone = run.push(0, 0, 1);
  gone->wanted = false;
  forget_unwanted(run.clock->trainers());
  EXPECT_EQ(num_waiting(run.clock->trainers()), 0u);
  EXPECT_TRUE(holds_pushes(run.clock->trainers())) << "the push stays";
  run.push(1, 0, 1);
  EXPECT_TRUE(gone->waits());
  EXPECT_EQ(run.weight(), -2);
}

TEST(TrainerSteps, GivesItsRepliesAwayAndForgetsAllPushes) {
  RunParts run({}, 2);
  OutcomePtr waiting = run.push(0, 0, 1);
  std::vector<ReplyPtr> replies;
  release_replies(run.clock->trainers(), replies);
  ASSERT_EQ(replies.size(), 1u);
  replies[0]->fail(Error(Code::kUnavailable, "over"));
  EXPECT_TRUE(waiting->error);
  EXPECT_FALSE(holds_pushes(run.clock->trainers()));
}

}  // namespace
}  // namespace ps::trainer_steps_test
