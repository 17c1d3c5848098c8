#include "base/file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.h"

namespace ps {

namespace {

class SystemFile final : public OutputFile {
 public:
  explicit SystemFile(const std::string& path) : path_(path) {
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) fail_errno(Code::kUsage, "cannot create", path, errno);
  }
  ~SystemFile() override { close(file_); }

  // The disk begins on each piece while the next is made, so that sync has little left to wait for.
  void write(std::string_view bytes) override {
    constexpr int64_t kPiece = int64_t{1} << 20;
    while (!bytes.empty()) {
      ssize_t count = ::write(file_, bytes.data(), std::min(bytes.size(), static_cast<size_t>(kPiece)));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_errno(Code::kUnavailable, "cannot write", path_, errno);
      size_ += count;
      if (size_ - begun_ >= kPiece) begin_piece();
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }

  void sync() override {
    if (fdatasync(file_) != 0) fail_errno(Code::kUnavailable, "cannot sync", path_, errno);
  }

 private:
  // Whole pages alone: the last one will be written to again.
  void begin_piece() {
    constexpr int64_t kPage = 4096;
    const int64_t end = size_ / kPage * kPage;
    sync_file_range(file_, begun_, end - begun_, SYNC_FILE_RANGE_WRITE);  // a hint: its errors are sync's
    begun_ = end;
  }

  const std::string path_;
  int file_;
  int64_t size_ = 0, begun_ = 0;  // bytes written, and those that the disk was told to begin on
};

// Leaves it to the system when its bytes reach the disk.
class UnsyncedFile final : public OutputFile {
 public:
  explicit UnsyncedFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  void write(std::string_view bytes) override { file_->write(bytes); }
  void sync() override {}

 private:
  const std::unique_ptr<OutputFile> file_;
};

class SystemFiles : public FileSystem {
 public:
  std::unique_ptr<OutputFile> create(const std::string& path) override {
    return std::make_unique<SystemFile>(path);
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
    return std::make_unique<UnsyncedFile>(SystemFiles::create(path));
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
