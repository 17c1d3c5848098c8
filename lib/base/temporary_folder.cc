#include "base/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace ps {

namespace {

constexpr std::string_view kPrefix = "pskit-", kLock = "owner.lock";

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// Returns true if the process that made the folder has ended; false if it lives, or if that cannot be found
// out.
bool is_left(const std::string& folder) {
  try {
    const std::optional<LockFileState> state = lock_file_state(join_path(folder, kLock));
    return state && !state->locked;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string default_temporary_parent() {
  try {
    return std::filesystem::temp_directory_path().string();
  } catch (const std::filesystem::filesystem_error& error) {
    fail_errno(Code::kUnavailable, "cannot use the temporary folder", error.path1().string(),
               error.code().value());
  }
}

// A folder without a lock file is left alone: its owner may be about to make it.
void remove_left_folders(const std::string& parent) {
  if (!is_directory(parent)) return;
  for (const std::string& name : list_directory(parent)) {
    const std::string folder = join_path(parent, name);
    if (name.starts_with(kPrefix) && is_left(folder)) remove_quietly(folder);
  }
}

TemporaryFolder::TemporaryFolder(const std::string& parent)
    : path_(join_path(parent, cat(kPrefix, "XXXXXX"))) {
  if (mkdtemp(path_.data()) == nullptr) {
    fail_errno(Code::kUnavailable, "cannot make a folder in", parent, errno);
  }
  try {
    // The lock ends with this process, even if it is killed, and remove_left_folders then removes the
    // folder.
    lock_ = LockFile::create(path(kLock), cat("process ", getpid(), "\n"));
  } catch (const Error&) {
    remove_quietly(path_);
    throw;
  }
}

TemporaryFolder::~TemporaryFolder() {
  remove_quietly(path_);
}

std::string TemporaryFolder::path(std::string_view name) const {
  return join_path(path_, name);
}

}  // namespace ps
