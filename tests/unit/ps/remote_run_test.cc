// A trainer's part in a run, against shards that answer as the test says: gatherings, where it begins, what it tells of
// its state and takes up again.
#include "ps/client/remote_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "fake_shards.h"
#include "membership/save_election.h"
#include "optim/synthetic_parameter.h"
#include "ps/client/remote_checkpoints.h"
#include "ps/client/remote_group.h"
#include "ps/client/remote_pulls.h"
#include "ps/client/remote_pushes.h"
#include "ps/client/trainer_state_link.h"
#include "ps/server/gathered.h"
#include "ps/wire/checkpoint_messages.h"
#include "ps/wire/gather.h"
#include "ps/wire/run_messages.h"
#include "support/scratch_folder.h"

namespace ps::remote_run_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// State of so many chunks, each of which is a letter.
class LetterState final : public TrainerState {
 public:
  explicit LetterState(std::string letters, bool is_needed = true)
      : letters_(std::move(letters)), is_needed_(is_needed) {}

  std::unique_ptr<StateChunkSource> chunks(uint64_t) const override {
    return std::make_unique<Source>(letters_);
  }
  void restore(std::string_view chunk) override { restored += chunk; }
  void end_restoring(uint64_t batches) override { restored += cat(" of ", batches); }
  bool matters() const override { return is_needed_; }

  std::string restored;

 private:
  struct Source final : StateChunkSource {
    explicit Source(const std::string& all) : letters(all) {}
    size_t size() const override { return letters.size(); }
    std::string encode(size_t chunk) const override { return letters.substr(chunk, 1); }
    const std::string letters;
  };

  const std::string letters_;
  const bool is_needed_;
};

TEST(PushedState, ChunksAreDealtOverTheShardsFromTheRankOn) {
  PushedState pushed(/*rank=*/5, /*num_shards=*/3);
  for (size_t shard : {0, 1, 2}) EXPECT_EQ(pushed.num_messages(shard), 0u) << "nothing is pushed";
  pushed.sources.push_back(LetterState("abc").chunks(1));
  pushed.sources.push_back(LetterState("").chunks(1));
  pushed.sources.push_back(LetterState("de").chunks(1));
  EXPECT_EQ(pushed.num_chunks(), 5u);
  std::string all;
  std::vector<size_t> counts(3);
  for (size_t n = 0; n < 5; ++n) all += pushed.encode(n), ++counts[pushed.shard_of(n)];
  EXPECT_EQ(all, "abcde");
  EXPECT_EQ(pushed.shard_of(0), 2u);
  for (size_t shard : {0, 1, 2}) EXPECT_EQ(pushed.num_messages(shard), counts[shard] + 1) << shard;
}

// The parts of a trainer's store that take part in its run.
struct Parts {
  explicit Parts(ShardLinks& shard_links, TrainerState* own = nullptr, int rank = 0, int size = 1,
                 const Consistency& consistency = {})
      : links(shard_links),
        states(links, residuals, own, RowTypes(), rank),
        pushes({links, specs, pulls, residuals, states}, consistency, RowType::kF32,
               [](int64_t) { return false; }),
        group(links, rank, size) {}

  const std::vector<ParameterSpec> specs = {synthetic_parameter("table", ParameterKind::kRows, true, 0, 1)};
  ShardLinks& links;
  RemotePulls pulls{links, specs, RowTypes()};
  Residuals residuals{specs, RowTypes()};
  TrainerStateLink states;
  RemotePushes pushes;
  RemoteGroup group;
  RemoteCheckpoints checkpoints{links, pushes, states};
  RemoteRun run{links, group, pushes, checkpoints};
};

class RemoteRunTest : public testing::Test {
 protected:
  RemoteRunTest() {
    shards_.handlers[Message::kGather] = [this](size_t, std::string_view) {
      return encode_gathered(gathered_);
    };
    shards_.handlers[Message::kEndRun] = [](size_t, std::string_view) { return ""; };
  }

