// ServedJob: the settings with which a server is started, for all of its shards.  Made by serve_job and by
// tests, used by ShardServer and its parts.
#ifndef PS_PS_SERVER_SERVED_JOB_H_
#define PS_PS_SERVER_SERVED_JOB_H_

#include <functional>
#include <string>
#include <vector>

#include "config/json.h"
#include "data/batch.h"
#include "membership/fence.h"
#include "net/loop.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"
#include "ps/server/shard_checkpoint.h"
#include "ps/server/trainer_roster.h"
#include "ps/wire/consistency.h"
#include "store/placement.h"

namespace ps {

// The job that servers and trainers must agree on.
struct ServedJob {
  Json fingerprint;  // settings that servers and trainers must have in common
  std::function<std::vector<ParameterSpec>(const DataSchema&)> parameters;
  OptimizerPlan optimizers;
  Consistency consistency;
  Json push_codec = nullptr;  // codec of the gradients' bytes; null: gradients come as rows
  TrainerLoss trainer_loss;
  // A peer without a sign of life for this long counts as dead.
  Duration request_timeout = std::chrono::seconds(15);
  CheckpointSettings checkpoints = {};
  Fence* fence = nullptr;  // null: no other server can take this server's place
};

// The job's data and servers as the first trainer described them; every other trainer must describe the same.
struct ShardIdentity {
  Json schema, place;
  std::string cpu;         // level of that trainer's kernels
  ShardPlace shard_place;  // as `place` has it

  bool is_first() const { return shard_place.dense == 0; }  // the first of the job's shards
};

// The beginning of a shard's run.
struct RunOrigin {
  bool recovers = false;  // the run goes on from a checkpoint, or begins anew, whatever there was before
  std::string folder;     // of the checkpoint; empty: there was none
  std::optional<CheckpointStep> step;  // step of the checkpoint, if this process has restored it
};

}  // namespace ps

#endif  // PS_PS_SERVER_SERVED_JOB_H_
