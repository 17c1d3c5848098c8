// CheckpointCopier: copies the servers' files of a checkpoint to a folder of the trainer's.  Used by
// RemoteCheckpoints.
//
// All shards are copied at the same time.  The files of a shard are copied one after the other, one slice at a
// time, so that pulls and pushes wait for one slice at most.  A checkpoint that is an increment is followed by
// the one that it builds on.
#ifndef PS_PS_CLIENT_CHECKPOINT_COPIER_H_
#define PS_PS_CLIENT_CHECKPOINT_COPIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "ps/client/shard_links.h"
#include "store/run_control.h"

namespace ps {

// One owner thread.  The copying goes on while that thread waits for the links.
class CheckpointCopier {
 public:
  // `links` outlives this.
  explicit CheckpointCopier(ShardLinks& links) : links_(links) {}

  // Copies a checkpoint, as ServerCheckpoints::copy says.
  void copy(const AskedCheckpoint& checkpoint, const std::string& directory,
            std::function<void(const std::optional<Error>&)> done);

 private:
  struct Copying;  // one checkpoint
  using CopyingPtr = std::shared_ptr<Copying>;

  void begin(const CopyingPtr& copying, const std::string& directory, const std::string& name);
  void ask_shard(const CopyingPtr& copying, size_t shard);
  void copy_file(const CopyingPtr& copying, size_t shard, size_t file);
  void copy_slice(const CopyingPtr& copying, size_t shard, size_t file, uint64_t offset);
  void end(const CopyingPtr& copying);

  ShardLinks& links_;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_CHECKPOINT_COPIER_H_