  RunPosition resumed_at(const Consistency& consistency = {}) {
    RunPosition position;
    shards_.run([&](ShardLinks& links) {
      Parts parts(links, nullptr, 0, 1, consistency);
      parts.run.resume(consistency, parts.states);
      position = parts.run.position();
      next_step_ = parts.pushes.next_step();
    });
    return position;
  }
  template <class Body>
  Error error_of_run(Body&& body) {
    return error_of([&] { shards_.run(body); });
  }
  std::vector<uint64_t> gather_numbers() const {
    std::vector<uint64_t> numbers;
    for (const auto& asked : shards_.of_type(Message::kGather))
      numbers.push_back(decode_gather(asked.body).number);
    return numbers;
  }

  FakeShards shards_{2};
  std::vector<std::string> gathered_ = {std::string(1, kGathered) + "a"};
  uint64_t next_step_ = 0;
};

TEST_F(RemoteRunTest, AGatheringGivesWhatAllGaveAndTheFirstOfThemLeads) {
  gathered_ = {"", std::string(1, kGathered) + "b", std::string(1, kGathered)};
  shards_.run([](ShardLinks& links) {
    RemoteGroup group(links, 1, 3);
    EXPECT_EQ(group.leader(), 0);
    EXPECT_THAT(group.gather("b"), ElementsAre("", "b", ""));
    EXPECT_EQ(group.leader(), 1) << "the first rank is not there";
  });
  const auto asked = shards_.of_type(Message::kGather);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].shard, 0u);
  EXPECT_EQ(decode_gather(asked[0].body).bytes, std::string(1, kGathered) + "b");
}

TEST_F(RemoteRunTest, WhatIsGivenAndWhatAllGaveTravelInSlices) {
  const std::string own(2 * kGatherSliceBytes, 'o'), other(kGatherSliceBytes + 7, 'x');
  std::string given;
  std::shared_ptr<const Gathered> all;
  const auto text_of_payload = [](const Payload& payload) {
    std::string text;
    for (ConstBytes part : payload.parts) text.append(part.data(), part.size());
    return text;
  };
  shards_.handlers[Message::kGather] = [&](size_t, std::string_view body) -> std::string {
    const GatherRequest slice = decode_gather(body);
    EXPECT_EQ(slice.first, given.size());
    EXPECT_LE(slice.bytes.size(), kGatherSliceBytes);
    given += slice.bytes;
    if (slice.rest > 0) return "";
    all = std::make_shared<const Gathered>(std::vector<std::string>{given, kGathered + other});
    return text_of_payload(all->beginning());
  };
  shards_.handlers[Message::kGatheredSlice] = [&](size_t, std::string_view body) {
    return text_of_payload(all->slice(decode_gathered_request(std::span(body.data(), body.size())).first));
  };
  shards_.run([&](ShardLinks& links) {
    const std::vector<std::string> gathered = RemoteGroup(links, 0, 2).gather(own);
    EXPECT_TRUE(gathered == (std::vector<std::string>{own, other}));
  });
  EXPECT_EQ(shards_.of_type(Message::kGather).size(), 3u);
  EXPECT_EQ(shards_.of_type(Message::kGatheredSlice).size(), 3u);
}

TEST_F(RemoteRunTest, AnAnswerThatNeverComesToItsEndIsRefused) {
  shards_.handlers[Message::kGather] = [this](size_t, std::string_view) {
    return encode_gathered(gathered_).substr(0, 13);
  };
  shards_.handlers[Message::kGatheredSlice] = [](size_t, std::string_view) { return ""; };
  EXPECT_EQ(error_of_run([](ShardLinks& links) { RemoteGroup(links, 0, 1).gather("a"); }).message(),
            "gather: a slice without bytes");
}

TEST_F(RemoteRunTest, MoreThanMayBeGivenIsRefusedWithTheRemedy) {
  const Error error = error_of_run(
      [](ShardLinks& links) { RemoteGroup(links, 0, 1).gather(std::string(kMostGivenBytes, 'a')); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), testing::HasSubstr("expected up to 268435456: fewer of the evaluators"));
}

TEST_F(RemoteRunTest, GatheringsAreNumberedFromWhereTheRankIs) {
  shards_.run([](ShardLinks& links) {
    RemoteGroup group(links, 0, 1);
    group.gather("a");
    group.set_num_gathered(5);
    group.gather("a");
    group.gather_at_end();
  });
  EXPECT_THAT(gather_numbers(), ElementsAre(0, 5, 6));
  EXPECT_EQ(decode_gather(shards_.of_type(Message::kGather)[2].body).bytes, std::string(1, kGatheredAtEnd));
}

