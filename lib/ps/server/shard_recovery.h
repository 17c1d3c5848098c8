// ShardRecovery: saves the state that a shard has of its run, and restores it: the states of a checkpoint,
// and the snapshots from which a log goes on.  Used by Shard, which owns it; by CheckpointDriver and
// ShardHost, which decide when.
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

// One owner thread, that of the shard.  The objects in `context` are the shard's, and outlive this.
class ShardRecovery {
 public:
  explicit ShardRecovery(const SnapshotContext& context) : context_(context) {}

  // Returns the states of a checkpoint of this shard: all state except its tables' rows and the trainers'
  // state chunks.  The job's first shard adds what all shards have in common.
  std::map<std::string, std::string> states() const;

  // Restores this shard's part of a checkpoint, before the first run; the run that then begins goes on from
  // there.  Throws as ParameterTables::restore does, and kUsage for a checkpoint of a process without
  // servers.
  void restore(const CheckpointReader& reader);

  // Returns the position of the run that restore has read, divided among so many trainers, and forgets it:
  // nothing is returned the next time, or if no run was restored.
  std::optional<RunState> release_restored(size_t num_trainers);

  // These work as in shard_snapshot.h.  The run that load_snapshot restores replaces the one that restore has
  // read.
  std::string save_snapshot() const { return save_shard_snapshot(context_); }
  void load_snapshot(std::string_view snapshot,
                     const std::function<void(int rank, std::string_view body)>& pull);

 private:
  const SnapshotContext context_;
  std::optional<RunState> restored_;  // until a run begins with it
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_RECOVERY_H_
