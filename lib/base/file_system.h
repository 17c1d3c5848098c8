// FileSystem: what writing durable files needs of the system.  Code that promises to survive a crash or a
// full disk takes one, so that a test can fail any call and lose what was not synced.
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
  virtual ~OutputFile() = default;  // closes it; what is not synced may be lost

  virtual void write(std::string_view bytes) = 0;

  // Puts bytes in place of as many that were written before, from `offset` on.  What is written next still
  // goes to the end.
  virtual void overwrite(uint64_t offset, std::string_view bytes) = 0;

  // When it returns, all that was written is on the disk.  After an error the file must be given up: the
  // system may have dropped what it could not write, and would call a second sync a success.
  virtual void sync() = 0;
};

// Any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // A new file.  One that is there is taken away first, and a link goes, not what it points to: whoever can
  // put links into the folder gets nothing else written.  Throws kUsage when the file cannot be made.
  virtual std::unique_ptr<OutputFile> create(const std::string& path) = 0;

  // `to` is replaced whole.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  // Names made, renamed and removed in a folder are on the disk when it returns.
  virtual void sync_directory(const std::string& path) = 0;

  // The folder and those above it.  Throws kUsage when it cannot be made.
  virtual void make_directories(const std::string& path) = 0;

  // A file, or a folder with all that is in it; it need not be there.
  virtual void remove(const std::string& path) = 0;
};

// The system's own; has no state.
FileSystem& system_files();

// The same without syncing, for what nobody needs after a crash.
FileSystem& unsynced_files();

}  // namespace ps

#endif  // PS_BASE_FILE_SYSTEM_H_
