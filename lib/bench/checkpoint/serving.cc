// Pulls and pushes of a table while a snapshot of it is written, beside the same without: what a shard and
// the thread that writes its checkpoint do, without a network.
#include <algorithm>
#include <exception>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "bench/checkpoint/suite.h"
#include "bench/checkpoint/trained_job.h"
#include "bench/process/files.h"
#include "bench/statistics.h"
#include "bench/synthetic.h"
#include "checkpoint/checkpoint_file_reader.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/row_chunks.h"
#include "config/catalog.h"
#include "optim/optimizer.h"
#include "ps/background_writer.h"
#include "table/sparse_table.h"

namespace ps {

namespace {

constexpr uint64_t kFullRows = 4'000'000;
constexpr uint64_t kKeysOfARequest = 10'000, kSets = 64;
constexpr uint64_t kMaxKept = uint64_t{256} << 20, kMaxQueued = uint64_t{16} << 20;
constexpr double kSweepShare = 0.1;  // of the owner's time

std::unique_ptr<Optimizer<float>> make_adagrad() {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), {{"type", "adagrad"}}, "", "optimizer");
  return entry.make_float({{"epsilon", 1e-6}}, {});
}

// A sum over rows, so that their order means nothing.
uint64_t row_digest(uint64_t key, const float* values) {
  const size_t bytes = 2 * kCheckpointWidth * sizeof(float);
  return hash_bytes({reinterpret_cast<const char*>(values), bytes}, key);
}

class Serving final : public Workload {
 public:
  explicit Serving(const BenchSettings& settings)
      : clock_(settings.clock),
        rows_(scaled_samples(settings.scale, kFullRows)),
        folder_(settings.scratch),
        table_(kCheckpointWidth, /*bound=*/0, Initializer{}, make_adagrad()),
        layout_{.name = "table", .sparse = true, .width = kCheckpointWidth, .state_arrays = 1} {
    fill();
    draw_requests();
  }

  void run() override {
    serve_alone();
    serve_with_checkpoint();
  }

  // The file has the rows as they were when the snapshot began.
  void check() override {
    if (with_.empty()) fail(Code::kInternal, "nothing was served");
    uint64_t rows = 0, digest = 0;
    const CheckpointFileReader reader(folder_.path(file_.path));
    for (const SectionEntry& section : file_.sections) {
      auto cursor = reader.rows(*reader.section(section.table, section.partition));
      while (const RowBlock* block = cursor->next()) {
        rows += block->size();
        for (size_t i = 0; i < block->size(); ++i) {
          digest += row_digest(block->keys[i], block->values.data() + i * 2 * kCheckpointWidth);
        }
      }
    }
    expect_equal("rows written", rows, rows_);
    expect_equal("digest of the rows written", digest, digest_);
  }

  Work work() const override { return {.items = static_cast<double>(with_.size() * keys_)}; }
  std::optional<double> seconds() const override { return sum(with_); }

  std::vector<Figure> figures() const override {
    const double alone_rate = static_cast<double>(alone_.size()) / sum(alone_);
    const double rate = static_cast<double>(with_.size()) / sum(with_);
    return {{kServingShare, rate / alone_rate},
            {kTailMilliseconds, 1e3 * (quantile(with_, 0.999) - quantile(alone_, 0.999))},
            {"by CPU time", rate_of_cpu(with_, with_cpu_) / rate_of_cpu(alone_, alone_cpu_)},
            {kExtraMegabytes, static_cast<double>(extra_bytes_) / 1e6},
            {"checkpoint s", sum(with_)}};
  }

 private:
  static double sum(const std::vector<double>& seconds) {
    double total = 0;
    for (double one : seconds) total += one;
    return total;
  }

  // Of the owner's thread: what others take of the machine does not change it.
  static double rate_of_cpu(const std::vector<double>& requests, double cpu_seconds) {
    return static_cast<double>(requests.size()) / cpu_seconds;
  }

  void fill() {
    KeyPlan plan;
    for (uint64_t i = 0; i < rows_;) {
      plan.keys.clear();
      for (; i < rows_ && plan.keys.size() < kKeysOfARequest; ++i) plan.keys.push_back(checkpoint_key(i));
      serve(plan);
    }
  }

