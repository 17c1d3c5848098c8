// TemporaryFolder: a folder that is removed with everything in it when the object is destroyed.
#ifndef PS_BASE_TEMPORARY_FOLDER_H_
#define PS_BASE_TEMPORARY_FOLDER_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/lock_file.h"

namespace ps {

// Returns $TMPDIR, or /tmp if that is not set.  Throws kUnavailable when it is no folder.
std::string default_temporary_parent();

// Removes the temporary folders in `parent` whose processes were killed, as far as this user may.
void remove_left_folders(const std::string& parent);

// One owner thread.
class TemporaryFolder {
 public:
  // Creates the folder in `parent` with access for this user alone.  Throws kUnavailable when it cannot be
  // created.
  explicit TemporaryFolder(const std::string& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const;

 private:
  std::string path_;
  std::unique_ptr<LockFile> lock_;  // a file in the folder, locked while this process lives
};

}  // namespace ps

#endif  // PS_BASE_TEMPORARY_FOLDER_H_
