// ScratchFolder: a folder of a test's own, which goes when the test ends.
#ifndef PS_TESTS_SUPPORT_SCRATCH_FOLDER_H_
#define PS_TESTS_SUPPORT_SCRATCH_FOLDER_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace ps {

class ScratchFolder {
 public:
  ScratchFolder() : path_(testing::TempDir() + "/pskit-test-XXXXXX") {
    PS_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchFolder() { system_files().remove(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return join_path(path_, name); }

 private:
  std::string path_;
};

// The Error that `action` throws; one without a message when it throws none.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kInternal, "");
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_SCRATCH_FOLDER_H_
