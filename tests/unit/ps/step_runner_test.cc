// Steps that are applied in slices, that fail, and that are made again; and the slots of readers.
#include "ps/server/step_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/reader_slots.h"
#include "run_parts.h"

namespace ps::step_runner_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StepRunnerTest : public testing::Test {
 protected:
  // A push of three rows, whose step a runner of slices applies in several.
  void push(uint64_t step) {
    std::string parts;
    encode_key_slice(0, std::vector<uint64_t>{1, 2, 3}, parts);
    std::string body = encode_push({.step = step, .info = {1, 0}}, 1, parts);
    for (int i = 0; i < 3; ++i) put(body, 1.0f);
    runner_.run([&] { run_.send_body(0, std::move(body)); });
    runner_.settle();
  }

  RunParts run_{Consistency(), 1};
  std::vector<std::string> calls_;
  StepRunner runner_{run_.applier,
                     /*slice_work=*/1,
                     {.go_on = [this] { run_.clock->go_on(); },
                      .settle = [this] { calls_.push_back("settle"); },
                      .ended = [this] { calls_.push_back("ended"); },
                      .failed = [this](const Error& error) { calls_.push_back(error.message()); }}};
};

TEST_F(StepRunnerTest, StepsAreAppliedAtOnceUnlessSomebodyGoesOnWithThem) {
  push(0);
  EXPECT_FALSE(runner_.busy());
  EXPECT_EQ(run_.clock->clock(), 1u);
  EXPECT_THAT(calls_, ElementsAre("settle"));
  runner_.go_on();
  EXPECT_THAT(calls_, ElementsAre("settle")) << "there is nothing to go on with";
}

TEST_F(StepRunnerTest, SlicesAreAskedForUntilTheStepEnds) {
  int asked = 0;
  runner_.on_busy([&] { ++asked; });
  push(0);
  ASSERT_TRUE(runner_.busy());
  EXPECT_EQ(run_.clock->clock(), 0u);
  EXPECT_THAT(calls_, ElementsAre()) << "the request is not settled while its step is under way";
  int slices = 1;
  for (; runner_.busy(); ++slices) {
    EXPECT_EQ(asked, slices);
    runner_.go_on();
  }
  EXPECT_GE(slices, 3);
  EXPECT_EQ(run_.clock->clock(), 1u);
  EXPECT_THAT(calls_, ElementsAre("ended"));
  push(1);
  ASSERT_TRUE(runner_.busy());
  runner_.finish();
  EXPECT_EQ(run_.clock->clock(), 2u);
  push(2);
  EXPECT_TRUE(runner_.busy()) << "steps are sliced again after one that was finished";
}

TEST_F(StepRunnerTest, NoStepIsSlicedWhileALogIsMadeAgain) {
  runner_.on_busy([] {});
  runner_.begin_replay();
  push(0);
  EXPECT_EQ(run_.clock->clock(), 1u);
  runner_.end_replay();
  push(1);
  EXPECT_TRUE(runner_.busy());
}

TEST_F(StepRunnerTest, StepThatFailsBreaksTheShard) {
  EXPECT_FALSE(runner_.broken());
  runner_.check();
  runner_.on_busy([] {});
  push(0);
  ASSERT_TRUE(runner_.busy());
  runner_.run([] { fail(Code::kExhausted, "no memory"); });
  EXPECT_FALSE(runner_.busy()) << "nobody goes on with what is half done";
  EXPECT_TRUE(runner_.broken());
  EXPECT_THAT(calls_, ElementsAre("step 0: no memory"));
  try {
    runner_.check();
    ADD_FAILURE() << "a broken shard takes no requests";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
    EXPECT_THAT(error.message(), HasSubstr("step 0"));
  }
}

TEST(ReaderSlotsTest, AreRefusedWhenAllAreTakenAndFreeAgainAfterwards) {
  ReaderSlots slots(2);
  EXPECT_FALSE(slots.any());
  slots.join();
  slots.join();
  EXPECT_THROW(slots.join(), Error);
  slots.leave();
  slots.join();
  slots.leave();
  slots.leave();
  EXPECT_FALSE(slots.any());
}

}  // namespace
}  // namespace ps::step_runner_test
