// Times ps-datagen as a process of its own, and a script of numpy that does the same.
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "bench/process/child.h"
#include "bench/process/files.h"
#include "bench/process/suite.h"
#include "bench/resident.h"

namespace ps {

namespace {

constexpr uint64_t kFullSamples = 1000000;
// The script of numpy generates a tenth of the examples, since it takes ten times as long.
constexpr uint64_t kNumpyShare = 10;

// The script's arguments are the numbers of examples and of ids.  Each example has 40 ids in ascending order
// and a random label.  The ids follow Zipf's law with exponent 1.1: the inverse of its integral gives the
// rank, and a prime spreads ranks over the ids.
constexpr const char* kScript = R"python(
import sys
import numpy as np
samples, dim = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(1)
exponent = 1 - 1.1
for first in range(0, samples, 1000):
    count = min(1000, samples - first)
    uniform = random.random((count, 40))
    rank = (1 + uniform * ((dim + 1.0) ** exponent - 1)) ** (1 / exponent)
    ids = np.sort(rank.astype(np.int64) * 2654435761 % dim, axis=1)
    labels = random.random(count) < 0.2
    lines = [f"{int(label)} " + ":1 ".join(map(str, row)) + ":1\n" for label, row in zip(labels, ids.tolist())]
    sys.stdout.write("".join(lines))
)python";

// Runs of ps-datagen.  A run writes to /dev/null, so that no disk is part of the time; with one thread, all
// of the process stays on one core.  One owner thread.
class DatagenProcess final : public Workload {
 public:
  explicit DatagenProcess(const BenchSettings& settings)
      : program_(join_path(settings.programs, "ps-datagen")),
        samples_(scaled_samples(settings.scale, kFullSamples)),
        threads_(settings.threads),
        folder_(settings.scratch) {
    if (!exists(program_)) fail(Code::kUnavailable, "there is no ", quote(program_));
    dim_ = make_generator(kFortyLibsvm, settings.scale)->traits().schema.slots[0].dim;
  }

  void prepare() override { begin_peak(); }

  void run() override {
    usage_ = run_child(command(threads_, "/dev/null"));
    ran_ = true;
  }

  // Compares the bytes that as many threads write with those of one thread.  The runs wrote to /dev/null.
  void check() override {
    if (!ran_) fail(Code::kInternal, "ps-datagen was not run");
    std::string path = folder_.path("data");
    run_child(command(threads_, path));
    std::string bytes = read_file(path, UINT64_MAX);
    uint64_t lines = static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    expect_equal("lines written", lines, samples_);
    size_ = bytes.size();
    uint64_t hash = hash_bytes(bytes);
    run_child(command(1, path));
    expect_equal("hash of the bytes", hash, hash_bytes(read_file(path, UINT64_MAX)));
  }

  Work work() const override {
    return {.bytes = static_cast<double>(size_), .items = static_cast<double>(samples_)};
  }

  std::vector<Figure> figures() const override {
    return {{"CPU s", usage_.cpu_seconds},
            {kMegabytes, static_cast<double>(usage_.peak_bytes) / kBytesOfMegabyte}};
  }

 private:
  Command command(int threads, const std::string& output) const {
    return {.words = {program_, "sparse-binary", "--samples", std::to_string(samples_), "--dim",
                      std::to_string(dim_), "--nnz", "40:40", "--zipf", "1.1", "--seed", "1", "--format",
                      "libsvm", "--threads", std::to_string(threads)},
            .output = output,
            .errors = folder_.path("messages"),
            .one_core = on_one_core(threads)};
  }

  const std::string program_;
  const uint64_t samples_;
  const int threads_;
  const TemporaryFolder folder_;
  int64_t dim_ = 0;
  bool ran_ = false;
  uint64_t size_ = 0;
  Usage usage_;
};

// Runs of the script.  It is what one would write without ps-datagen, and makes lines of the same kind: the
// counts of lines and ids are checked, since its random numbers are others.  One owner thread.
class Numpy final : public Workload {
 public:
  explicit Numpy(const BenchSettings& settings)
      : samples_(scaled_samples(settings.scale, kFullSamples / kNumpyShare)), folder_(settings.scratch) {
    expect_program("python3", "Debian's is python3");
    try {
      run_child({.words = {"python3", "-c", "import numpy"}});
    } catch (const Error&) {
      fail(Code::kUnavailable, "python3 has no numpy; Debian's is python3-numpy");
    }
    dim_ = make_generator(kFortyLibsvm, settings.scale)->traits().schema.slots[0].dim;
  }

  void run() override {
    run_child(command("/dev/null"));
    ran_ = true;
  }

  void check() override {
    if (!ran_) fail(Code::kInternal, "the script was not run");
    std::string path = folder_.path("data");
    run_child(command(path));
    std::string bytes = read_file(path, UINT64_MAX);
    size_ = bytes.size();
    auto count = [&](char byte) {
      return static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), byte));
    };
    expect_equal("lines written", count('\n'), samples_);
    expect_equal("ids written", count(':'), samples_ * 40);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(size_), .items = static_cast<double>(samples_)};
  }

 private:
  Command command(const std::string& output) const {
    return {.words = {"python3", "-c", kScript, std::to_string(samples_), std::to_string(dim_)},
            .output = output,
            .errors = folder_.path("messages"),
            .one_core = true};
  }

  const uint64_t samples_;
  const TemporaryFolder folder_;
  int64_t dim_ = 0;
  bool ran_ = false;
  uint64_t size_ = 0;
};

}  // namespace

std::vector<Benchmark> process_datagen_benchmarks() {
  Benchmark numpy{.name = "process/datagen/numpy",
                  .help = "examples of 40 ids in ascending order by numpy, from a short script",
                  .unit = "examples",
                  .make = [](const BenchSettings& settings) { return std::make_unique<Numpy>(settings); }};
  Benchmark own{
      .name = "process/datagen",
      .help = "examples of 40 ids in ascending order, as ps-datagen writes them",
      .unit = "examples",
      .make = [](const BenchSettings& settings) { return std::make_unique<DatagenProcess>(settings); },
      .threaded = true,
      .peers = {numpy.name}};
  return {numpy, own};
}

}  // namespace ps