TEST_F(RemoteRunTest, AGatheringOfAnotherNumberOfTrainersIsRefused) {
  EXPECT_EQ(error_of_run([](ShardLinks& links) { RemoteGroup(links, 0, 2).gather("a"); }).code(),
            Code::kData);
}

TEST_F(RemoteRunTest, AGatheringToWhichNobodyGaveIsRefused) {
  gathered_ = {"", ""};
  EXPECT_EQ(error_of_run([](ShardLinks& links) { RemoteGroup(links, 0, 2).gather("a"); }).message(),
            "gather: no trainer has given anything");
}

TEST_F(RemoteRunTest, ARankBeginsAtTheFirstStepThatSomeShardHasNotApplied) {
  shards_.statuses[0].step = 5;
  shards_.statuses[1].step = 4;
  for (RunStatus& status : shards_.statuses)
    status.batches = 4, status.pass_batches = 4, status.pass_begun = true;
  const RunPosition position = resumed_at();
  EXPECT_EQ(next_step_, 4u);
  EXPECT_EQ(position.batches, 4);
  EXPECT_EQ(position.pass_batches, 4);
  EXPECT_FALSE(position.pass_ended || position.resumed);
}

TEST_F(RemoteRunTest, WhatFollowsAPassIsNotDoneUntilSomebodyBeginsTheNext) {
  for (RunStatus& status : shards_.statuses) status.step = 9, status.pass = 2, status.gathered = 3;
  EXPECT_TRUE(resumed_at().pass_ended);
  EXPECT_EQ(resumed_at().pass, 1);
  EXPECT_TRUE(resumed_at().resumed);
  shards_.statuses[1].pass_begun = true;
  EXPECT_FALSE(resumed_at().pass_ended);
  EXPECT_EQ(resumed_at().pass, 2);
}

TEST_F(RemoteRunTest, ShardsThatAreFurtherApartThanTheirStepsMayBeHaveLostTheRun) {
  shards_.statuses[0].step = 5;
  shards_.statuses[1].step = 3;
  const Error error = error_of([this] { resumed_at(); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), testing::HasSubstr("step 3 and step 5"));
  EXPECT_NO_THROW(resumed_at({.staleness = 1}));
  EXPECT_EQ(next_step_, 3u);
}

TEST_F(RemoteRunTest, ARankThatWasGivenUpFillsTheStepsThatSomeShardsWaitFor) {
  shards_.statuses[0].step = 5;
  shards_.statuses[1].step = 3;
  shards_.statuses[1].was_given_up = true;
  shards_.handlers[Message::kPush] = [](size_t, std::string_view) { return encode_done(Done()); };
  resumed_at();
  EXPECT_EQ(next_step_, 5u) << "the first that is new to all";
  shards_.run([](ShardLinks& links) { links.wait([] { return false; }, 1); });
  std::vector<uint64_t> filled;
  BufferPool pool;
  for (const auto& asked : shards_.of_type(Message::kPush)) {
    EXPECT_EQ(asked.shard, 1u);
    Buffer body = pool.take(asked.body.size());
    std::copy(asked.body.begin(), asked.body.end(), body.data());
    const PushRequest request = decode_push(std::move(body), {});
    EXPECT_TRUE(request.ended && request.asks && request.absent) << "it may have data left";
    filled.push_back(request.step);
  }
  EXPECT_THAT(filled, ElementsAre(3, 4));
}

TEST_F(RemoteRunTest, AnAsynchronousRankThatWasGivenUpWaitsForTheSamePassEverywhere) {
  for (RunStatus& status : shards_.statuses) status.was_given_up = true;
  EXPECT_NO_THROW(resumed_at({.async = true}));
  shards_.statuses[1].pass = 1;
  EXPECT_THROW(resumed_at({.async = true}), ServersMoved) << "it comes again";
  EXPECT_EQ(shards_.of_type(Message::kLeaveRun).size(), 2u) << "and nobody waits for it until then";
  shards_.statuses[0].pass = 1;
  EXPECT_NO_THROW(resumed_at({.async = true}));
  shards_.statuses[1].dealings = 1;
  EXPECT_THROW(resumed_at({.async = true}), ServersMoved);
}

