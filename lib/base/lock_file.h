// LockFile: a file that tells others if its owner is alive.  The lock on the file shows that the owner's
// process exists; the file's time of change shows that the process still makes progress.  Used by FileFence,
// TemporaryFolder, RunCheckpoints and RunSaves.
#ifndef PS_BASE_LOCK_FILE_H_
#define PS_BASE_LOCK_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ps {

// One owner thread.  The destructor, like the end of the process, releases the lock and leaves the file.
class LockFile {
 public:
  // Creates a file of this name and text, and syncs it: from the moment at which others see it, it is whole
  // and locked.  Returns null when the name is taken.  Throws kExhausted when the disk is full, kUnavailable
  // on other errors.
  static std::unique_ptr<LockFile> create(const std::string& path, std::string_view text);

  // Locks the file of this name, so that only one process at a time holds it.  The file is made if it does not
  // exist, and stays when its owner ends.  Returns null when another process still holds it after `seconds`.
  // Throws as create does.
  static std::unique_ptr<LockFile> claim(const std::string& path, double seconds);

  // Locks a folder in the same way, which must exist.  No file is made in it.
  static std::unique_ptr<LockFile> claim_folder(const std::string& path, double seconds);

  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Changes the file's time, as a sign of life.  Throws kUnavailable.
  void touch() const;

 private:
  static std::unique_ptr<LockFile> claim(const std::string& path, int open_flags, double seconds);

  LockFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
};

struct LockFileState {
  bool locked = false;  // true as well where the file system has no locks
  int64_t touched = 0;  // changes with every call of touch
};

// Returns nullopt when there is no such file.  Throws kUnavailable when its state cannot be read.
std::optional<LockFileState> lock_file_state(const std::string& path);

}  // namespace ps

#endif  // PS_BASE_LOCK_FILE_H_
