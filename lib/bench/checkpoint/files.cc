// Times the writing of rows to a checkpoint and the restoring from it, as ps-train does both.  The files that
// are read are not in the system's cache.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "bench/checkpoint/suite.h"
#include "bench/checkpoint/trained_job.h"
#include "bench/process/files.h"
#include "bench/resident.h"
#include "checkpoint/checkpoint_directory.h"

namespace ps {

namespace {

constexpr const char* kFolder = "checkpoints";
constexpr double kRestartShare = 0.5;  // share of the rows that a restart has: 1 GB

// Asks the system to forget the files of the checkpoint of step 1, so that the disk is read.  The files
// were synchronised when they were written, as only clean pages can be dropped.
void drop_from_cache(const std::string& directory) {
  const std::string folder = join_path(directory, step_folder(1));
  for (const std::string& name : list_directory(folder)) {
    const int file = open(join_path(folder, name).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail_errno(Code::kInternal, "cannot open", join_path(folder, name), errno);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

std::vector<FileEntry> files_of(const std::string& directory) {
  return CheckpointReader(join_path(directory, step_folder(1))).manifest().files;
}

uint64_t bytes_on_disk(const std::string& directory) {
  uint64_t bytes = 0;
  for (const FileEntry& file : files_of(directory)) bytes += file.sum.bytes;
  return bytes;
}

// The job and its files, which writing and restoring share.  The bytes that count are those of the rows, 8
// of key and 128 of weights and state, however few the files have after compression.  One owner thread.
class CheckpointFiles : public Workload {
 public:
  CheckpointFiles(const BenchSettings& settings, uint64_t rows, const std::string& compression)
      : rows_(rows),
        compression_(compression),
        folder_(settings.scratch),
        directory_(folder_.path(kFolder)),
        job_(rows, settings.threads, settings.cpu) {}

  Work work() const override {
    return {.bytes = static_cast<double>(rows_ * kCheckpointRowBytes), .items = static_cast<double>(rows_)};
  }

  std::vector<Figure> figures() const override {
    return {{"CPU s", cpu_seconds_}, {"MB on disk", static_cast<double>(bytes_on_disk(directory_)) / 1e6}};
  }

 protected:
  const uint64_t rows_;
  const std::string compression_;
  const TemporaryFolder folder_;
  const std::string directory_;
  TrainedJob job_;
  double cpu_seconds_ = 0;  // processor time of the last run
};

// Writes the checkpoint of step 1 into an empty folder each time.
class WriteCheckpoint final : public CheckpointFiles {
 public:
  using CheckpointFiles::CheckpointFiles;
  void prepare() override { system_files().remove(directory_); }
  void run() override {
    const double before = process_cpu_seconds();
    job_.write(directory_, compression_);
    cpu_seconds_ = process_cpu_seconds() - before;
  }
  void check() override { job_.expect_weights_of(directory_); }
};

// Restores rows into an empty table.  Memory for them is warmed and has been quiet before the run, since a
// host that gives or takes memory would otherwise be measured.
class RestoreCheckpoint final : public CheckpointFiles {
 public:
  RestoreCheckpoint(const BenchSettings& settings, uint64_t rows, const std::string& compression)
      : CheckpointFiles(settings, rows, compression) {
    job_.write(directory_, compression_);
  }

  void prepare() override {
    job_.forget();
    warm_quiet_memory(rows_ * kCheckpointRowBytes * 5 / 4);
    drop_from_cache(directory_);
  }

  void run() override {
    const double before = process_cpu_seconds();
    job_.restore(directory_);
    cpu_seconds_ = process_cpu_seconds() - before;
  }

  // Writes the restored rows once more: the same rows give the same files.
  void check() override {
    const std::string again = folder_.path("again");
    job_.write(again, compression_);
    if (files_of(again) != files_of(directory_)) {
      fail(Code::kInternal, "what was restored is not what was written");
    }
    system_files().remove(again);
  }
};

// The limit is the disk, in turns with the benchmark, since the speed of a disk varies.  Memory for the
// rows and their files is warmed before the job is made.
template <class Kind>
Benchmark benchmark(const char* name, const char* help, const char* compression, const char* limit,
                    double share = 1) {
  return {.name = cat("checkpoint/", name),
          .help = help,
          .unit = "B",
          .make =
              [compression, share](const BenchSettings& settings) {
                const uint64_t rows = checkpoint_rows(settings.scale * share);
                warm_free_memory(3 * rows * kCheckpointRowBytes);
                return std::make_unique<Kind>(settings, rows, compression);
              },
          .threaded = true,
          .limit = limit,
          .paired = true};
}

}  // namespace

// Without compression the disk is the limit; with zstd the processor may be, and rates count the bytes of
// rows, not those of files.  A restart is a restoring of half as many rows, with a bar in seconds.
std::vector<Benchmark> checkpoint_file_benchmarks() {
  constexpr const char* kWriteLimit = "limits/disk/write";
  constexpr const char* kReadLimit = "limits/disk/read";
  return {
      benchmark<WriteCheckpoint>("write/plain", "2 GB of rows to a checkpoint, not compressed", "none",
                                 kWriteLimit),
      benchmark<WriteCheckpoint>("write/zstd", "the same, compressed", "zstd", kWriteLimit),
      benchmark<RestoreCheckpoint>(
          "restore/plain", "2 GB of rows from a checkpoint, checked as they are read", "none", kReadLimit),
      benchmark<RestoreCheckpoint>("restore/zstd", "the same, compressed", "zstd", kReadLimit),
      benchmark<RestoreCheckpoint>("restart", "1 GB of rows from a checkpoint, as a restart does", "zstd",
                                   kReadLimit, kRestartShare)};
}

}  // namespace ps
