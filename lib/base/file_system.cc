#include "base/file_system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/async_io.h"
#include "base/error.h"
#include "base/huge_pages.h"

namespace ps {

namespace {

// Creates a file that must not exist yet, and returns its descriptor, or -1 with errno set.  A device is
// opened as it is.
int create_new(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
  const auto create = [&] { return open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666); };
  const int file = create();
  if (file >= 0 || errno != EEXIST) return file;
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    return open(path.c_str(), kFlags);
  }
  unlink(path.c_str());
  return create();
}

// A large file is written with direct access, past the page cache: nobody reads it soon, and copying it into
// the cache would cost as much processor time as producing the bytes.  Bytes are gathered in two pieces by
// turns: one is filled while the other is being written.  After a sync, or where the file system has no
// direct access, bytes are written through the cache as they come.  The same holds for unsynced_files(),
// where the system chooses when bytes reach the disk.
class SystemFile final : public OutputFile {
 public:
  SystemFile(const std::string& path, bool synced) : path_(path), synced_(synced), gathers_(synced) {
    file_ = create_new(path);
    if (file_ < 0) fail_errno(Code::kUsage, "cannot create", path, errno);
  }

  // Bytes that were gathered but not synced are lost on purpose: the file was given up, or its owner was
  // fenced and must not write any more.
  ~SystemFile() override {
    direct_.reset();
    close(file_);
  }

  void write(std::string_view bytes) override {
    // Up to kSmallBytes a file is gathered in small_, and needs no piece if it ends there.  A larger one
    // fills pieces; end_piece may give up direct access, and the rest then goes through the cache.
    while (gathers_ && !bytes.empty()) {
      if (!memory_ && small_.size() + bytes.size() <= kSmallBytes) return void(small_.append(bytes));
      if (!memory_) begin_pieces();
      const std::string_view some = bytes.substr(0, kPieceBytes - gathered_);
      std::memcpy(piece(number_) + gathered_, some.data(), some.size());
      gathered_ += some.size();
      bytes.remove_prefix(some.size());
      if (gathered_ == kPieceBytes) end_piece();
    }
    write_through(bytes);
  }

  void overwrite(uint64_t offset, std::string_view bytes) override {
    flush();
    PS_CHECK(offset + bytes.size() <= offset_);
    while (!bytes.empty()) {
      const ssize_t count = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) check(errno);
      offset += static_cast<uint64_t>(count);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }

  void sync() override {
    if (!synced_) return;
    flush();
    // An earlier error is thrown again, since a sync after it could report success for bytes that are lost.
    check(error_ == 0 && fdatasync(file_) != 0 ? errno : error_);
  }

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 20, kSmallBytes = 64 << 10;

  // Allocates the two pieces on a huge page, which is one entry of the disk's scatter list; small pages would
  // be one entry each.
  void begin_pieces() {
    memory_ = std::make_unique<HugeArena>();
    pieces_ = static_cast<char*>(memory_->allocate(2 * kPieceBytes));
    gathered_ = small_.copy(piece(number_), small_.size());
    small_ = {};
  }

  char* piece(size_t number) const { return pieces_ + number % 2 * kPieceBytes; }

  // Called when the current piece is full: waits for the write of the other piece, begins the write of this
  // one, and goes on filling the other.
  void end_piece() {
    end_writing();
    if (!gathers_ || !begin_direct() || !has_blocks(offset_ + kPieceBytes)) return flush();
    const int error = direct_->write(file_, offset_, {piece(number_), kPieceBytes});
    offset_ += kPieceBytes;
    ++number_;
    gathered_ = 0;
    is_writing_ = true;
    if (error != 0) end_refused(error);
  }

  bool begin_direct() {
    if (direct_) return true;
    direct_ = AsyncIo::make();
    if (direct_ && fcntl(file_, F_SETFL, O_DIRECT) != 0) direct_.reset();
    return direct_ != nullptr;
  }

