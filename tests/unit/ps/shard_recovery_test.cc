// The state of a shard in checkpoints and snapshots, and back.
#include "ps/server/shard_recovery.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/manifest.h"
#include "run_parts.h"
#include "support/scratch_folder.h"

namespace ps::shard_recovery_test {
namespace {

class ShardRecoveryTest : public testing::Test {
 protected:
  // A run that has made two steps of both trainers.
  ShardRecoveryTest() {
    for (uint64_t step : {0, 1}) {
      for (int rank : {0, 1}) run_.push(rank, step, 1);
    }
  }

  // A checkpoint of the run's tables, with the states that all shards have in common.
  CheckpointReader checkpoint(const std::map<std::string, std::string>& states) {
    const CheckpointTarget target{folder_.path(cat("c", num_checkpoints_++)), {}, nullptr};
    make_directories(target.folder);
    Manifest manifest{.step = 1};
    manifest.tables = run_.tables.parameters().layouts();
    manifest.files = run_.tables.parameters().save(target, states);
    write_file(join_path(target.folder, kManifestFile), encode_manifest(manifest));
    return CheckpointReader(target.folder);
  }

  // The states of the run that all shards have in common: those of the tables are saved with these.
  std::map<std::string, std::string> common() {
    std::map<std::string, std::string> states = recovery_.states();
    for (const auto& [name, bytes] : run_.tables.parameters().states()) states.erase(name);
    return states;
  }

  int num_checkpoints_ = 0;
  ScratchFolder folder_;
  RunParts run_{Consistency()}, other_{Consistency()};
  ShardRecovery recovery_{run_.snapshot_parts()}, again_{other_.snapshot_parts()};
};

TEST_F(ShardRecoveryTest, FirstShardAloneSavesWhatAllHaveInCommon) {
  EXPECT_TRUE(recovery_.states().contains(kRunState));
  RunParts second{Consistency()};
  ShardTables beside{second.specs, second.optimizers, {.num_dense = 2, .dense = 1}};
  const ShardRecovery recovery({second.roster, *second.clock, second.checkpoints, second.applier,
                                second.gathering, second.states, second.pulls, second.held, beside,
                                second.counters, second.going, second.trainers_held});
  EXPECT_FALSE(recovery.states().contains(kRunState));
}

TEST_F(ShardRecoveryTest, RestoredRunGoesOnOnceAndForAsManyTrainersAsComeThen) {
  again_.restore(checkpoint(common()));
  const std::optional<RunState> from = again_.release_restored(2);
  ASSERT_TRUE(from);
  EXPECT_EQ(from->trainers.size(), 2u);
  EXPECT_EQ(from->trainers[1].batches, 2u);
  EXPECT_FALSE(again_.release_restored(2)) << "it was taken";
  RunParts four{Consistency()};
  ShardRecovery for_four(four.snapshot_parts());
  for_four.restore(checkpoint(common()));
  EXPECT_EQ(for_four.release_restored(4)->trainers.size(), 4u);
  EXPECT_EQ(other_.applier.rule().steps(), 2);
  EXPECT_EQ(other_.weight(), run_.weight());
}

TEST_F(ShardRecoveryTest, CheckpointOfAProcessWithoutServersIsRefused) {
  try {
    again_.restore(checkpoint({}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
  }
}

TEST_F(ShardRecoveryTest, DamagedStateOfTheRunIsRefused) {
  const std::string good = common()[kRunState];
  for (const std::string& bad : {good + '\0', good.substr(0, good.size() - 1), std::string()}) {
    std::map<std::string, std::string> states = common();
    states[kRunState] = bad;
    RunParts fresh{Consistency()};
    try {
      ShardRecovery(fresh.snapshot_parts()).restore(checkpoint(states));
      ADD_FAILURE() << "accepted " << bad.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.message();
    }
  }
}

TEST_F(ShardRecoveryTest, SnapshotTakesThePlaceOfWhatWasRestored) {
  again_.restore(checkpoint(common()));
  again_.load_snapshot(recovery_.save_snapshot(), [](int, std::string_view) {});
  EXPECT_FALSE(again_.release_restored(2));
  EXPECT_EQ(again_.save_snapshot(), recovery_.save_snapshot());
}

}  // namespace
}  // namespace ps::shard_recovery_test
