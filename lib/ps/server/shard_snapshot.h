// Shard snapshots: the bytes of all state that a shard has of its run, beside its tables.  A snapshot is
// written with every checkpoint of a shard that has a log, so that the log goes on from there.  Used by
// ShardRecovery.
#ifndef PS_PS_SERVER_SHARD_SNAPSHOT_H_
#define PS_PS_SERVER_SHARD_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ps/server/gathering.h"
#include "ps/server/step_clock.h"

namespace ps {

// The parts of a shard that are in its snapshot.
struct SnapshotContext {
  TrainerRoster& roster;
  StepClock& clock;
  CheckpointAlignment& checkpoints;
  StepApplier& applier;
  Gathering& gathering;
  TrainerStates& states;
  PullService& pulls;
  HeldMemory& held;
  ShardTables& tables;
  ShardCounters& counters;
  bool& going;
  HeldBytes& trainers_held;  // the memory of the trainers of the run
};

std::string save_shard_snapshot(const SnapshotContext& context);

// Loads a snapshot into a shard that has no run.  `pull` gets every pull that waited.  Throws kCorrupt, and
// then leaves the shard in a state from which it cannot go on.
void load_shard_snapshot(std::string_view snapshot, const SnapshotContext& context,
                         const std::function<void(int rank, std::string_view body)>& pull);

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_SNAPSHOT_H_
