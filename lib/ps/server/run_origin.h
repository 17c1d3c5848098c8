// The checkpoint with which a shard's run begins: which one it is, and whether it may be used.  Used by
// ShardHost.
#ifndef PS_PS_SERVER_RUN_ORIGIN_H_
#define PS_PS_SERVER_RUN_ORIGIN_H_

#include <memory>

#include "checkpoint/checkpoint_reader.h"
#include "ps/server/served_job.h"
#include "ps/wire/hello.h"

namespace ps {

// The run that begins with this hello is one that goes on.
bool goes_back(const Hello& hello, const CheckpointSettings& settings);

// The checkpoint with which the run begins; null: with none.  The job's first shard takes the newest that is
// whole, the others the one that it took, which the hello names.  Throws kUsage when there are some and the run does
// not go back.
std::unique_ptr<CheckpointReader> open_origin(const Hello& hello, const CheckpointSettings& settings);

// Throws kUsage when it is of another job.
void check_is_of_job(const CheckpointReader& checkpoint, const CheckpointSettings& settings);

// The newest checkpoint, from which a log goes on.  Null: there is none, or it is damaged.
std::unique_ptr<CheckpointReader> open_for_log(const CheckpointSettings& settings);

// Warns of a damaged checkpoint, after which a log is of no use; throws other errors on.
void warn_of_damage(const CheckpointSettings& settings, const Error& error);

}  // namespace ps

#endif  // PS_PS_SERVER_RUN_ORIGIN_H_