  void draw_requests() {
    keys_ = std::min(kKeysOfARequest, std::max<uint64_t>(1, rows_ / 4));
    uint64_t draw = 0;
    for (uint64_t set = 0; set < kSets; ++set) {
      KeyPlan& plan = plans_.emplace_back();
      std::vector<bool> drawn(rows_);
      while (plan.keys.size() < keys_) {
        const uint64_t i = hash_key(++draw) % rows_;
        if (!drawn[i]) plan.keys.push_back(checkpoint_key(i));
        drawn[i] = true;
      }
    }
  }

  void serve(const KeyPlan& plan) {
    table_.pull(plan, pool_, pulled_);
    gradients_.resize(plan.keys.size() * kCheckpointWidth);
    fill_noise(step_++ << 32, gradients_);
    table_.push(plan, pulled_, gradients_.data(), 1, 0.1, pool_);
  }

  void serve_alone() {
    alone_.clear();
    const double cpu = thread_cpu_seconds();
    for (uint64_t i = 0; i < std::max<uint64_t>(16, rows_ * 4 / 1000); ++i) {
      const double start = clock_();
      serve(plans_[step_ % kSets]);
      alone_.push_back(clock_() - start);
    }
    alone_cpu_ = thread_cpu_seconds() - cpu;
  }

  void note_digest() {
    digest_ = 0;
    const SparseTable& table = table_;
    for (uint32_t p = 0; p < 1u << kPartitionBits; ++p) {
      table.for_each_row(p, [&](uint64_t key, const float* row) { digest_ += row_digest(key, row); });
    }
  }

  // Until all is written.  What a request takes includes the sweep that comes before the next.
  void serve_with_checkpoint() {
    note_digest();
    const CheckpointTarget target{folder_.path(""), {}, nullptr};
    CheckpointFileWriter file(target, "rows");
    std::exception_ptr error;  // of the tasks, as `file` is until all are done
    BackgroundWriter writer(kMaxQueued, /*own_thread=*/true);
    table_.begin_snapshot({.max_bytes = kMaxKept}, [&](uint32_t partition, SnapshotRows&& rows) {
      auto taken = std::make_shared<SnapshotRows>(std::move(rows));
      writer.add(taken->size() * layout_.row_bytes(), [this, &file, &error, partition, taken] {
        if (!error) error = write_partition(partition, *taken, file);
      });
    });
    const uint64_t memory_before = table_.memory_bytes();
    const double cpu = thread_cpu_seconds();
    with_.clear();
    extra_bytes_ = 0;
    while (table_.has_snapshot() || !writer.is_idle()) {
      const double start = clock_();
      serve(plans_[step_ % kSets]);
      sweep_until(start + (clock_() - start) / (1 - kSweepShare), writer);
      with_.push_back(clock_() - start);
      extra_bytes_ = std::max(extra_bytes_, table_.memory_bytes() - memory_before);
    }
    with_cpu_ = thread_cpu_seconds() - cpu;
    if (error) std::rethrow_exception(error);
    file_ = file.finish();
  }

  std::exception_ptr write_partition(uint32_t partition, SnapshotRows& rows,
                                     CheckpointFileWriter& file) const {
    try {
      file.begin(layout_, partition);
      rows.sorted(rows_of_a_block(layout_), [&](const RowBlock& block) { file.rows(block); });
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  void sweep_until(double end, const BackgroundWriter& writer) {
    while (table_.has_snapshot() && clock_() < end && writer.has_room()) table_.sweep_snapshot(256);
  }

  const Clock clock_;
  const uint64_t rows_;
  uint64_t keys_ = 0;  // of a request
  const TemporaryFolder folder_;
  ThreadPool pool_{1};
  SparseTable table_;
  const TableLayout layout_;
  std::vector<KeyPlan> plans_;
  std::vector<float*> pulled_;
  std::vector<float> gradients_;
  uint64_t step_ = 0;

  // Of the last run.
  std::vector<double> alone_, with_;     // seconds of each request
  double alone_cpu_ = 0, with_cpu_ = 0;  // of the owner's thread
  uint64_t digest_ = 0, extra_bytes_ = 0;
  FileEntry file_;
};

}  // namespace

std::vector<Benchmark> checkpoint_serving_benchmarks() {
  return {{.name = "checkpoint/serving",
           .help = "10,000 random rows of 4 million pulled and pushed at a time while all are written",
           .unit = "keys",
           .make = [](const BenchSettings& settings) { return std::make_unique<Serving>(settings); }}};
}

}  // namespace ps
