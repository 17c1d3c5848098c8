// LockFile: a file that tells others whether its owner is there.  A lock on it says that the owner's process
// has not ended, the time of its last change that it has not stopped either.  Used by FileFence and
// TemporaryFolder.
#ifndef PS_BASE_LOCK_FILE_H_
#define PS_BASE_LOCK_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ps {

// One owner thread.  The file stays when this ends, without its lock; so it does when the process is killed.
class LockFile {
 public:
  // Makes a file of this name and text, durably: from the moment at which others see it, it is locked and
  // whole.  Null when something has the name.  Throws kExhausted when the disk is full, kUnavailable on other
  // errors.
  static std::unique_ptr<LockFile> create(const std::string& path, std::string_view text);

  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // A sign of life.  Throws kUnavailable.
  void touch() const;

 private:
  LockFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
};

struct LockFileState {
  bool locked = false;  // also where the file system cannot tell
  int64_t touched = 0;  // another number after every sign of life
};

// Nothing when there is no such file.  Throws kUnavailable when it cannot be looked at.
std::optional<LockFileState> lock_file_state(const std::string& path);

}  // namespace ps

#endif  // PS_BASE_LOCK_FILE_H_