// The first shard has dealt: this process goes on from the step in which another one hears of that.
TEST_F(RemoteRunTest, ARankThatIsTakenUpTrainsWhatTheFirstShardSays) {
  RankWork work;
  work.dealings = 2, work.batches_before = 4, work.strand = DataStrand{1, 3, 10, 2};
  shards_.handlers[Message::kWork] = [&work](size_t, std::string_view) { return encode_work(work); };
  for (RunStatus& status : shards_.statuses) {
    status.deals = true, status.gathered = 1, status.step = 9, status.pass_batches = 6;
    status.pass_begun = true, status.dealings = 2;
  }
  RunPosition position = resumed_at();
  EXPECT_TRUE(position.dealt);
  EXPECT_EQ(position.strand, work.strand);
  EXPECT_EQ(position.before_strand, 4);
  shards_.statuses[1].step = 8, shards_.statuses[1].dealings = 1;
  position = resumed_at();
  EXPECT_TRUE(position.dealt);
  EXPECT_FALSE(position.strand) << "before it is dealt, there is an end to hear of";
  work = {};
  for (RunStatus& status : shards_.statuses) status.dealings = 0;
  EXPECT_FALSE(resumed_at().dealt) << "it goes on in its share";
}

TEST_F(RemoteRunTest, WhoHearsBeforeItIsWelcomeThatTheRunIsLostComesAnew) {
  shards_.lost_hellos[0] = 1;
  EXPECT_THROW(shards_.run([](ShardLinks&) {}), ServersMoved);
  EXPECT_NO_THROW(shards_.run([](ShardLinks&) {}));
}

TEST_F(RemoteRunTest, WhoHearsItAfterwardsGoesBackWithTheOthers) {
  shards_.statuses[0].checkpointed = true;
  shards_.lost_hellos[1] = 1;
  bool goes_back = false;
  try {
    shards_.run([](ShardLinks&) {});
  } catch (const StateLost& lost) {
    goes_back = lost.checkpointed() && lost.run() == 7;
  }
  EXPECT_TRUE(goes_back);
}

TEST_F(RemoteRunTest, TheFirstShardElectsWhoSaves) {
  shards_.handlers[Message::kSaveLease] = [](size_t, std::string_view) { return encode_saver({true, 3}); };
  shards_.run([](ShardLinks& links) {
    Parts parts(links);
    EXPECT_EQ(parts.run.id(), 7u);
    const Saver saver = parts.run.elect_saver(SaveStage::kAsked, "pass-1");
    EXPECT_TRUE(saver.elected);
    EXPECT_EQ(saver.rank, 3);
  });
  const SaveRequest request = decode_save_request(shards_.of_type(Message::kSaveLease).at(0).body);
  EXPECT_EQ(request.run, 7u);
  EXPECT_EQ(request.stage, SaveStage::kAsked);
  EXPECT_EQ(request.name, "pass-1");
}

TEST_F(RemoteRunTest, TheEndIsToldToAllShardsOrWaitedForWhereARunMayGoBack) {
  auto end = [](ShardLinks& links) { Parts(links).run.end_run(); };
  shards_.run(end);
  EXPECT_EQ(shards_.of_type(Message::kEndRun).size(), 2u);
  EXPECT_THAT(gather_numbers(), IsEmpty());
  shards_.statuses[0].checkpointed = true;
  shards_.run(end);
  EXPECT_EQ(shards_.of_type(Message::kEndRun).size(), 2u);
  EXPECT_THAT(gather_numbers(), ElementsAre(0));
}

TEST_F(RemoteRunTest, WhoLeavesWaitsForNoShardThatDoesNotAnswer) {
  shards_.run([](ShardLinks& links) { Parts(links).run.leave_run(); });
  EXPECT_EQ(shards_.of_type(Message::kLeaveRun).size(), 2u);
}

TEST_F(RemoteRunTest, ServersWithoutCheckpointsAreAskedForNone) {
  shards_.run([](ShardLinks& links) {
    Parts parts(links);
    EXPECT_FALSE(parts.checkpoints.ask(-1, [](const AskedCheckpoint&) {}));
    EXPECT_EQ(parts.checkpoints.begun_pass(), -1);
  });
  EXPECT_THAT(shards_.asked, IsEmpty());
}

