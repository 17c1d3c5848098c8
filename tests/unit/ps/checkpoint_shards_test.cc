// Parts of a checkpoint that several shards write: they are found by whoever comes in place of a shard that
// was killed, at any moment, and are not written over.
#include "ps/server/checkpoint_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "support/scratch_folder.h"

namespace ps::checkpoint_shards_test {
namespace {

using testing::ElementsAre;

class CheckpointPartsTest : public testing::Test {
 protected:
  // All that this shard has is a state.
  Manifest write(int shard, uint64_t run = 7) {
    CheckpointShardWriter writer(folder_.path(), {run, kStep}, place(shard), {&system_files(), 1, nullptr});
    return writer.finish({}, {{cat("state of ", shard), "something"}});
  }
  static ShardPlace place(int shard) {
    return {.num_dense = 2, .dense = shard, .num_sparse = 2, .sparse = shard};
  }
  std::optional<Manifest> find(int shard, uint64_t run = 7) {
    return find_shard_manifest(folder_.path(), {run, kStep}, place(shard));
  }
  uint64_t commit() { return commit_shards(system_files(), folder_.path(), kCheckpoint, Json::object()); }
  static std::vector<std::string> paths(const Manifest& manifest) {
    std::vector<std::string> paths;
    for (const FileEntry& file : manifest.files) paths.push_back(file.path);
    return paths;
  }

  static constexpr int64_t kStep = 12;
  static constexpr CheckpointStep kCheckpoint{7, kStep};
  ScratchFolder folder_;
};

TEST_F(CheckpointPartsTest, APartIsThereWhenItIsWhole) {
  EXPECT_FALSE(find(0));
  {
    CheckpointShardWriter begun(folder_.path(), kCheckpoint, place(0), {&system_files(), 1, nullptr});
    EXPECT_FALSE(find(0));
  }
  write(0);
  ASSERT_TRUE(find(0));
  EXPECT_THAT(paths(*find(0)), ElementsAre("shard-d0-s0.psc"));
  EXPECT_FALSE(find(1));
  EXPECT_FALSE(find(0, 8)) << "of another run";
  EXPECT_FALSE(all_shards_written(folder_.path(), kCheckpoint, place(0)));
  write(1);
  EXPECT_TRUE(all_shards_written(folder_.path(), kCheckpoint, place(0)));
}

TEST_F(CheckpointPartsTest, WhoeverDiesWhileACheckpointIsMadeOfThemMakesItAgain) {
  write(0);
  write(1);
  system_files().rename(folder_.path(writing_folder(kCheckpoint)), folder_.path(step_folder(kStep)));
  ASSERT_TRUE(find(1));
  ASSERT_TRUE(all_shards_written(folder_.path(), kCheckpoint, place(0)));
  EXPECT_GT(commit(), 0u);
  remove_stale_shards(system_files(), folder_.path(), kCheckpoint);
  const CheckpointReader reader(folder_.path(step_folder(kStep)));
  EXPECT_EQ(reader.state("state of 1"), "something");
  EXPECT_THAT(list_directory(reader.folder()),
              testing::UnorderedElementsAre(kManifestFile, "shard-d0-s0.psc", "shard-d1-s1.psc"));
  ASSERT_TRUE(find(1)) << "it is in a checkpoint that counts";
  EXPECT_THAT(paths(*find(1)), ElementsAre("shard-d1-s1.psc"));
  EXPECT_FALSE(find(1, 8)) << "of another run";
}

TEST_F(CheckpointPartsTest, ACheckpointTakesThePlaceOfAnotherRunsOfTheSameStep) {
  for (int shard : {0, 1}) write(shard);
  commit();
  for (int shard : {0, 1}) write(shard, 8);
  commit_shards(system_files(), folder_.path(), {8, kStep}, Json::object());
  EXPECT_EQ(CheckpointReader(folder_.path(step_folder(kStep))).manifest().generation, 8u);
}

}  // namespace
}  // namespace ps::checkpoint_shards_test
