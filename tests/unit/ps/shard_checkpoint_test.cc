// One shard's checkpoints, in simulated time: what has to be on the disk before one counts.
#include "ps/server/shard_checkpoint.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "net/sim/sim_network.h"
#include "optim/synthetic_parameter.h"
#include "support/scratch_folder.h"

namespace ps::shard_checkpoint_test {
namespace {

using std::chrono::seconds;

class ShardCheckpointTest : public testing::Test {
 protected:
  CheckpointSettings settings(bool durable) const {
    CheckpointSettings settings;
    settings.directory = folder_.path();
    settings.job = Json::object();
    settings.durable = durable;
    settings.own_thread = false;
    return settings;
  }

  struct Ends final : CheckpointEvents {
    void shard_ended(const CheckpointStep&, const CheckpointShardAnswer& answer) override {
      shards_written += answer.manifest.has_value();
    }
    void checkpoint_ended(const AskedCheckpoint& answer) override { checkpoints += answer.counts; }

    int shards_written = 0, checkpoints = 0;
  };

  bool counts() const { return read_latest(folder_.path()).has_value(); }

  static constexpr CheckpointStep kCheckpoint{7, 12};
  ScratchFolder folder_;
  Ends events_;
  SimNetwork network_{1};
  SimHost& host_ = network_.host("server");
  ShardTables tables_{{synthetic_parameter("w", ParameterKind::kMatrix, false, 10, 4)},
                      make_optimizer_plan(Json{{"type", "sgd"}, {"learning_rate", 1}}, "sum"),
                      {}};
};

TEST_F(ShardCheckpointTest, OneCountsAsSoonAsAllIsWritten) {
  const CheckpointSettings settings = this->settings(false);
  ShardCheckpoint checkpoint(host_.loop(), settings, {}, tables_, events_);
  checkpoint.begin(kCheckpoint, {}, false);
  network_.run_for(seconds(1));
  EXPECT_TRUE(counts());
  EXPECT_FALSE(checkpoint.busy());
  EXPECT_EQ(events_.shards_written, 1);
  EXPECT_EQ(events_.checkpoints, 1);
}

// Whoever came in place of a shard whose log is behind the newest checkpoint would go back.
TEST_F(ShardCheckpointTest, WithALogNoneCountsBeforeWhatFollowsItIsLogged) {
  const CheckpointSettings settings = this->settings(true);
  ShardCheckpoint checkpoint(host_.loop(), settings, {}, tables_, events_);
  checkpoint.begin(kCheckpoint, {}, false);
  checkpoint.note_logged({7, 11});
  network_.run_for(seconds(10));
  EXPECT_FALSE(counts());
  EXPECT_FALSE(find_shard_manifest(folder_.path(), kCheckpoint, {}));
  checkpoint.note_logged(kCheckpoint);
  network_.run_for(seconds(1));
  EXPECT_TRUE(counts());
}

// Steps that follow would give the rest of the snapshot to a checkpoint that takes none.  The shard is not the
// first, which joins the files of all.
TEST_F(ShardCheckpointTest, OneThatHasItsFilesAlreadyEndsTheSnapshotOfTheOneBefore) {
  const CheckpointSettings settings = this->settings(false);
  ShardPlace place;
  place.num_dense = 2, place.dense = 1;
  {
    ShardCheckpoint earlier_process(host_.loop(), settings, place, tables_, events_);
    earlier_process.begin(kCheckpoint, {}, false);
    network_.run_for(seconds(1));
  }
  EXPECT_EQ(events_.shards_written, 1);
  const Table& table = *tables_.parameters().table(0);
  ShardCheckpoint checkpoint(host_.loop(), settings, place, tables_, events_);
  checkpoint.begin({7, 11}, {}, false);
  EXPECT_TRUE(table.has_snapshot());
  checkpoint.begin(kCheckpoint, {}, false);
  EXPECT_FALSE(table.has_snapshot());
  network_.run_for(seconds(1));
  EXPECT_FALSE(checkpoint.busy());
  EXPECT_EQ(events_.shards_written, 2);
}

}  // namespace
}  // namespace ps::shard_checkpoint_test
