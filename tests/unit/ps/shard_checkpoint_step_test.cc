// Checkpoints of a shard: the step at which they begin, and the state from which a run resumes.
#include "ps/server/run_state.h"
#include "ps/server/shard_replay.h"
#include "ps/wire/gather.h"
#include "shard_test.h"

namespace ps::shard_checkpoint_step_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointStepTest : public ShardTest {
 protected:
  void watch(std::vector<uint64_t> wanted = {}, bool at_ends = true) {
    auto begin = [this](uint64_t step, bool) {
      begun_.push_back(step);
      passes_ended_.push_back(shard_->steps().pass_just_ended());
    };
    auto is_wanted = [wanted = std::move(wanted)](uint64_t step) {
      return std::ranges::find(wanted, step) != wanted.end();
    };
    shard_->checkpoints().on_checkpoint(begin, is_wanted, at_ends);
  }
  OutcomePtr push_marker(int rank, uint64_t step) {
    return push_slice(rank, {.step = step, .info = {1, 0}, .begins_checkpoint = true}, {1}, 1);
  }

  OutcomePtr push_end_marker(int rank, uint64_t step) {
    return push_body(rank, encode_push({.step = step, .ended = true, .begins_checkpoint = true}, 0, ""));
  }

  // A push with a checkpoint behind it, if one is to be, which tells these chunks of its trainer.
  void push_telling(int rank, PushHeader header, const std::vector<std::string>& chunks) {
    header.info.samples = 1;
    header.num_slices = static_cast<uint32_t>(1 + chunks.size());
    if (header.ended) push_body(rank, encode_push(header, 0, ""));
    if (!header.ended) push_slice(rank, header, {1}, 1);
    for (const std::string& chunk : chunks) {
      ++header.slice;
      header.chunk = chunk;
      push_body(rank, encode_push(header, 0, ""));
    }
  }

  // "batches: chunks", as the shard answers.
  std::string state_chunks(int rank) {
    std::string all;
    for (uint32_t number = 0;; ++number) {
      const Payload payload = shard_->state_chunk(rank, number);
      std::string body;
      for (ConstBytes part : payload.parts) body.append(part.data(), part.size());
      const StateChunkAnswer answer = decode_chunk_answer(body);
      if (!answer.known) return "not known";
      if (number == 0) all = cat(answer.batches, ":");
      if (number >= answer.num_chunks) return all;
      all += " " + std::string(answer.chunk);
    }
  }

  // The process that has sent them.
  uint64_t sender_of_chunks(int rank) {
    const Payload payload = shard_->state_chunk(rank, UINT32_MAX);
    return decode_chunk_answer({payload.parts[0].data(), payload.parts[0].size()}).sender;
  }

  std::vector<std::string> chunk_states() {
    std::vector<std::string> all;
    for (const auto& [name, bytes] : shard_->trainer_states().chunk_states(shard_->tables().place()))
      all.push_back(name + " = " + *bytes);
    return all;
  }

  std::vector<uint64_t> begun_;  // after so many steps
  std::vector<std::optional<uint64_t>> passes_ended_;
};

TEST_F(CheckpointStepTest, BeginsAfterTheStepWhosePushesAreMarked) {
  make(2);
  watch();
  for (int rank : {0, 1}) push(rank, 0, {1}, 1);
  push_marker(0, 1);
  EXPECT_TRUE(begun_.empty());
  push_marker(1, 1);
  EXPECT_THAT(begun_, ElementsAre(2));
  for (int rank : {0, 1}) push(rank, 2, {1}, 1);
  EXPECT_THAT(begun_, ElementsAre(2));
}

TEST_F(CheckpointStepTest, BeginsAtTheEndOfAPassUnasked) {
  make(2);
  watch();
  push(0, 0, {1}, 1);
  push_end(1, 0);
  EXPECT_TRUE(begun_.empty());
  for (int rank : {0, 1}) push_end(rank, 1);
  EXPECT_THAT(begun_, ElementsAre(2));
}

TEST_F(CheckpointStepTest, BeginsOnlyAtEndsOfPassesThatTrainersHaveMarked) {
  for (const bool async : {false, true}) {
    begun_.clear();
    passes_ended_.clear();
    make(2, {.async = async});
    watch({}, /*at_ends=*/false);
    for (int rank : {0, 1}) push(rank, 0, {1}, 1);
    for (int rank : {0, 1}) push_end(rank, 1);
    EXPECT_THAT(begun_, ElementsAre());
    for (int rank : {0, 1}) push(rank, 2, {1}, 1);
    push_end_marker(0, 3);
    if (!async) {
      push(1, 3, {1}, 1);
      push_end_marker(0, 4);
    }
    EXPECT_THAT(begun_, ElementsAre()) << "trainer 0 has no data left, but the pass has not ended";
    push_end(1, async ? 3 : 4);
    EXPECT_EQ(begun_.size(), 1u);
    EXPECT_THAT(passes_ended_, ElementsAre(std::optional<uint64_t>(1)));
  }
}