  // Allocates blocks ahead of the writes, up to `end` and beyond, and returns false if that fails: only
  // writes to allocated blocks are asynchronous.  Never asks for more than RLIMIT_FSIZE, since that would end
  // the process with a signal.
  bool has_blocks(uint64_t end) {
    constexpr uint64_t kAtOnce = uint64_t{8} << 20;
    if (end <= allocated_) return true;
    rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < allocated_ + kAtOnce) return false;
    if (fallocate(file_, 0, static_cast<off_t>(allocated_), kAtOnce) != 0) return false;
    allocated_ += kAtOnce;
    return true;
  }

  // Waits until the piece that is being written has reached the disk.
  void end_writing() {
    if (!is_writing_) return;
    const AsyncIo::Result result = direct_->wait();
    if (result.error != 0) return end_refused(result.error);
    is_writing_ = false;
    if (result.bytes != kPieceBytes) check(EIO);
  }

  // Handles a write that the file system refused although it had opened the file for direct access: the piece
  // is written through the cache.
  void end_refused(int error) {
    is_writing_ = false;
    if (error != EINVAL) check(error);
    end_direct();
    offset_ -= kPieceBytes;
    write_through({piece(number_ - 1), kPieceBytes});
  }

  // Gives up direct access: all further bytes go through the cache.
  void end_direct() {
    gathers_ = false;
    if (!direct_) return;
    direct_.reset();
    if (fcntl(file_, F_SETFL, 0) != 0) check(errno);
  }

  // Writes all gathered bytes.
  void flush() {
    end_writing();
    end_direct();
    // Blocks that were allocated ahead and not written to have made the file longer than its bytes.
    const bool is_longer = std::exchange(allocated_, 0) > offset_;
    if (is_longer && ftruncate(file_, static_cast<off_t>(offset_)) != 0) check(errno);
    write_through(memory_ ? std::string_view(piece(number_), gathered_) : small_);
    memory_.reset();
    small_ = {};
  }

  // The disk begins on each piece while the next is made, so that sync has little left to wait for.
  void write_through(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t some = std::min(bytes.size(), kPieceBytes);
      const ssize_t count = pwrite(file_, bytes.data(), some, static_cast<off_t>(offset_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) check(errno);
      offset_ += static_cast<uint64_t>(count);
      if (offset_ - begun_ >= kPieceBytes) begin_piece();
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }

  // Asks the disk to begin on whole pages alone, since the last page will be written to again.
  void begin_piece() {
    constexpr uint64_t kPage = 4096;
    const uint64_t end = offset_ / kPage * kPage;
    const auto begin = static_cast<off_t>(begun_), bytes = static_cast<off_t>(end - begun_);
    sync_file_range(file_, begin, bytes, SYNC_FILE_RANGE_WRITE);  // a hint: its errors are sync's
    begun_ = end;
  }

  // Records the first error and throws it; every later call throws it again.
  void check(int error) {
    if (error_ == 0) error_ = error;
    if (error_ != 0) fail_errno(Code::kUnavailable, "cannot write", path_, error_);
  }

  const std::string path_;
  const bool synced_;
  int file_;
  int error_ = 0;                      // the first errno, or 0
  bool gathers_;                       // true: bytes are gathered into pieces for direct access
  std::string small_;                  // gathered bytes of a file that is still small
  std::unique_ptr<HugeArena> memory_;  // memory of both pieces; null while the file is small
  char* pieces_ = nullptr;             // both pieces, filled by turns
  size_t number_ = 0, gathered_ = 0;   // the piece being filled, and the bytes in it
  bool is_writing_ = false;            // the other piece is being written
  std::unique_ptr<AsyncIo> direct_;    // null: bytes go through the cache
  uint64_t offset_ = 0;                // offset of the next write
  uint64_t allocated_ = 0;             // bytes of the file that have blocks, written to or not
  uint64_t begun_ = 0;                 // bytes that the disk was told to begin on
};

class SystemFiles : public FileSystem {
 public:
  std::unique_ptr<OutputFile> create(const std::string& path) override {
    return std::make_unique<SystemFile>(path, /*synced=*/true);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0)
      fail_errno(Code::kUnavailable, "cannot rename to", to, errno);
  }

  void sync_directory(const std::string& path) override {
    int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) fail_errno(Code::kUnavailable, "cannot open folder", path, errno);
    int status = fsync(directory), error = errno;
    close(directory);
    if (status != 0) fail_errno(Code::kUnavailable, "cannot sync folder", path, error);
  }

  void make_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) fail_errno(Code::kUsage, "cannot make folder", path, error.value());
  }

  void remove(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    const bool others_do = error == std::errc::no_such_file_or_directory;  // at the same time
    if (error && !others_do) fail_errno(Code::kUnavailable, "cannot remove", path, error.value());
  }
};

class UnsyncedFiles final : public SystemFiles {
 public:
  std::unique_ptr<OutputFile> create(const std::string& path) override {
    return std::make_unique<SystemFile>(path, /*synced=*/false);
  }
  void sync_directory(const std::string&) override {}
};

}  // namespace

FileSystem& unsynced_files() {
  static UnsyncedFiles files;
  return files;
}

FileSystem& system_files() {
  static SystemFiles files;
  return files;
}

}  // namespace ps
