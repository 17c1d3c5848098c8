// When checkpoints begin, who is told of it, and who has asked for one.
#include "ps/server/checkpoint_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/change_notifier.h"
#include "ps/server/checkpoint_requests.h"
#include "recording_reply.h"

namespace ps::checkpoint_alignment_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ChangeNotifier, ABodyIsMadeOnlyForWhoeverListens) {
  ChangeNotifier changes;
  int made = 0;
  auto body = [&made] { return cat("body ", ++made); };
  changes.note(ShardEvent::kPush, 1, body);
  EXPECT_EQ(made, 0);
  std::vector<std::string> told;
  changes.set_sink([&told](ShardEvent event, int rank, std::string_view bytes) {
    told.push_back(cat(static_cast<int>(event), " of ", rank, ": ", bytes));
  });
  changes.note(ShardEvent::kPush, 1, body);
  changes.note(ShardEvent::kEndRun, 2, empty_event);
  EXPECT_THAT(told, ElementsAre("5 of 1: body 1", "8 of 2: "));
}

TEST(ChangeNotifier, NumbersOfAnEventFollowEachOtherInTheirWidths) {
  EXPECT_EQ(event_of_numbers(uint64_t{7}, uint32_t{1}), std::string("\7\0\0\0\0\0\0\0\1\0\0\0", 12));
}

class CheckpointAlignmentTest : public testing::Test {
 protected:
  CheckpointAlignmentTest() {
    changes_.set_sink([this](ShardEvent event, int, std::string_view body) {
      EXPECT_EQ(event, ShardEvent::kCheckpoint);
      ByteReader in(body);
      logged_.push_back(in.get<uint64_t>());
      EXPECT_EQ(in.remaining(), 0u);
    });
  }

  ChangeNotifier changes_;
  CheckpointAlignment checkpoints_{changes_};
  std::vector<uint64_t> logged_;
};

TEST_F(CheckpointAlignmentTest, WithoutCheckpointsNoneIsDecidedOnAndNoneBegins) {
  EXPECT_FALSE(checkpoints_.decide(3));
  checkpoints_.begin(3, true);
  EXPECT_THAT(logged_, IsEmpty());
  EXPECT_TRUE(checkpoints_.at_ends());
}

TEST_F(CheckpointAlignmentTest, TheLogIsToldOfEveryDecisionForOneAndOfNoOther) {
  checkpoints_.on_checkpoint(
      nullptr, [](uint64_t number) { return number % 3 == 0; }, true);
  EXPECT_FALSE(checkpoints_.decide(4));
  EXPECT_TRUE(checkpoints_.decide(6));
  EXPECT_THAT(logged_, ElementsAre(6));
}

TEST_F(CheckpointAlignmentTest, BeginsWithItsNumber) {
  std::vector<std::pair<uint64_t, bool>> begun;
  checkpoints_.on_checkpoint([&begun](uint64_t number, bool at_end) { begun.emplace_back(number, at_end); },
                             nullptr,
                             /*at_ends=*/false);
  checkpoints_.begin(3, false);
  checkpoints_.begin(5, true);
  EXPECT_THAT(begun, ElementsAre(Pair(3, false), Pair(5, true)));
  EXPECT_FALSE(checkpoints_.decide(6)) << "another shard decides";
  EXPECT_FALSE(checkpoints_.at_ends());
}

TEST_F(CheckpointAlignmentTest, AReplayDecidesUntilItGivesTheDecisionBack) {
  checkpoints_.on_checkpoint(
      nullptr, [](uint64_t) { return true; }, true);
  CheckpointAlignment::Wanted live = checkpoints_.exchange_wanted([](uint64_t) { return false; });
  EXPECT_FALSE(checkpoints_.decide(1));
  checkpoints_.exchange_wanted(std::move(live));
  EXPECT_TRUE(checkpoints_.decide(1));
}

class CheckpointRequestsTest : public testing::Test {
 protected:
  static ReplyPtr reply(const OutcomePtr& outcome) { return std::make_unique<RecordingReply>(outcome); }
  OutcomePtr ask() {
    auto outcome = std::make_shared<Outcome>();
    requests_.add(reply(outcome));
    return outcome;
  }
  static AskedCheckpoint answer(const OutcomePtr& outcome) {
    return decode_asked_checkpoint(*outcome->answer);
  }

  CheckpointRequests requests_;
};

TEST_F(CheckpointRequestsTest, WhoAsksBeforeACheckpointBeginsIsAnsweredAtItsEnd) {
  EXPECT_FALSE(requests_.any());
  OutcomePtr first = ask();
  EXPECT_TRUE(requests_.any());
  requests_.begin();
  EXPECT_FALSE(requests_.any());
  EXPECT_TRUE(first->waits());
  requests_.end({true, "step-5", 7});
  EXPECT_TRUE(answer(first).counts);
  EXPECT_EQ(answer(first).text, "step-5");
  EXPECT_EQ(answer(first).run, 7u);
}

TEST_F(CheckpointRequestsTest, WhoAsksWhileOneIsWrittenGetsTheNext) {
  ask();
  requests_.begin();
  OutcomePtr late = ask();
  requests_.end({true, "step-5", 7});
  EXPECT_TRUE(late->waits());
  EXPECT_TRUE(requests_.any());
  requests_.begin();
  requests_.end({false, "the disk is full", 7});
  EXPECT_FALSE(answer(late).counts);
}

TEST_F(CheckpointRequestsTest, WhoAsksForTheOneThatIsBeingWrittenGetsIt) {
  requests_.begin();
  auto outcome = std::make_shared<Outcome>();
  requests_.add_begun(reply(outcome));
  EXPECT_FALSE(requests_.any()) << "no other is wanted";
  requests_.end({true, "step-5", 7});
  EXPECT_EQ(answer(outcome).text, "step-5");
}

TEST_F(CheckpointRequestsTest, ARequestForWhichNobodyWaitsIsFulfilledByTheNextCheckpoint) {
  requests_.add();
  EXPECT_TRUE(requests_.any());
  requests_.begin();
  EXPECT_FALSE(requests_.any());
}

TEST_F(CheckpointRequestsTest, AllAreRefusedWhenThereWillBeNone) {
  OutcomePtr begun = ask();
  requests_.begin();
  OutcomePtr waiting = ask();
  requests_.add();
  requests_.refuse(Error(Code::kUnavailable, "the server is ending"));
  for (const OutcomePtr& outcome : {begun, waiting}) {
    ASSERT_TRUE(outcome->error);
    EXPECT_EQ(outcome->error->code(), Code::kUnavailable);
  }
  EXPECT_FALSE(requests_.any());
}

}  // namespace
}  // namespace ps::checkpoint_alignment_test
