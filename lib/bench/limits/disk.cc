// Times a file in the scratch folder, which is written and read through the system's cache and past it.
//
// Each write is of a new file, as those of checkpoints, logs and models are, and ends with fdatasync: writing
// over the blocks of an old file can be much faster.  Before a read, nothing of the file is in the cache.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "bench/limits/suite.h"
#include "bench/pages.h"

namespace ps {

namespace {

constexpr uint64_t kFullBytes = uint64_t{1} << 30;  // larger than the caches of processors
// Bytes of a read or write, aligned as direct access requires.
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

// A file without a name.  The system removes it when the process ends, in whatever way.  One owner thread.
class ScratchFile {
 public:
  ScratchFile(const std::string& folder, int flags) {
    std::string path = join_path(folder, "ps-bench-XXXXXX");
    file_ = mkostemp(path.data(), O_CLOEXEC | flags);
    if (file_ < 0 && errno == EINVAL) {
      unlink(path.c_str());
      fail(Code::kUnavailable, quote(folder), " is on a file system without direct access");
    }
    if (file_ < 0) fail_errno(Code::kUsage, "cannot make a file in", folder, errno);
    unlink(path.c_str());
  }
  ~ScratchFile() { close(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write_all(const Pages& from) {
    for (uint64_t at = 0; at < from.size(); at += kBlockBytes) {
      ssize_t written = pwrite(file_, from.data() + at, kBlockBytes, static_cast<off_t>(at));
      if (written < 0) fail_errno(Code::kExhausted, "cannot write", "the scratch file", errno);
      expect_equal("bytes written at once", static_cast<uint64_t>(written), kBlockBytes);
    }
    if (fdatasync(file_) != 0) fail_errno(Code::kExhausted, "cannot write", "the scratch file", errno);
  }

  void read_all(const Pages& to) {
    for (uint64_t at = 0; at < to.size(); at += kBlockBytes) {
      ssize_t got = pread(file_, to.data() + at, kBlockBytes, static_cast<off_t>(at));
      if (got < 0) fail_errno(Code::kInternal, "cannot read", "the scratch file", errno);
      expect_equal("bytes read at once", static_cast<uint64_t>(got), kBlockBytes);
    }
  }

  void drop_cache() { posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED); }

 private:
  int file_;
};

// The file and its bytes, which writing and reading share.  One owner thread.
class Disk : public Workload {
 public:
  Disk(const BenchSettings& settings, int flags)
      : scratch_(settings.scratch),
        flags_(flags),
        data_(scaled_power(settings.scale, kFullBytes, kBlockBytes), PageKind::kHuge),
        read_(data_.size(), PageKind::kHuge) {
    uint64_t index = 0;
    for (uint64_t& word : data_.as<uint64_t>()) word = hash_key(index++);
  }

  Work work() const override { return {.bytes = static_cast<double>(data_.size())}; }

 protected:
  void compare() {
    if (std::memcmp(data_.data(), read_.data(), data_.size()) != 0) fail(Code::kInternal, "the file differs");
    std::memset(read_.data(), 0, read_.size());
  }

  void begin_file() {
    file_.reset();
    file_ = std::make_unique<ScratchFile>(scratch_, flags_);
  }

  const std::string scratch_;
  const int flags_;
  std::unique_ptr<ScratchFile> file_;
  const Pages data_, read_;
};

// Writes a new file each time, made before the time begins; the synchronisation at the end of write_all is
// part of it.  The check reads the file back.
class Write final : public Disk {
 public:
  using Disk::Disk;
  void prepare() override { begin_file(); }
  void run() override { file_->write_all(data_); }
  void check() override { file_->read_all(read_), compare(); }
};

// Reads a file that is written once.  It was synchronised then, so that dropping its pages from the cache,
// which only works for clean ones, makes each run read the disk.
class Read final : public Disk {
 public:
  Read(const BenchSettings& settings, int flags) : Disk(settings, flags) {
    begin_file();
    file_->write_all(data_);
  }
  void prepare() override { file_->drop_cache(); }
  void run() override { file_->read_all(read_); }
  void check() override { compare(); }
};

template <class Kind>
Benchmark disk(const std::string& name, const std::string& help, int flags) {
  return {.name = cat("limits/disk/", name),
          .help = help,
          .unit = "B",
          .make = [flags](const BenchSettings& settings) { return std::make_unique<Kind>(settings, flags); }};
}

}  // namespace

std::vector<Benchmark> disk_benchmarks() {
  return {disk<Write>("write", "a new file written and synchronised", 0),
          disk<Write>("write-direct", "a new file written past the system's cache", O_DIRECT),
          disk<Read>("read", "a file read that is not in the system's cache", 0),
          disk<Read>("read-direct", "a file read past the system's cache", O_DIRECT)};
}

}  // namespace ps
