// Snapshots of a shard's run: another run that loads one is the same, and damaged ones are refused.
#include "ps/server/shard_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_parts.h"
#include "support/environment.h"
#include "support/scratch_folder.h"

namespace ps::shard_snapshot_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

class ShardSnapshotTest : public testing::TestWithParam<Consistency> {
 protected:
  using Pulls = std::vector<std::pair<int, std::string>>;

  // A run of which every part has something to remember.
  ShardSnapshotTest() {
    run_.want_checkpoints([](uint64_t) { return true; });
    for (int rank : {0, 1}) run_.push(rank, 0, 1);
    run_.roster.at(0).generation = 7;
    run_.roster.at(1).was_given_up = true;
    run_.roster.at(1).ended = true;
    run_.send(0, {.step = 1, .info = {3, 2, true}, .slice = 0, .num_slices = 3, .chunk = "a chunk"}, 5, 70);
    run_.send(0, {.step = 1, .info = {3, 2, true}, .slice = 2, .num_slices = 3}, 6, 80);
    run_.states.of(1).knows_chunks = true;
    run_.states.of(1).chunks = {std::make_shared<const std::string>("of rank 1")};
    run_.gathering.give(0, "given", {});
    run_.gathering.finish(2);
    run_.gathering.give(1, "given by 1", {});
    run_.going = true;
    auto history = [this](int rank) -> PullHistory& { return run_.pulls.history(rank); };
    history(1).add({pull_of(3), std::make_shared<const Payload>(to_buffer(run_.pulls.pool(), "rows"))});
    ReplyPtr reply = std::make_unique<RecordingReply>(std::make_shared<Outcome>());
    run_.pulls.wait(1, *pull_of(4), reply);
  }

  static std::shared_ptr<const PullRequest> pull_of(uint64_t number) {
    auto request = std::make_shared<PullRequest>();
    request->number = number;
    request->step = 9;
    request->row_slices.resize(1);
    request->row_slices[0].keys = {1, 2};
    return request;
  }

  static std::unique_ptr<RunParts> other() {
    return std::make_unique<RunParts>(GetParam(), 1, Json::object(), /*keeps_answers=*/true);
  }
  // Loads it, and gives the pulls that waited to the run as a shard does.
  static void load(std::string_view snapshot, RunParts& into, Pulls& pulls) {
    load_shard_snapshot(snapshot, into.snapshot_parts(), [&](int rank, std::string_view body) {
      pulls.emplace_back(rank, body);
      ReplyPtr reply = std::make_unique<RecordingReply>(std::make_shared<Outcome>());
      into.pulls.wait(into.roster.at(rank).rank, decode_pull(bytes_of(body)), reply);
    });
  }
  static std::string saved(RunParts& run) { return save_shard_snapshot(run.snapshot_parts()); }

  // The code of the refusal; nothing when it is loaded, and then it can be saved.
  static std::optional<Code> refusal(std::string_view snapshot) {
    const std::unique_ptr<RunParts> into = other();
    Pulls pulls;
    try {
      load(snapshot, *into, pulls);
    } catch (const Error& error) {
      return error.code();
    }
    saved(*into);
    into->gathering.finish(into->roster.size());
    return std::nullopt;
  }

  RunParts run_{GetParam(), 2, Json::object(), /*keeps_answers=*/true};
};

