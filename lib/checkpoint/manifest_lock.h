// ManifestLock: a lock on a checkpoint's manifest, which says that somebody reads the checkpoint, so that
// nobody removes it meanwhile.  Used by CheckpointReader, and by what removes old checkpoints.
#ifndef PS_CHECKPOINT_MANIFEST_LOCK_H_
#define PS_CHECKPOINT_MANIFEST_LOCK_H_

#include <string>

#include "base/file_system.h"

namespace ps {

// One owner thread.  It goes with the process, however that ends.  A file system without locks keeps nobody
// from reading, nor from removing.
class ManifestLock {
 public:
  // Any number may read.  Throws kUsage when there is no manifest, or when it is just being removed.
  explicit ManifestLock(const std::string& path);
  ~ManifestLock();
  ManifestLock(const ManifestLock&) = delete;
  ManifestLock& operator=(const ManifestLock&) = delete;

 private:
  int file_;
};

// Removes a manifest, if it is there, so that nobody begins to read the checkpoint; false when somebody does
// already.
bool remove_unless_read(FileSystem& files, const std::string& path);

}  // namespace ps

#endif  // PS_CHECKPOINT_MANIFEST_LOCK_H_
