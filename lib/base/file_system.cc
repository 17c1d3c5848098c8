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

// A descriptor of a file that was not there, or -1 and errno.  A device is opened as it is.
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

// A large file goes past the system's cache, which has better to keep than what nobody reads soon: copying
// into it would take as much of the processor as making the bytes does.  Pieces of it are gathered, and
// written while the next is gathered.  Once synced, or where the file system has no direct access, bytes are
// written as they come; so are those of a file of which the system may choose when they reach the disk.
class SystemFile final : public OutputFile {
 public:
  SystemFile(const std::string& path, bool synced) : path_(path), synced_(synced), gathers_(synced) {
    file_ = create_new(path);
    if (file_ < 0) fail_errno(Code::kUsage, "cannot create", path, errno);
  }

  // What was gathered and not synced is lost: who is given up, or fenced, writes no more.
  ~SystemFile() override {
    direct_.reset();
    close(file_);
  }

  void write(std::string_view bytes) override {
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
    check(error_ == 0 && fdatasync(file_) != 0 ? errno : error_);
  }

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 20, kSmallBytes = 64 << 10;

  // On a huge page, which the disk is told of at once: of small ones, one by one.
  void begin_pieces() {
    memory_ = std::make_unique<HugeArena>();
    pieces_ = static_cast<char*>(memory_->allocate(2 * kPieceBytes));
    gathered_ = small_.copy(piece(number_), small_.size());
    small_ = {};
  }

  char* piece(size_t number) const { return pieces_ + number % 2 * kPieceBytes; }

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

  // Where a file has blocks, writes do not wait for each other.  To ask for more than the process may have in
  // a file would end it.
  bool has_blocks(uint64_t end) {
    constexpr uint64_t kAtOnce = uint64_t{8} << 20;
    if (end <= allocated_) return true;
    rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < allocated_ + kAtOnce) return false;
    if (fallocate(file_, 0, static_cast<off_t>(allocated_), kAtOnce) != 0) return false;
    allocated_ += kAtOnce;
    return true;
  }

  // The piece before is written.
  void end_writing() {
    if (!is_writing_) return;
    const AsyncIo::Result result = direct_->wait();
    if (result.error != 0) return end_refused(result.error);
    is_writing_ = false;
    if (result.bytes != kPieceBytes) check(EIO);
  }

  // Direct access may be granted, and then refused: the piece is written through the cache.
  void end_refused(int error) {
    is_writing_ = false;
    if (error != EINVAL) check(error);
    end_direct();
    offset_ -= kPieceBytes;
    write_through({piece(number_ - 1), kPieceBytes});
  }

  // From here on all goes through the cache.
  void end_direct() {
    gathers_ = false;
    if (!direct_) return;
    direct_.reset();
    if (fcntl(file_, F_SETFL, 0) != 0) check(errno);
  }

  // All that was gathered is written.
  void flush() {
    end_writing();
    end_direct();
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

  // Whole pages alone: the last one will be written to again.
  void begin_piece() {
    constexpr uint64_t kPage = 4096;
    const uint64_t end = offset_ / kPage * kPage;
    const auto begin = static_cast<off_t>(begun_), bytes = static_cast<off_t>(end - begun_);
    sync_file_range(file_, begin, bytes, SYNC_FILE_RANGE_WRITE);  // a hint: its errors are sync's
    begun_ = end;
  }

  // Once there was an error, there is no success any more.
  void check(int error) {
    if (error_ == 0) error_ = error;
    if (error_ != 0) fail_errno(Code::kUnavailable, "cannot write", path_, error_);
  }

  const std::string path_;
  const bool synced_;
  int file_;
  int error_ = 0;                      // an errno: the first
  bool gathers_;                       // bytes, to write pieces of them
  std::string small_;                  // what was gathered, as long as it is little; then
  std::unique_ptr<HugeArena> memory_;  // of two pieces
  char* pieces_ = nullptr;             // filled by turns
  size_t number_ = 0, gathered_ = 0;   // of the piece that is filled; bytes in it
  bool is_writing_ = false;            // the one before
  std::unique_ptr<AsyncIo> direct_;    // null: the file is not past the cache
  uint64_t offset_ = 0;                // of what is written next
  uint64_t allocated_ = 0;             // bytes of the file, some of which may not be written to
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