TEST_P(ShardSnapshotTest, ARunThatLoadsItIsTheSame) {
  const std::string snapshot = saved(run_);
  const std::unique_ptr<RunParts> again = other();
  Pulls pulls;
  load(snapshot, *again, pulls);
  EXPECT_EQ(saved(*again), snapshot);
  EXPECT_THAT(pulls, ElementsAre(Pair(1, encode_again(*pull_of(4)))));
  EXPECT_EQ(again->roster.run(), 1u);
  EXPECT_EQ(again->roster.size(), 2u);
  EXPECT_EQ(again->roster.at(0).generation, 7u);
  EXPECT_TRUE(again->roster.at(1).was_given_up && again->roster.at(1).ended);
  EXPECT_TRUE(again->going);
  EXPECT_EQ(again->counters.steps, run_.counters.steps);
  EXPECT_EQ(again->applier.rule().steps(), run_.applier.rule().steps());
  EXPECT_EQ(again->checkpoints.plan().next_step, run_.checkpoints.plan().next_step);
  EXPECT_EQ(again->checkpoints.plan().wants_markers, run_.checkpoints.plan().wants_markers);
  EXPECT_EQ(again->gathering.number(), 1u);
  EXPECT_TRUE(again->gathering.has_given(1));
  EXPECT_EQ(*again->states.of(1).chunks.at(0), "of rank 1");
  EXPECT_NE(again->pulls.history(1).find(3), nullptr);
}

TEST_P(ShardSnapshotTest, PushesThatWereNotWholeAreCompletedAfterIt) {
  const std::unique_ptr<RunParts> again = other();
  Pulls pulls;
  load(saved(run_), *again, pulls);
  EXPECT_EQ(again->repeated(0, 0)->learning_rate, 1) << "steps before are answered again";
  const PushHeader missing{.step = 1, .info = {3, 2, true}, .slice = 1, .num_slices = 3};
  again->send(0, missing, 7, 90);
  again->push(1, 1, 1);
  EXPECT_EQ(again->weight(70), -5);
  EXPECT_EQ(again->weight(80), -6);
  EXPECT_EQ(again->weight(90), -7);
  EXPECT_EQ(*again->states.of(0).chunks.at(0), "a chunk");
}

TEST_P(ShardSnapshotTest, APrefixIsRefused) {
  const std::string snapshot = saved(run_);
  for (size_t size = 0; size < snapshot.size(); ++size) {
    EXPECT_EQ(refusal(std::string_view(snapshot).substr(0, size)), Code::kCorrupt) << size << " bytes";
  }
  EXPECT_EQ(refusal(snapshot + '\0'), Code::kCorrupt);
}

TEST_P(ShardSnapshotTest, AGatheringOfARankBeyondTheTrainersIsRefused) {
  run_.gathering.give(2, "of rank 2", {});
  EXPECT_EQ(refusal(saved(run_)), Code::kCorrupt);
}

TEST_P(ShardSnapshotTest, RowsThatAreNotDecodedAreRefused) {
  std::string snapshot = saved(run_), push;
  for (uint64_t number : {1, 3, 2}) put(push, number);  // its step, samples and pass
  const size_t at = snapshot.find(push);
  ASSERT_NE(at, std::string::npos);
  snapshot[at + push.size() + 1] = static_cast<char>(RowType::kF16);
  EXPECT_EQ(refusal(snapshot), Code::kCorrupt);
}

// Logs have sums of their snapshots: a flipped bit here need not be found, but may do no more harm than to refuse the
// snapshot.  One bit in three is flipped, in every byte.
TEST_P(ShardSnapshotTest, AFlippedBitIsRefusedOrGivesARunThatCanBeSaved) {
  std::string snapshot = saved(run_);
  size_t tried = 0, refused = 0;
  for (size_t bit = 0; bit < snapshot.size() * 8; bit += 3 * static_cast<size_t>(try_every())) {
    snapshot[bit / 8] = static_cast<char>(snapshot[bit / 8] ^ 1 << bit % 8);
    const std::optional<Code> code = refusal(snapshot);
    ++tried;
    if (code) {
      ++refused;
      EXPECT_EQ(*code, Code::kCorrupt) << "bit " << bit;
    }
    snapshot[bit / 8] = static_cast<char>(snapshot[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_GT(refused, tried / 8);
}

INSTANTIATE_TEST_SUITE_P(Consistencies, ShardSnapshotTest,
                         testing::Values(Consistency{}, Consistency{.staleness = 2},
                                         Consistency{.async = true}));

}  // namespace
}  // namespace ps::shard_snapshot_test
