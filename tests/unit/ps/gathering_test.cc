// Gatherings: all get what everyone gave, also those who ask again.
#include "ps/server/gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/gather.h"
#include "recording_reply.h"
#include "support/gather_body.h"
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
    gathering_.add_reply(rank, {}, std::make_unique<RecordingReply>(outcome));
    return outcome;
  }
  // The answer to one who asks for this gathering again; null when it is the present one.
  static OutcomePtr ask(const Gathering& gathering, uint64_t number) {
    auto outcome = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome);
    const bool answered =
        gathering.answer_former({.number = number, .bytes = {}, .first = 0, .rest = 0}, reply);
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
  gathering_.release_replies(replies);
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

// A process gives in slices; one that takes its rank over begins anew.
TEST_F(GatheringTest, SlicesMakeOneGiftHoweverOftenTheyComeAgain) {
  const auto add = [&](uint64_t first, std::string_view bytes, uint64_t rest) {
    auto gift = gathering_.add_slice(0, {.number = 0, .bytes = bytes, .first = first, .rest = rest}, held_);
    return gift ? gift->bytes : "";
  };
  EXPECT_EQ(add(0, "of the former process", 9), "");
  gathering_.forget_slices(0);
  EXPECT_EQ(held_.bytes_in_use(HeldKind::kGatherings), 0u);
  EXPECT_EQ(add(0, "one", 6), "");
  EXPECT_EQ(held_.bytes_in_use(HeldKind::kGatherings), memory_of_given(9)) << "of all, before it has come";
  EXPECT_EQ(add(3, "two", 3), "");
  for (uint64_t first : {0, 3}) EXPECT_EQ(add(first, "two", 6 - first), "") << "again";
  EXPECT_EQ(error_of([&] { add(7, "ee", 0); }).code(), Code::kData) << "behind what is there";
  EXPECT_EQ(error_of([&] { add(6, "three", 0); }).code(), Code::kData) << "of another size";
  EXPECT_EQ(error_of([&] { add(3, "two", 4); }).code(), Code::kData) << "of another size";
  EXPECT_EQ(add(3, "twosix", 0), "onetwosix") << "cut in another way";
}

TEST_F(GatheringTest, AFirstSliceHasToComeFirst) {
  const GatherRequest second{.number = 0, .bytes = "two", .first = 3, .rest = 0};
  EXPECT_EQ(error_of([&] { gathering_.add_slice(0, second, held_); }).code(), Code::kData);
  const GatherRequest large{.number = 0, .bytes = "a", .first = 0, .rest = 2 << 20};
  EXPECT_EQ(error_of([&] { gathering_.add_slice(0, large, held_); }).code(), Code::kExhausted);
}

TEST_F(GatheringTest, SlicesAreAnsweredWhenAllOfTheGiftIsThere) {
  const auto slice = std::make_shared<Outcome>(), unwanted = std::make_shared<Outcome>();
  const GatherRequest first{.number = 0, .bytes = "one", .first = 0, .rest = 3};
  gathering_.add_slice(0, first, held_);
  for (const OutcomePtr& outcome : {slice, unwanted})
    gathering_.add_reply(0, first, std::make_unique<RecordingReply>(outcome));
  EXPECT_EQ(gathering_.num_waiting(), 2u);
  unwanted->wanted = false;
  gathering_.forget_unwanted();
  EXPECT_EQ(gathering_.num_waiting(), 1u);
  const OutcomePtr last = give(0, "onetwo");
  EXPECT_EQ(*slice->answer, "");
  EXPECT_TRUE(last->waits());
  const auto again = std::make_shared<Outcome>();
  gathering_.add_reply(0, first, std::make_unique<RecordingReply>(again));
  EXPECT_EQ(*again->answer, "") << "it is there already";
}

TEST_F(GatheringTest, SlicesOfThoseWhomTheOthersDoNotWaitForGoWithTheGathering) {
  gathering_.add_slice(1, {.number = 0, .bytes = "one", .first = 0, .rest = 3}, held_);
  gather("0");
  EXPECT_EQ(held_.bytes_in_use(HeldKind::kGatherings), 1u);
}

// All that was gathered travels in slices: the sizes with the first, and the others by where they begin.
TEST_F(GatheringTest, LongAnswersAreCut) {
  Random random(1, 0);
  std::vector<std::string> all(3);
  for (std::string& bytes : all) bytes.resize(kGatherSliceBytes / 2 + random.below(kGatherSliceBytes));
  for (std::string& bytes : all) bytes.front() = bytes.back() = static_cast<char>(random.below(256));
  for (int rank = 0; rank < 3; ++rank) gathering_.give(rank, all[static_cast<size_t>(rank)], {});
  gathering_.finish(3);
  std::string text = *ask(gathering_, 0)->answer;
  const GatheredLength length = gathered_length(bytes_of(text));
  EXPECT_EQ(length.num, 3u);
  size_t slices = 1;
  for (; text.size() < length.all; ++slices) {
    const Payload slice = gathering_.former_slice({0, text.size() - length.sizes});
    EXPECT_LE(slice.size(), kGatherSliceBytes);
    for (ConstBytes part : slice.parts) text.append(part.data(), part.size());
  }
  EXPECT_GT(slices, 2u);
  EXPECT_TRUE(decode_gathered(bytes_of(text)) == all);
  EXPECT_EQ(error_of([&] { gathering_.former_slice({0, length.all - length.sizes}); }).code(), Code::kData);
  EXPECT_EQ(error_of([&] { gathering_.former_slice({1, 0}); }).code(), Code::kData) << "the present one";
}

TEST(GatherRequest, SaysWhereItsBytesLie) {
  const std::string_view bytes("a\0b", 3);
  const std::string body = gather_body({.number = 7, .bytes = bytes, .first = 4, .rest = 5});
  const GatherRequest request = decode_gather(body);
  EXPECT_EQ(request.number, 7u);
  EXPECT_EQ(request.bytes, bytes);
  EXPECT_EQ(request.first, 4u);
  EXPECT_EQ(request.rest, 5u);
  EXPECT_EQ(request.size(), 12u);
  for (size_t size = 0; size <= 24; ++size) {  // with nothing but the numbers, a slice that is not the last
    EXPECT_EQ(error_of([&] { decode_gather(body.substr(0, size)); }).code(), Code::kData) << size;
  }
  const uint64_t most = kMostGivenBytes;
  for (auto [first, rest] :
       {std::pair{most, uint64_t{0}}, {uint64_t{0}, most}, {~uint64_t{0}, uint64_t{2}}}) {
    const GatherRequest large{.number = 0, .bytes = bytes, .first = first, .rest = rest};
    EXPECT_EQ(error_of([&] { decode_gather(gather_body(large)); }).code(), Code::kData) << first;
  }
}

}  // namespace
}  // namespace ps::gathering_test
