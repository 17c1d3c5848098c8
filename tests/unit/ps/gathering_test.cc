// Gatherings: all get what everyone gave, also those who ask again.
#include "ps/server/gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/wire/run_messages.h"
#include "recording_reply.h"
#include "support/scratch_folder.h"

namespace ps::gathering_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GatheringTest : public testing::Test {
 protected:
  OutcomePtr give(int rank, const std::string& bytes) {
    gathering_.give(rank, bytes,
                    held_.take(static_cast<HeldPeer>(rank), HeldKind::kGatherings, bytes.size()));
    auto outcome = std::make_shared<Outcome>();
    gathering_.add_reply(std::make_unique<RecordingReply>(outcome));
    return outcome;
  }
  // The answer to one who asks for this gathering again; null when it is the present one.
  static OutcomePtr ask(const Gathering& gathering, uint64_t number) {
    auto outcome = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome);
    const bool answered = gathering.answer_former(number, reply);
    EXPECT_EQ(reply == nullptr, answered);
    return answered ? outcome : nullptr;
  }
  static std::vector<std::string> gathered(const OutcomePtr& outcome) {
    return decode_gathered(*outcome->answer);
  }
  std::vector<std::string> gathered(uint64_t number) { return gathered(ask(gathering_, number)); }
  void gather(const std::string& bytes) {
    give(0, bytes);
    gathering_.finish(1);
  }
  static std::string saved(const Gathering& gathering) {
    std::string out;
    gathering.save(out);
    return out;
  }

  TableMemory tables_{std::make_shared<MemoryBudget>(), {}};
  ShardCounters counters_;
  HeldMemory held_{1 << 20, tables_, counters_};
  Gathering gathering_;
};

TEST_F(GatheringTest, AllAreAnsweredWithWhatEachRankGave) {
  OutcomePtr third = give(2, "c"), first = give(0, "a");
  EXPECT_TRUE(first->waits());
  EXPECT_EQ(gathering_.num_waiting(), 2u);
  EXPECT_TRUE(gathering_.has_given(0));
  EXPECT_FALSE(gathering_.has_given(1));
  gathering_.finish(3);
  EXPECT_THAT(gathered(first), ElementsAre("a", "", "c"));
  EXPECT_THAT(gathered(third), ElementsAre("a", "", "c"));
  EXPECT_EQ(gathering_.number(), 1u);
  EXPECT_TRUE(gathering_.is_empty());
  EXPECT_EQ(gathering_.num_waiting(), 0u);
}

TEST_F(GatheringTest, TheFirstThatARankGivesStays) {
  OutcomePtr old = give(0, "first"), again = give(0, "second");
  gathering_.finish(1);
  EXPECT_THAT(gathered(old), ElementsAre("first"));
  EXPECT_THAT(gathered(again), ElementsAre("first"));
}

TEST_F(GatheringTest, TheLastTwoAreAnsweredAgainAndNoOthers) {
  for (const char* bytes : {"0", "1", "2"}) gather(bytes);
  EXPECT_EQ(ask(gathering_, 3), nullptr) << "the present one";
  EXPECT_THAT(gathered(2), ElementsAre("2"));
  EXPECT_THAT(gathered(1), ElementsAre("1"));
  for (uint64_t number : {uint64_t{0}, uint64_t{4}, ~uint64_t{0}}) {
    EXPECT_EQ(error_of([&] { ask(gathering_, number); }).code(), Code::kData) << number;
  }
}

TEST_F(GatheringTest, BeforeTheFirstThereIsNoFormerOne) {
  for (uint64_t number : {~uint64_t{0}, ~uint64_t{0} - 1, uint64_t{1}}) {
    EXPECT_EQ(error_of([&] { ask(gathering_, number); }).code(), Code::kData) << number;
  }
}

TEST_F(GatheringTest, BytesAreHeldAsLongAsTheirAnswersAreKept) {
  for (const char* bytes : {"four", "four"}) gather(bytes);
  EXPECT_EQ(held_.bytes_in_use(HeldKind::kGatherings), 8u);
  gather("1");
  EXPECT_EQ(held_.bytes_in_use(HeldKind::kGatherings), 5u);
  gathering_.restart(0);
  EXPECT_EQ(held_.bytes_in_use(HeldKind::kGatherings), 0u);
}

TEST_F(GatheringTest, WhoHasDoneAllOfTheRunSaysSo) {
  give(0, std::string(1, kGatheredAtEnd));
  give(1, std::string(1, kGathered) + "x");
  EXPECT_TRUE(gathering_.has_given_end(0));
  EXPECT_FALSE(gathering_.has_given_end(1));
  EXPECT_FALSE(gathering_.has_given_end(2));
}

TEST_F(GatheringTest, RepliesOfConnectionsThatAreGoneAreForgotten) {
  OutcomePtr gone = give(0, "a"), there = give(0, "a");
  gone->wanted = false;
  gathering_.forget_unwanted();
  EXPECT_EQ(gathering_.num_waiting(), 1u);
  std::vector<ReplyPtr> replies;
  gathering_.take_replies(replies);
  ASSERT_EQ(replies.size(), 1u);
  replies[0]->fail(Error(Code::kUnavailable, "over"));
  EXPECT_TRUE(there->error);
  EXPECT_TRUE(gathering_.has_given(0)) << "what was given stays";
}

TEST_F(GatheringTest, ASavedGatheringGoesOnTheSame) {
  gather("before");
  gather("last");
  give(1, "second");
  const std::string bytes = saved(gathering_);
  Gathering again;
  ByteReader in(bytes);
  again.load(in, held_);
  EXPECT_TRUE(in.ok() && in.remaining() == 0);
  EXPECT_EQ(saved(again), bytes);
  EXPECT_THAT(gathered(ask(again, 0)), ElementsAre("before"));
  EXPECT_THAT(gathered(ask(again, 1)), ElementsAre("last"));
  EXPECT_FALSE(again.has_given(0));
  again.finish(2);
  EXPECT_THAT(gathered(ask(again, 2)), ElementsAre("", "second"));
}

TEST_F(GatheringTest, APrefixOfASavedGatheringIsRefused) {
  gather("last");
  give(0, "given");
  const std::string bytes = saved(gathering_);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Gathering again;
    ByteReader in(std::string_view(bytes).substr(0, size));
    const Error error = error_of([&] { again.load(in, held_); });
    if (error.message().empty()) {
      EXPECT_FALSE(in.ok()) << size << " bytes";
    } else {
      EXPECT_EQ(error.code(), Code::kCorrupt) << size << " bytes";
    }
  }
}

TEST(GatherRequest, SaysItsNumberAndItsBytes) {
  const GatherRequest request = decode_gather(encode_gather(7, std::string_view("a\0b", 3)));
  EXPECT_EQ(request.number, 7u);
  EXPECT_EQ(request.bytes, std::string_view("a\0b", 3));
  EXPECT_EQ(decode_gather(encode_gather(7, "")).bytes, "");
  for (size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(error_of([&] { decode_gather(encode_gather(7, "abc").substr(0, size)); }).code(), Code::kData);
  }
}

}  // namespace
}  // namespace ps::gathering_test
