// The "checkpoint" section of the job file.
#ifndef PS_TRAIN_CHECKPOINT_OPTIONS_H_
#define PS_TRAIN_CHECKPOINT_OPTIONS_H_

#include <cstdint>
#include <string>

#include "config/spec.h"

namespace ps {

struct CheckpointOptions {
  std::string directory;  // empty: no checkpoints
  Json period = "5m";     // a duration, or seconds; 0: no checkpoints by time
  int64_t steps = 0;      // 0: no checkpoints by steps
  int keep = 2;           // number of newest checkpoints that are kept
  int full_every = 1;     // one of this many checkpoints has all rows
  std::string compression = "zstd";
  Json bandwidth = 0;    // bytes a second, as "100M"; 0: no limit
  Json memory = "512M";  // bytes for a server, of which its shards have equal parts

  static const ObjectSpec<CheckpointOptions>& spec();

  // Parse period, bandwidth and memory.  Throw kUsage "checkpoint.period: …".
  double period_seconds() const;
  double bytes_per_second() const;
  uint64_t memory_bytes() const;
};

}  // namespace ps

#endif  // PS_TRAIN_CHECKPOINT_OPTIONS_H_
