#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kBufferBytes = 1 << 20;

void sync_directory(const std::string& path) {
  int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail_errno(Code::kUnavailable, "cannot open folder", path, errno);
  int status = fsync(directory), error = errno;
  close(directory);
  if (status != 0) fail_errno(Code::kUnavailable, "cannot sync folder", path, error);
}

std::string parent_of(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

std::string read_file(const std::string& path, uint64_t max_bytes) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(Code::kUsage, "cannot open", path, errno);
  std::string bytes;
  for (;;) {
    size_t size = bytes.size();
    bytes.resize(size + kBufferBytes);
    ssize_t count = read(file, bytes.data() + size, kBufferBytes);
    int error = errno;
    bytes.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0 || bytes.size() > max_bytes || (count < 0 && error != EINTR)) {
      close(file);
      if (count < 0) fail_errno(Code::kUsage, "cannot read", path, error);
      if (count > 0) fail(Code::kCorrupt, quote(path), ": larger than ", human_bytes(max_bytes));
      return bytes;
    }
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(cat(path_, ".tmp", getpid())) {
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail_errno(Code::kUsage, "cannot create", temporary_, errno);
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void AtomicFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(Code::kUnavailable, "cannot write", path_, errno);
    rest.remove_prefix(static_cast<size_t>(count));
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (fsync(file_) != 0) fail_errno(Code::kUnavailable, "cannot sync", path_, errno);
  close(file_);
  file_ = -1;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    int error = errno;
    unlink(temporary_.c_str());
    fail_errno(Code::kUnavailable, "cannot rename to", path_, error);
  }
  sync_directory(parent_of(path_));
}

void write_file(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_errno(Code::kUsage, "cannot make folder", path, error.value());
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name[0] != '.') names.push_back(std::move(name));
  }
  if (error) fail_errno(Code::kUsage, "cannot list folder", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || (!name.empty() && name[0] == '/')) return std::string(name);
  return directory.back() == '/' ? cat(directory, name) : cat(directory, "/", name);
}

}  // namespace ps
