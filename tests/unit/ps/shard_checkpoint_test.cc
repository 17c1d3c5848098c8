// One shard's checkpoints, in simulated time: what has to be on the disk before one counts.
#include "ps/server/shard_checkpoint.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "net/sim/sim_host.h"
#include "net/sim/sim_network.h"
#include "support/scratch_folder.h"
#include "support/test_parameter.h"

namespace ps {
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

  bool counts() const { return read_latest(folder_.path()).has_value(); }

  static constexpr CheckpointStep kCut{7, 12};
  ScratchFolder folder_;
  SimNetwork network_{1};
  SimHost host_{network_, "server"};
  ShardTables tables_{{test_parameter("w", ParameterKind::kMatrix, false, 10, 4)},
                      make_optimizer_plan(Json{{"type", "sgd"}, {"learning_rate", 1}}, "sum"),
                      {}};
};

TEST_F(ShardCheckpointTest, OneCountsAsSoonAsAllIsWritten) {
  const CheckpointSettings settings = this->settings(false);
  ShardCheckpoint checkpoint(host_.loop(), settings, {}, tables_);
  checkpoint.begin(kCut, {}, false);
  network_.run_for(seconds(1));
  EXPECT_TRUE(counts());
  EXPECT_FALSE(checkpoint.busy());
}

// Whoever came in place of a shard whose log is behind the newest checkpoint would go back.
TEST_F(ShardCheckpointTest, WithALogNoneCountsBeforeWhatFollowsItIsLogged) {
  const CheckpointSettings settings = this->settings(true);
  ShardCheckpoint checkpoint(host_.loop(), settings, {}, tables_);
  checkpoint.begin(kCut, {}, false);
  checkpoint.note_logged({7, 11});
  network_.run_for(seconds(10));
  EXPECT_FALSE(counts());
  EXPECT_FALSE(find_part(folder_.path(), kCut, {}));
  checkpoint.note_logged(kCut);
  network_.run_for(seconds(1));
  EXPECT_TRUE(counts());
}

}  // namespace
}  // namespace ps
