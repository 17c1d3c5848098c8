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

// One owner thread, that of the shard, whose objects in `context` outlive this.
class ShardRecovery {
 public:
  explicit ShardRecovery(const SnapshotContext& context) : context_(context) {}

  // The states of a checkpoint of this shard: all but its tables' rows and the trainers' state chunks.  The job's
  // first shard adds what all shards have in common.
  std::map<std::string, std::string> states() const;

  // Before the first run: puts back what a checkpoint has of this shard; the run that then begins goes on from
  // there.  Throws as ParameterTables::restore; kUsage for a checkpoint of a process without servers.
  void restore(const CheckpointReader& reader);

  // Returns the position of the run that restore has put back, divided among so many trainers, and gives it up: nothing is
  // returned the next time, or when no run was restored.
  std::optional<RunState> release_restored(size_t num_trainers);

  // As in shard_snapshot.h.  The run that load_snapshot puts back replaces the one that restore has put back.
  std::string save_snapshot() const { return save_shard_snapshot(context_); }
  void load_snapshot(std::string_view snapshot,
                     const std::function<void(int rank, std::string_view body)>& pull);

 private:
  const SnapshotContext context_;
  std::optional<RunState> restored_;  // until a run begins with it
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_RECOVERY_H_
