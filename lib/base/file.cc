#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kBufferBytes = 1 << 20;

}  // namespace

std::string read_file(const std::string& path, uint64_t max_bytes) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(Code::kUsage, "cannot open", path, errno);
  std::string bytes;
  // The size that the system gives is not asked for, since files of /proc have none.  The loop reads until
  // the end, past max_bytes by at most one buffer.
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

AtomicFile::AtomicFile(std::string path, FileSystem& files)
    : files_(files),
      path_(std::move(path)),
      temporary_(cat(path_, ".tmp", getpid())),
      file_(files.create(temporary_)) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  file_.reset();
  try {
    files_.remove(temporary_);
  } catch (const Error&) {
    // The temporary file stays behind, under a name that nothing reads.
  }
}

void AtomicFile::write(std::string_view bytes) {
  // Short writes are gathered; a long one is written where it lies, after all that was gathered before it.
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() < kBufferBytes) {
    buffer_.append(bytes);
  } else {
    file_->write(bytes);
  }
}

void AtomicFile::overwrite(uint64_t offset, std::string_view bytes) {
  flush();
  file_->overwrite(offset, bytes);
}

void AtomicFile::flush() {
  file_->write(buffer_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  // The bytes are on the disk before the name is, and the folder is synced last: after a crash there is
  // either the old file or the whole new one.
  file_->sync();
  files_.rename(temporary_, path_);
  file_.reset();
  files_.sync_directory(parent_directory(path_));
}

void write_file(const std::string& path, std::string_view bytes, FileSystem& files) {
  AtomicFile file(path, files);
  file.write(bytes);
  file.commit();
}

// Opens a device or a pipe.  Standard output and error are used as they are open, since others write there too.
static int open_to_write(const std::string& path, const struct stat& status) {
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open_status;
    const bool same = fstat(number, &open_status) == 0 && open_status.st_dev == status.st_dev &&
                      open_status.st_ino == status.st_ino;
    if (same) return fcntl(number, F_DUPFD_CLOEXEC, 0);
  }
  return S_ISREG(status.st_mode) ? -1 : open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

// Writes all bytes to the open file, and closes it.
static void write_through(int file, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(file);
      fail_errno(Code::kUnavailable, "cannot write", path, error);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  close(file);
}

void write_named_file(const std::string& path, std::string_view bytes) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return write_file(path, bytes);
  if (S_ISDIR(status.st_mode)) fail_errno(Code::kUsage, "cannot write", path, EISDIR);
  const int file = open_to_write(path, status);
  if (file >= 0) return write_through(file, path, bytes);
  if (!S_ISREG(status.st_mode)) fail_errno(Code::kUsage, "cannot write", path, errno);
  std::error_code error;
  const std::filesystem::path behind_links = std::filesystem::canonical(path, error);
  write_file(error ? path : behind_links.string(), bytes);
}

void make_directories(const std::string& path) {
  system_files().make_directories(path);
}

void replace_link(const std::string& target, const std::string& path) {
  // rename replaces a link at once, while removing and making it anew would leave a moment without it.
  const std::string temporary = cat(path, ".tmp", getpid());
  unlink(temporary.c_str());
  const bool linked = symlink(target.c_str(), temporary.c_str()) == 0;
  if (linked && rename(temporary.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  unlink(temporary.c_str());
  fail_errno(Code::kExhausted, "cannot link", path, error);
}

void link_or_copy(const std::string& from, const std::string& to) {
  unlink(to.c_str());
  if (link(from.c_str(), to.c_str()) == 0) return;
  std::error_code error;
  std::filesystem::copy_file(from, to, error);
  if (error) fail_errno(Code::kUnavailable, "cannot copy to", to, error.value());
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

std::string parent_directory(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || (!name.empty() && name[0] == '/')) return std::string(name);
  return directory.back() == '/' ? cat(directory, name) : cat(directory, "/", name);
}

}  // namespace ps
