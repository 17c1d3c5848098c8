// TemporaryFolder: a folder that goes, with all that is in it, when it is done with.
#ifndef PS_BASE_TEMPORARY_FOLDER_H_
#define PS_BASE_TEMPORARY_FOLDER_H_

#include <string>
#include <string_view>

namespace ps {

// $TMPDIR, else /tmp.
std::string default_temporary_parent();

class TemporaryFolder {
 public:
  // For this user alone.  Throws kUnavailable when it cannot be made in `parent`.
  explicit TemporaryFolder(const std::string& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace ps

#endif  // PS_BASE_TEMPORARY_FOLDER_H_