TEST_F(CheckpointStepTest, AsynchronousTrainersEndAPassOnTheSameNumberWhateverTheirOrder) {
  make(2, {.async = true});
  watch();
  for (uint64_t step : {0, 1, 2}) push(1, step, {1}, 1);
  push(0, 0, {1}, 1);
  push_end(1, 3);
  push_end(0, 1);
  EXPECT_THAT(begun_, ElementsAre(5)) << "four batches and a pass";
}

// With staleness 1, a trainer may have pushed a step ahead when it hears of the checkpoint.
TEST_F(CheckpointStepTest, IsAnnouncedBeforeAnyTrainerHasPushedItsStep) {
  make(1, {.staleness = 1});
  watch({3});
  EXPECT_EQ(push(0, 0, {1}, 1)->done().checkpoint_at, 3u) << "applied 1, and step 1 may be on its way";
  EXPECT_EQ(push(0, 1, {1}, 1)->done().checkpoint_at, 3u);
  leave(0, 1, 1);
  EXPECT_EQ(join(0, 1, 2).checkpoint_at, 3u) << "also to another process";
  EXPECT_EQ(push_marker(0, 2)->done().checkpoint_at, 0u);
  EXPECT_THAT(begun_, ElementsAre(3));
}

TEST_F(CheckpointStepTest, KeepsATrainersStateChunksUntilItsNextPush) {
  for (const bool async : {false, true}) {
    make(2, {.async = async});
    watch();
    EXPECT_EQ(state_chunks(0), "0:") << "before the first step there is nothing";
    push_telling(0, {.step = 0, .begins_checkpoint = true}, {"one", "", "two"});
    EXPECT_EQ(state_chunks(0), async ? "1: one two" : "0:") << "the step is not applied";
    push_telling(1, {.step = 0, .begins_checkpoint = true}, {""});
    EXPECT_EQ(state_chunks(0), "1: one two");
    EXPECT_EQ(state_chunks(1), "1:");
    EXPECT_THAT(chunk_states(), ElementsAre("chunk/0/d0-s0/0 = one", "chunk/0/d0-s0/1 = two"));
    push_end(0, 1);
    push_telling(1, {.step = 1}, {});
    EXPECT_EQ(state_chunks(0), "1: one two") << "it has pushed nothing more";
    EXPECT_EQ(state_chunks(1), "not known");
    push_telling(1, {.step = 2, .ended = true}, {"three"});
    if (!async) push_end(0, 2);
    EXPECT_THAT(chunk_states(),
                ElementsAre("chunk/0/d0-s0/0 = one", "chunk/0/d0-s0/1 = two", "chunk/1/d0-s0/0 = three"));
    for (int rank : {0, 1}) push(rank, rank == 0 && async ? 2 : 3, {1}, 1);
    EXPECT_THAT(chunk_states(), ElementsAre());
    EXPECT_EQ(state_chunks(0), "not known");
  }
}

TEST_F(CheckpointStepTest, AReplacementOfATrainerGetsItsStateChunks) {
  make(1);
  watch();
  push_telling(0, {.step = 0, .begins_checkpoint = true}, {"one"});
  leave(0, 1, 1);
  join(0, 1, 2);
  EXPECT_EQ(state_chunks(0), "1: one");
}

// A push that waits for those of others when another process takes its rank stays that of the process before, also in a
// shard that goes on from a snapshot.
TEST_F(CheckpointStepTest, StateChunksAreThoseOfTheProcessThatHasPushedThem) {
  for (const bool from_snapshot : {false, true}) {
    make(2);
    EXPECT_EQ(sender_of_chunks(0), 0u);
    push_telling(0, {.step = 0}, {"one", ""});
    leave(0, 2, 1);
    join(0, 2, 7);
    if (from_snapshot) {
      const std::string snapshot = shard_->recovery().save_snapshot();
      make(0);
      ShardReplay replay(*shard_);
      replay.load_snapshot(snapshot);
      replay.end(now_);
    }
    push(1, 0, {1}, 1);
    EXPECT_EQ(state_chunks(0), "1: one");
    EXPECT_EQ(sender_of_chunks(0), 1u);
    push_telling(0, {.step = 1}, {"two", ""});
    push(1, 1, {1}, 1);
    EXPECT_EQ(state_chunks(0), "2: two");
    EXPECT_EQ(sender_of_chunks(0), 7u);
  }
}

TEST_F(CheckpointStepTest, ARunThatContinuesElsewhereIsNotBegunAnew) {
  make(1);
  const Member member{.rank = 0, .trainers = 1, .generation = 5, .run = 9, .going = true};
  leave(0, 1, 1);
  EXPECT_THAT(refusal([&] { shard_->membership().join(member, now_); }, kStateLost),
              HasSubstr("not known here"));
}

TEST_F(CheckpointStepTest, ATrainerOfAnotherRunIsRefused) {
  make(1);
  shard_->roster().check({.rank = 0, .generation = 1});
  EXPECT_THAT(refusal([&] { shard_->roster().check({.rank = 0, .generation = 2}); }, kStateLost),
              HasSubstr("another one has begun"));
}

std::string at_end() {
  return std::string(1, kGatheredAtEnd);
}

