// ManifestLock: a shared lock on a checkpoint's manifest, held while the checkpoint is read, so that no
// process removes it.  Used by CheckpointReader, and where old checkpoints are removed.
#ifndef PS_CHECKPOINT_MANIFEST_LOCK_H_
#define PS_CHECKPOINT_MANIFEST_LOCK_H_

#include <string>

#include "base/file_system.h"

namespace ps {

// One owner thread.  The lock ends with the process, also if that is killed.  On a file system without locks,
// nothing prevents reading or removing.
class ManifestLock {
 public:
  // Any number of processes may hold the lock.  Throws kUsage when there is no manifest, or when it is being
  // removed.
  explicit ManifestLock(const std::string& path);
  ~ManifestLock();
  ManifestLock(const ManifestLock&) = delete;
  ManifestLock& operator=(const ManifestLock&) = delete;

 private:
  int file_;
};

// Removes a manifest, if it exists, so that no process begins to read the checkpoint.  Returns false when one
// reads it already.
bool remove_unless_read(FileSystem& files, const std::string& path);

}  // namespace ps

#endif  // PS_CHECKPOINT_MANIFEST_LOCK_H_
