// FileSystem: the system calls that writing durable files needs.  Code that promises to survive a crash or a
// full disk takes one as a parameter, so that a test can let any call fail and lose bytes that were not
// synced.
#ifndef PS_BASE_FILE_SYSTEM_H_
#define PS_BASE_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ps {

// A file being written from its beginning.  One owner thread.  All throw kExhausted when the disk is full and
// kUnavailable on other errors.
class OutputFile {
 public:
  virtual ~OutputFile() = default;  // closes the file; bytes that are not synced may be lost

  virtual void write(std::string_view bytes) = 0;

  // Replaces bytes that were written before, from `offset` on.  The next write still appends to the end.
  virtual void overwrite(uint64_t offset, std::string_view bytes) = 0;

  // When it returns, all written bytes are on the disk.  After an error the file must be given up: the system
  // may have dropped the pages that it could not write, and a second sync would report success.
  virtual void sync() = 0;
};

// Any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates a new file.  An existing file is removed first.  A symbolic link is removed too, never followed:
  // otherwise anybody who can put links into the folder could have another file overwritten.  Throws kUsage
  // when the file cannot be created.
  virtual std::unique_ptr<OutputFile> create(const std::string& path) = 0;

  // Replaces `to` atomically.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  // When it returns, names that were created, renamed and removed in the folder are on the disk.
  virtual void sync_directory(const std::string& path) = 0;

  // Creates the folder and the folders above it.  Throws kUsage when one cannot be created.
  virtual void make_directories(const std::string& path) = 0;

  // Removes a file, or a folder with everything in it.  Does nothing if it does not exist.
  virtual void remove(const std::string& path) = 0;
};

// The file system of the operating system.  The object has no state.
FileSystem& system_files();

// The same without syncing, for files that nobody needs after a crash.
FileSystem& unsynced_files();

}  // namespace ps

#endif  // PS_BASE_FILE_SYSTEM_H_