TEST_F(CheckpointStepTest, TheEndOfARunIsAnsweredOnceTheCheckpointCounts) {
  make(2);
  std::vector<uint64_t> finished;
  shard_->gatherings().on_finished([&](uint64_t passes) { finished.push_back(passes); });
  for (int rank : {0, 1}) push_end(rank, 0);
  OutcomePtr first = gather(0, 0, at_end());
  EXPECT_TRUE(finished.empty());
  OutcomePtr second = gather(1, 0, at_end());
  EXPECT_THAT(finished, ElementsAre(1));
  EXPECT_TRUE(first->waits() && second->waits());
  leave(0, 2, 1);
  join(0, 2, 2);  // another process, which asks again
  OutcomePtr again = gather(0, 0, at_end());
  EXPECT_TRUE(again->waits());
  shard_->gatherings().confirm_end();
  EXPECT_TRUE(again->answer && second->answer);
}

// Another process that is there when the end comes ends its last pass once more, and then the run.
TEST_F(CheckpointStepTest, ATrainerThatDiesBeforeTheEndCountsMayEndThePassAgain) {
  make(2);
  for (int rank : {0, 1}) push_end(rank, 0);
  for (int rank : {0, 1}) gather(rank, 0, cat("pass of ", rank));
  gather(1, 1, at_end());
  leave(1, 2, 1);
  join(1, 2, 2);
  gather(0, 1, at_end());
  OutcomePtr pass = gather(1, 0, "pass of another process");
  ASSERT_TRUE(pass->answer);
  EXPECT_THAT(decode_gathered(*pass->answer), ElementsAre("pass of 0", "pass of 1"));
  OutcomePtr end = gather(1, 1, at_end());
  ASSERT_TRUE(end->answer);
  EXPECT_THAT(decode_gathered(*end->answer), ElementsAre(at_end(), at_end()));
}

TEST_F(CheckpointStepTest, ATrainerThatHasFinishedIsNotMissed) {
  make(2);
  shard_->gatherings().on_finished([](uint64_t) {});
  OutcomePtr other = gather(1, 0, at_end());
  gather(0, 0, at_end());
  leave(0, 2, 1);
  now_ = add_time(now_, std::chrono::seconds(100));
  shard_->membership().check_trainers(now_);
  EXPECT_TRUE(other->waits()) << "for the last checkpoint, however long that takes";
}

TEST(RunState, IsRestoredAndIsRefusedWhenTruncated) {
  const RunState state{7, 1, {{4, 2}, {3, 1}}};
  std::string bytes;
  state.save(bytes);
  ByteReader in(bytes);
  const RunState back = RunState::load(in);
  EXPECT_EQ(back.clock, 7u);
  EXPECT_EQ(back.pass, 1u);
  EXPECT_EQ(back.trainers[1].pass_batches, 1u);
  const std::string longer = bytes + "rest";
  ByteReader head(longer);
  RunState::load(head);
  EXPECT_EQ(head.remaining(), 4u) << "a shard snapshot goes on behind it";
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    EXPECT_THROW(RunState::load(cut), Error) << size;
  }
}

TEST(RunState, HasWhoTrainsWhatOnceTheRestOfThePassWasDealt) {
  RunState state{7, 1, {{4, 2}, {3, 1}}};
  std::string former;
  state.save(former);
  state.rest.begin_pass(2);
  std::string bytes;
  state.save(bytes);
  EXPECT_EQ(bytes, former) << "as it was before there were dealings";
  state.rest.set_at_end(0, true);
  state.rest.deal(std::vector<uint64_t>{2, 1}, std::vector{0});
  bytes.clear();
  state.save(bytes);
  ByteReader in(bytes);
  const RunState back = RunState::load(in);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(back.trainers[1].pass_batches, 1u);
  EXPECT_EQ(back.rest.dealings(), 1u);
  EXPECT_EQ(back.rest.of(0).strand, (DataStrand{1, 2, 1, 1}));
  EXPECT_EQ(back.dealt_to(2).rest.of(0).strand, back.rest.of(0).strand);
  EXPECT_EQ(back.dealt_to(3).rest.of(0).strand, (DataStrand{0, 3, 0, 1}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    EXPECT_THROW(RunState::load(cut), Error) << size;
  }
}

// Batch b of a pass is trainer b mod 3's, and later trainer b mod 2's: what was done is not done again.
TEST(RunState, BatchesAreRedistributedToOtherTrainers) {
  const RunState three{5, 0, {{4, 4}, {3, 3}, {4, 4}}};  // batches 0 to 10
  const RunState two = three.dealt_to(2);
  ASSERT_EQ(two.trainers.size(), 2u);
  EXPECT_EQ(two.trainers[0].pass_batches, 6u);  // 0, 2, ... 10
  EXPECT_EQ(two.trainers[1].pass_batches, 5u);
  EXPECT_EQ(three.dealt_to(3).trainers[1].pass_batches, 3u);
  EXPECT_EQ(RunState({1, 0, {{1, 1}}}).dealt_to(3).trainers[2].pass_batches, 0u);
}

}  // namespace
}  // namespace ps::shard_checkpoint_step_test
