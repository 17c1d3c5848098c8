#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

namespace ps {

namespace {

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(Code::kUnavailable, "cannot write", path, errno);
    text.remove_prefix(static_cast<size_t>(count));
  }
  if (fsync(file) != 0) fail_errno(Code::kUnavailable, "cannot sync", path, errno);
}

// Gives the complete file its final name.  Returns false when the name is taken.
bool publish(const std::string& temporary, const std::string& path) {
  if (link(temporary.c_str(), path.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  fail_errno(Code::kUnavailable, "cannot make", path, errno);
}

}  // namespace

// The file is made under a temporary name, so that nobody sees it half written or before it is locked.  On a
// file system without locks the file is made all the same: others then recognise a live owner by its calls of
// touch alone.
std::unique_ptr<LockFile> LockFile::create(const std::string& path, std::string_view text) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) fail_errno(Code::kUnavailable, "cannot create", temporary, errno);
  std::unique_ptr<LockFile> made(new LockFile(path, file));
  try {
    flock(file, LOCK_EX | LOCK_NB);
    write_all(file, text, temporary);
    if (!publish(temporary, path)) made.reset();
  } catch (const Error&) {
    unlink(temporary.c_str());
    throw;
  }
  unlink(temporary.c_str());
  if (made) system_files().sync_directory(parent_directory(path));
  return made;
}

std::unique_ptr<LockFile> LockFile::claim(const std::string& path, double seconds) {
  return claim(path, O_RDWR | O_CREAT, seconds);
}

std::unique_ptr<LockFile> LockFile::claim_folder(const std::string& path, double seconds) {
  return claim(path, O_RDONLY | O_DIRECTORY, seconds);
}

// A file system without locks lets everybody have it.
std::unique_ptr<LockFile> LockFile::claim(const std::string& path, int open_flags, double seconds) {
  constexpr auto kInterval = std::chrono::milliseconds(20);
  const int file = open(path.c_str(), open_flags | O_CLOEXEC, 0666);
  if (file < 0) fail_errno(Code::kUnavailable, "cannot open", path, errno);
  std::unique_ptr<LockFile> claimed(new LockFile(path, file));
  const double end = monotonic_seconds() + seconds;
  // flock itself has no time limit, so the lock is tried again and again.
  while (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (monotonic_seconds() >= end) return nullptr;
    std::this_thread::sleep_for(kInterval);
  }
  return claimed;
}

LockFile::~LockFile() {
  close(file_);
}

void LockFile::touch() const {
  if (futimens(file_, nullptr) != 0) fail_errno(Code::kUnavailable, "cannot touch", path_, errno);
}

// Tries a shared lock, so that two processes that look at the same time do not take each other for the owner.
std::optional<LockFileState> lock_file_state(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) fail_errno(Code::kUnavailable, "cannot open", path, errno);
  struct stat status {};
  const int failed = fstat(file, &status), error = errno;
  const bool locked = flock(file, LOCK_SH | LOCK_NB) != 0;
  close(file);
  if (failed != 0) fail_errno(Code::kUnavailable, "cannot look at", path, error);
  return LockFileState{locked, int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace ps
