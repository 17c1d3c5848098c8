#include "base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace ps {

std::string default_temporary_parent() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

TemporaryFolder::TemporaryFolder(const std::string& parent) : path_(join_path(parent, "pskit-XXXXXX")) {
  if (mkdtemp(path_.data()) == nullptr) {
    fail_errno(Code::kUnavailable, "cannot make a folder in", parent, errno);
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::path(std::string_view name) const {
  return join_path(path_, name);
}

}  // namespace ps
