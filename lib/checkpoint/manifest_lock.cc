#include "checkpoint/manifest_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace ps {

namespace {

// Returns true if another process has a lock that conflicts with this operation.
bool others_have(int file, int operation) {
  return flock(file, operation | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool has_name(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

// A process that removes the manifest holds the lock until the name is gone.  So if the file still has its
// name after it was locked here, it will keep it.
ManifestLock::ManifestLock(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) fail_errno(Code::kUsage, "cannot open", path, errno);
  if (!others_have(file_, LOCK_SH) && has_name(file_)) return;
  close(file_);
  fail_errno(Code::kUsage, "cannot open", path, ENOENT);
}

ManifestLock::~ManifestLock() {
  close(file_);
}

// The lock is taken without waiting and held until the name is gone, so that no reader can lock the file
// between.
bool remove_unless_read(FileSystem& files, const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const bool is_read = others_have(file, LOCK_EX);
  try {
    if (!is_read) files.remove(path);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
  return !is_read;
}

}  // namespace ps
