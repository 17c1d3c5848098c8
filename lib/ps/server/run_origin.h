// The checkpoint with which a shard's run begins: functions that choose, open and check it.  Used by
// ShardHost.
#ifndef PS_PS_SERVER_RUN_ORIGIN_H_
#define PS_PS_SERVER_RUN_ORIGIN_H_

#include <memory>

#include "checkpoint/checkpoint_reader.h"
#include "ps/server/served_job.h"
#include "ps/wire/hello.h"

namespace ps {

// Returns true if the run that begins with this hello goes on from an earlier one.
bool goes_back(const Hello& hello, const CheckpointSettings& settings);

// Opens the checkpoint with which the run begins; returns null if it begins without one.  The job's first
// shard takes the newest checkpoint that is whole, and the others the one that it took, which the hello
// names.  Throws kUsage if there are checkpoints and the run does not go back.
std::unique_ptr<CheckpointReader> open_origin(const Hello& hello, const CheckpointSettings& settings);

// Throws kUsage if the checkpoint is of another job.
void check_is_of_job(const CheckpointReader& checkpoint, const CheckpointSettings& settings);

// Opens the newest checkpoint, from which a log goes on.  Returns null if there is none, or if it is damaged.
std::unique_ptr<CheckpointReader> open_for_log(const CheckpointSettings& settings);

// Warns of a damaged checkpoint, without which the log after it is of no use; throws any other error again.
void warn_of_damage(const CheckpointSettings& settings, const Error& error);

}  // namespace ps

#endif  // PS_PS_SERVER_RUN_ORIGIN_H_
