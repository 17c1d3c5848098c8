// The gatherings of a run: when they are complete, and when they end the run.
#include "ps/server/run_gatherings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/wire/gather.h"
#include "run_parts.h"

namespace ps::run_gatherings_test {
namespace {

using testing::ElementsAre;

class RunGatheringsTest : public testing::Test {
 protected:
  OutcomePtr give(int rank, const std::string& bytes, uint64_t number = 0) {
    auto outcome = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome);
    gatherings_.give(rank, {number, bytes}, reply);
    return outcome;
  }
  std::string last(const std::string& bytes) { return kGatheredAtEnd + bytes; }

  // Both give what they have at the end of the run.
  std::vector<OutcomePtr> end() { return {give(0, last("a")), give(1, last("b"))}; }
  bool all_have_ended() { return run_.roster.at(0).ended && run_.roster.at(1).ended; }

  RunParts run_{Consistency()};
  RunGatherings gatherings_{run_.roster, *run_.clock, run_.held, run_.changes};
};

TEST_F(RunGatheringsTest, WaitsForAllThatWereNotGivenUp) {
  const OutcomePtr first = give(0, "a");
  EXPECT_TRUE(first->waits());
  run_.roster.at(1).given_up = true;
  gatherings_.finish_if_complete();
  EXPECT_THAT(decode_gathered(*first->answer), ElementsAre("a", ""));
  EXPECT_EQ(gatherings_.present().number(), 1u);
  EXPECT_FALSE(run_.roster.at(0).ended);
}

TEST_F(RunGatheringsTest, NothingIsFinishedWhereNobodyHasGiven) {
  run_.roster.at(0).given_up = run_.roster.at(1).given_up = true;
  gatherings_.finish_if_complete();
  EXPECT_EQ(gatherings_.present().number(), 0u);
}

TEST_F(RunGatheringsTest, LogIsToldOfEachGiftOnce) {
  std::vector<int> told;
  run_.changes.set_sink([&](ShardEvent event, int rank, std::string_view) {
    EXPECT_EQ(event, ShardEvent::kGather);
    told.push_back(rank);
  });
  for (int times = 0; times < 2; ++times) give(1, "b");
  EXPECT_THAT(told, ElementsAre(1));
}

TEST_F(RunGatheringsTest, TheLastOneEndsTheRunAtOnceWhereNobodyConfirmsIt) {
  for (const OutcomePtr& outcome : end()) EXPECT_FALSE(outcome->waits());
  EXPECT_TRUE(all_have_ended());
}

TEST_F(RunGatheringsTest, TrainersHearOfTheEndWhenItIsConfirmed) {
  std::vector<uint64_t> finished;
  gatherings_.on_finished([&](uint64_t passes) { finished.push_back(passes); });
  const std::vector<OutcomePtr> outcomes = end();
  EXPECT_THAT(finished, ElementsAre(0));
  for (const OutcomePtr& outcome : outcomes) EXPECT_TRUE(outcome->waits());
  EXPECT_FALSE(all_have_ended());
  gatherings_.confirm_end();
  for (const OutcomePtr& outcome : outcomes) EXPECT_FALSE(outcome->waits());
  EXPECT_TRUE(all_have_ended());
}

TEST_F(RunGatheringsTest, WhoComesToConfirmLateIsToldOfTheEnd) {
  gatherings_.on_finished([](uint64_t) {});
  end();
  std::vector<uint64_t> finished;
  gatherings_.on_finished([&](uint64_t passes) { finished.push_back(passes); });
  EXPECT_THAT(finished, ElementsAre(0));
}

}  // namespace
}  // namespace ps::run_gatherings_test
