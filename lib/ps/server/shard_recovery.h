// ShardRecovery: saves what a shard knows of its run, and puts it back: the states of a checkpoint, and the snapshots
// from which a log goes on.  Used by Shard, which owns it; by CheckpointDriver and ShardHost, which say when.
#ifndef PS_PS_SERVER_SHARD_RECOVERY_H_
#define PS_PS_SERVER_SHARD_RECOVERY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint_reader.h"
#include "ps/server/run_state.h"
#include "ps/server/shard_snapshot.h"

namespace ps {

// The owner thread of the shard; the parts of the shard outlive it.
class ShardRecovery {
 public:
  explicit ShardRecovery(const SnapshotContext& context) : context_(context) {}

  // The states of a checkpoint of this shard: all but its tables' rows and the trainers' state chunks.  The job's
  // first shard adds what all shards have in common.
  std::map<std::string, std::string> states() const;

  // Before the first run: puts back what a checkpoint has of this shard; the run that then begins goes on from
  // there.  Throws as ParameterTables::restore; kUsage for a checkpoint of a process without servers.
  void restore(const CheckpointReader& reader);

  // How far the run had come that was restored, dealt to so many trainers; nothing when none was, or it was
  // taken already.
  std::optional<RunState> take_restored(size_t num_trainers);

  // See shard_snapshot.h.  The run that load_snapshot puts back takes the place of the one that was restored.
  std::string save_snapshot() const { return save_shard_snapshot(context_); }
  void load_snapshot(std::string_view snapshot,
                     const std::function<void(int rank, std::string_view body)>& pull);

 private:
  const SnapshotContext context_;
  std::optional<RunState> restored_;  // until a run begins with it
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_RECOVERY_H_
