// The state chunks of trainers, from a checkpoint to as many trainers as there are then.
#include "ps/server/trainer_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/manifest.h"
#include "support/scratch_folder.h"

namespace ps::trainer_states_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kErrors(1, static_cast<char>(StateChunkKind::kErrors));
const std::string kSchedule(1, static_cast<char>(StateChunkKind::kSchedule));

class TrainerStatesTest : public testing::Test {
 protected:
  // A checkpoint of three trainers, each with residuals, a schedule and figures.
  TrainerStatesTest() {
    const CheckpointTarget target{folder_.path("c"), {}, nullptr};
    make_directories(target.folder);
    Manifest manifest{.step = 1};
    CheckpointFileWriter writer(target, "state.psc");
    for (uint32_t rank = 0; rank < 3; ++rank) {
      const std::string name = cat("chunk/", rank, "/d0-s0/");
      writer.state(name + "0", cat(kErrors, rank));
      writer.state(name + "1", cat(kSchedule, rank));
      writer.state(name + "2", encode_figures({rank, "sums"}));
    }
    manifest.files.push_back(writer.finish());
    write_file(join_path(target.folder, kManifestFile), encode_manifest(manifest));
  }

  void resume(size_t num_trainers, const ShardPlace& place = {}) {
    states_.restart(num_trainers);
    states_.restore(CheckpointReader(folder_.path("c")), 3, place);
    states_.resume();
  }
  std::vector<std::string> chunks(int rank) {
    std::vector<std::string> all;
    for (const auto& chunk : states_.of(rank).chunks) all.push_back(*chunk);
    return all;
  }

  ScratchFolder folder_;
  TrainerStates states_;
};

TEST_F(TrainerStatesTest, AsManyTrainersHaveAllThatTheyHad) {
  resume(3);
  EXPECT_THAT(chunks(1), ElementsAre(kErrors + "1", kSchedule + "1", encode_figures({1, "sums"})));
}

TEST_F(TrainerStatesTest, OtherTrainersHaveAllSchedulesAndTheFiguresOfTheirRanks) {
  resume(2);
  const std::string figures[] = {encode_figures({0, "sums"}), encode_figures({1, "sums"}),
                                 encode_figures({2, "sums"})};
  EXPECT_THAT(chunks(0),
              ElementsAre(kSchedule + "0", figures[0], kSchedule + "1", kSchedule + "2", figures[2]));
  EXPECT_THAT(chunks(1), ElementsAre(kSchedule + "0", kSchedule + "1", figures[1], kSchedule + "2"));
}

TEST_F(TrainerStatesTest, EveryChunkIsOfOneShard) {
  size_t count = 0;
  for (int shard : {0, 1}) {
    resume(3, {.num_dense = 2, .dense = shard, .num_sparse = 2, .sparse = shard});
    for (int rank : {0, 1, 2}) count += chunks(rank).size();
  }
  EXPECT_EQ(count, 9u);
}

// A push without data says nothing of them; one with data that brings no others makes them untrue.
TEST_F(TrainerStatesTest, ABatchMakesEarlierChunksUntrue) {
  resume(3);
  PendingPush push;
  push.ended = true;
  EXPECT_FALSE(states_.store(push));
  EXPECT_TRUE(states_.of(0).knows_chunks);
  push.ended = false;
  EXPECT_TRUE(states_.store(push));
  EXPECT_FALSE(states_.of(0).knows_chunks);
  EXPECT_THAT(chunks(0), IsEmpty());
}

}  // namespace
}  // namespace ps::trainer_states_test