TEST_F(RemoteRunTest, WhoAsksForACheckpointHearsOfItsEnd) {
  shards_.statuses[0].gives_shards = true;
  shards_.handlers[Message::kCheckpoint] = [](size_t, std::string_view body) {
    EXPECT_EQ(decode_checkpoint_request(body), 4);
    return encode_asked_checkpoint({true, "step-9", 7});
  };
  std::optional<AskedCheckpoint> answer;
  shards_.run([&](ShardLinks& links) {
    Parts parts(links);
    EXPECT_TRUE(parts.checkpoints.ask(4, [&](const AskedCheckpoint& got) { answer = got; }));
    parts.checkpoints.wait([&] { return answer.has_value(); }, 10);
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "step-9");
}

// ---- state

class TrainerStateLinkTest : public RemoteRunTest {
 protected:
  TrainerStateLinkTest() {
    for (RunStatus& status : shards_.statuses) status.checkpointed = true;
    shards_.handlers[Message::kTrainerChunk] = [this](size_t shard, std::string_view body) {
      const uint32_t number = decode_chunk_request(body);
      const std::vector<std::string>& has = chunks_[shard];
      if (shard == 1 && number == applies_at_) ++batches_;
      StateChunkAnswer answer{.known = known_,
                              .batches = batches_,
                              .sender = senders_[shard],
                              .num_chunks = static_cast<uint32_t>(has.size())};
      if (number < has.size()) answer.chunk = has[number];
      return encode_chunk_answer(answer);
    };
  }
  Error error_of_resume(LetterState& own, bool given_up = false) {
    return error_of_run([&](ShardLinks& links) { Parts(links, &own).states.resume(12, given_up, {}); });
  }

  std::vector<std::string> chunks_[2];  // of the shards
  uint64_t senders_[2] = {0, 0};        // of these
  std::optional<uint32_t>
      applies_at_;  // asked for this chunk, the second shard has just applied another batch
  bool known_ = true;
  uint64_t batches_ = 12;
};

TEST_F(TrainerStateLinkTest, StateIsToldBeforeACheckpointAndOnceWhenTheDataEnd) {
  LetterState own("abc");
  shards_.run([&](ShardLinks& links) {
    Parts parts(links, &own);
    EXPECT_EQ(parts.states.next(false, false).num_chunks(), 0u);
    EXPECT_EQ(parts.states.next(true, false).num_chunks(), 3u);
    EXPECT_EQ(parts.states.next(false, true).num_chunks(), 0u) << "that was pushed before the checkpoint";
    EXPECT_EQ(parts.states.next(false, false).num_chunks(), 0u);
    EXPECT_EQ(parts.states.next(false, true).num_chunks(), 3u);
    EXPECT_EQ(parts.states.next(false, true).num_chunks(), 0u);
    parts.states.on_checkpoint([](std::string& out) { out = "figures"; });
    const PushedState state = parts.states.next(true, false);
    ASSERT_EQ(state.num_chunks(), 4u);
    EXPECT_EQ(decode_figures(state.encode(0)).text, "figures");
  });
}

TEST_F(TrainerStateLinkTest, WithoutCheckpointsNothingIsTold) {
  shards_.statuses[0].checkpointed = false;
  LetterState own("abc");
  shards_.run(
      [&](ShardLinks& links) { EXPECT_EQ(Parts(links, &own).states.next(true, true).num_chunks(), 0u); });
}

TEST_F(TrainerStateLinkTest, EachShardGetsItsChunksAndThenAnEmptyOne) {
  LetterState own("abc");
  std::vector<std::string> sent;
  shards_.run([&](ShardLinks& links) {
    Parts parts(links, &own);
    std::vector<PushHeader> headers(2);
    headers[0].slice = 4;
    headers[1].type = RowType::kF16;
    parts.states.push(parts.states.next(true, false), headers,
                      [&](size_t shard, const PushHeader& header, const std::function<void()>& on_answer) {
                        EXPECT_EQ(header.type, RowType::kF32);
                        sent.push_back(cat(shard, ":", header.slice, header.chunk.value_or("none")));
                        on_answer();
                      });
    EXPECT_FALSE(headers[0].chunk);
  });
  EXPECT_THAT(sent, ElementsAre("0:4a", "1:0b", "0:5c", "0:6", "1:1"));
}

TEST_F(TrainerStateLinkTest, AProcessTakesUpTheChunksOfAllShardsAndTheFiguresByTheirRanks) {
  chunks_[0] = {"a", encode_figures({1, "of 1"})};
  chunks_[1] = {encode_figures({0, "of 0"}), "b"};
  LetterState own("");
  shards_.run([&](ShardLinks& links) {
    Parts parts(links, &own);
    parts.states.resume(12, false, {});
    EXPECT_THAT(parts.states.release_figures(), ElementsAre("of 0", "of 1"));
    EXPECT_THAT(parts.states.release_figures(), IsEmpty());
  });
  EXPECT_EQ(own.restored, "ab of 12");
}

TEST_F(TrainerStateLinkTest, ARunIsLostWithStateThatMattersAndWithNoOther) {
  LetterState needed(""), spare("", /*is_needed=*/false);
  EXPECT_EQ(error_of_resume(needed).message(), "");
  batches_ = 11;
  EXPECT_EQ(error_of_resume(needed).code(), Code::kUnavailable) << "the process before has pushed more since";
  EXPECT_EQ(error_of_resume(needed, /*given_up=*/true).message(), "");
  EXPECT_EQ(error_of_resume(spare).message(), "");
  batches_ = 12;
  known_ = false;
  EXPECT_EQ(error_of_resume(needed).code(), Code::kUnavailable);
}

// The last push of the earlier process may wait for those of other trainers, and be applied while its chunks are read.
TEST_F(TrainerStateLinkTest, ChunksThatAStepMakesOutdatedWhileTheyAreReadAreNotRestored) {
  chunks_[0] = {"a", encode_figures({0, "of 0"})};
  chunks_[1] = {"b", "c"};
  applies_at_ = 1;
  LetterState needed(""), spare("", /*is_needed=*/false);
  EXPECT_EQ(error_of_resume(needed).code(), Code::kUnavailable);
  batches_ = 12;
  shards_.run([&](ShardLinks& links) {
    Parts parts(links, &spare);
    parts.states.resume(12, false, {});
    EXPECT_THAT(parts.states.release_figures(), IsEmpty());
  });
  EXPECT_EQ(needed.restored + spare.restored, "");
}

// A process before has come to the end of its data with the checkpoint's state, and only the first shard has applied that
// push; the chunks that this process sends are other ones than those that the checkpoint was divided into.
TEST_F(TrainerStateLinkTest, ChunksOfTwoProcessesAreNotRestoredTogether) {
  chunks_[0] = {"a", "b"};
  chunks_[1] = {"b", "c"};
  senders_[0] = 17;
  LetterState needed(""), spare("", /*is_needed=*/false);
  EXPECT_EQ(error_of_resume(needed).code(), Code::kUnavailable);
  EXPECT_EQ(error_of_resume(spare).message(), "");
  EXPECT_EQ(needed.restored + spare.restored, "");
  chunks_[1] = {"c"};
  senders_[1] = 17;
  EXPECT_EQ(error_of_resume(needed).message(), "");
  EXPECT_EQ(needed.restored, "abc of 12");
}

// Otherwise shards that have not applied that push would have other chunks than those that have.
TEST_F(TrainerStateLinkTest, StateThatWasRestoredIsNotSentAgainWithoutABatch) {
  chunks_[0] = {"a", encode_figures({0, "of 0"})};
  LetterState own("abc");
  shards_.run([&](ShardLinks& links) {
    Parts parts(links, &own);
    parts.states.resume(12, false, {});
    EXPECT_EQ(parts.states.next(false, /*ended=*/true).num_chunks(), 0u);
    EXPECT_EQ(parts.states.next(false, false).num_chunks(), 0u);
    EXPECT_EQ(parts.states.next(false, /*ended=*/true).num_chunks(), 3u) << "after a batch";
  });
}

TEST_F(TrainerStateLinkTest, AChunkThatAShardHasToldOfAndDoesNotGiveIsRefused) {
  chunks_[1] = {"a", ""};
  LetterState own("");
  EXPECT_EQ(error_of_resume(own).code(), Code::kData);
}

}  // namespace
}  // namespace ps::remote_run_test
