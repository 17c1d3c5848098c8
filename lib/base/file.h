// Files: whole reads, writes that appear whole or not at all, folders.  Used by everything that touches a
// disk.
#ifndef PS_BASE_FILE_H_
#define PS_BASE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace ps {

// The bytes of a file of at most `max_bytes`.  Throws kUsage when it cannot be opened, kCorrupt when it is
// larger.
std::string read_file(const std::string& path, uint64_t max_bytes = uint64_t{1} << 30);

// A file being written beside its final path, which it replaces at commit().  Without a commit it is removed.
// Throws kExhausted when the disk is full, kUnavailable on other errors.  One owner thread.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, FileSystem& files = system_files());
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void overwrite(uint64_t offset, std::string_view bytes);  // as OutputFile's
  uint64_t size() const { return size_; }

  // Syncs the file, renames it, and syncs the folder: when it returns, the whole file survives a loss of
  // power.
  void commit();

 private:
  void flush();

  FileSystem& files_;
  const std::string path_, temporary_;
  std::unique_ptr<OutputFile> file_;  // null once committed
  std::string buffer_;
  uint64_t size_ = 0;
};

void write_file(const std::string& path, std::string_view bytes, FileSystem& files = system_files());

// Writes a file that a user has named.  Where a link leads to a file, that file is replaced.  A device or a pipe, and the
// file of standard output or error, is never replaced: it gets the bytes.  Throws kUsage for a folder, else as AtomicFile does.
void write_named_file(const std::string& path, std::string_view bytes);

void make_directories(const std::string& path);

// Makes `path` a symbolic link to `target`, in place of the file that is there, if one is.
void replace_link(const std::string& target, const std::string& path);

// Makes `to` another name of the file `from`, or, on another disk, a copy of it.
void link_or_copy(const std::string& from, const std::string& to);

bool is_directory(const std::string& path);
bool exists(const std::string& path);

// Names in a folder, sorted by bytes, hidden ones left out.
std::vector<std::string> list_directory(const std::string& path);

// The folder that `path` is in: "." when it names none.
std::string parent_directory(const std::string& path);

// "a/b" + "c" = "a/b/c"; an absolute `name` stays as it is.
std::string join_path(std::string_view directory, std::string_view name);

}  // namespace ps

#endif  // PS_BASE_FILE_H_
