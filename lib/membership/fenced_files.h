// FencedFiles: files that a server can change only while it is not fenced.  Used by ServerLease for checkpoints.
#ifndef PS_MEMBERSHIP_FENCED_FILES_H_
#define PS_MEMBERSHIP_FENCED_FILES_H_

#include <memory>
#include <string>

#include "base/file_system.h"
#include "membership/file_fence.h"

namespace ps {

// Asks the fence before each write.  Before a rename, and before bytes are made durable, the fence looks for
// another server in any case.  Files and fence outlive it.  Any thread, as the fence; each file has one owner
// thread.
class FencedFiles final : public FileSystem {
 public:
  FencedFiles(FileSystem& files, FileFence& fence) : files_(files), fence_(fence) {}

  std::unique_ptr<OutputFile> create(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void sync_directory(const std::string& path) override;
  void make_directories(const std::string& path) override;
  void remove(const std::string& path) override;

 private:
  FileSystem& files_;
  FileFence& fence_;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_FENCED_FILES_H_
