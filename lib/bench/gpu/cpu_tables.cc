// Times the table that servers and processes without them use, on all cores: the look-ups and pushes are
// those of the suite `gpu` on a device.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "bench/gpu/known_values.h"
#include "bench/gpu/pushed_rows.h"
#include "bench/gpu/suite.h"
#include "bench/gpu/zipf_ranks.h"
#include "bench/machine.h"
#include "config/catalog.h"
#include "config/json.h"
#include "math/sparse_kernels.h"
#include "optim/optimizer.h"
#include "table/sparse_table.h"

namespace ps {

namespace {

// The tables are far beyond the caches of any processor: with the state of AdaGrad they take one gigabyte
// and two.
constexpr double kNarrowRows = double(16 << 20), kWideRows = double(4 << 20), kFullBatch = double(1 << 20);
constexpr uint32_t kNarrow = 8, kWide = 64;
constexpr int kCalls = 4;  // number of calls of a run; each has keys of its own
constexpr double kCpuLearningRate = 0.01, kCpuEpsilon = 1e-6;

uint64_t scaled(double scale, double full, uint64_t least) {
  return std::max(least, static_cast<uint64_t>(scale * full));
}

std::unique_ptr<Optimizer<float>> adagrad_optimizer(CpuLevel cpu) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), {{"type", "adagrad"}}, "", "optimizer");
  return entry.make_float({{"epsilon", kCpuEpsilon}}, {}, cpu);
}

// A table with the same items and values as the device's.  One owner thread.
class FilledRows {
 public:
  // Loads the rows in batches: keys [batch] and rows [batch, width], whose values all cores compute.
  FilledRows(const BenchSettings& settings, double full_rows, uint32_t width)
      : device_(this_machine().cores, settings.cpu),
        width_(width),
        num_items_(scaled(settings.scale, full_rows, 2048)),
        batch_(scaled(settings.scale, kFullBatch, 64)),
        table_(width, /*bound=*/0, Initializer{}, adagrad_optimizer(settings.cpu)) {
    std::vector<uint64_t> keys;
    std::vector<float> rows;
    for (uint64_t item = 0; item < num_items_;) {
      keys.clear();
      for (; item < num_items_ && keys.size() < batch_; ++item) keys.push_back(bench_key(item));
      rows.resize(keys.size() * width);
      device_.for_each(static_cast<int64_t>(keys.size()), kBlock, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          for (uint32_t c = 0; c < width; ++c) rows[i * width + c] = bench_value(keys[i], c);
        }
      });
      table_.load_rows(keys, rows.data(), device_);
    }
  }

  static constexpr int64_t kBlock = 4096;  // number of keys that a thread takes at a time

  Device& device() { return device_; }
  SparseTable& table() { return table_; }
  uint32_t width() const { return width_; }
  uint64_t num_items() const { return num_items_; }
  size_t batch() const { return batch_; }

 private:
  Device device_;
  const uint32_t width_;
  const uint64_t num_items_;
  const size_t batch_;
  SparseTable table_;
};

// Reads rows.  The keys are drawn once, evenly, and each run reads the same kCalls batches; no cache holds
// their rows.  The numbers of a call and its keys are those of the device's Find, and check() compares
// every weight of the last call.  One owner thread.
class CpuFind final : public Workload {
 public:
  explicit CpuFind(const BenchSettings& settings)
      : filled_(settings, kNarrowRows, kNarrow),
        keys_(kCalls * filled_.batch()),
        weights_(filled_.batch() * kNarrow) {
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = bench_key(hash_key(i) % filled_.num_items());
  }

  void prepare() override { std::fill(weights_.begin(), weights_.end(), 0.0f); }

  void run() override {
    for (int i = 0; i < kCalls; ++i)
      filled_.table().read_rows(keys_of_call(i), weights_.data(), filled_.device());
  }

  void check() override {
    const std::span<const uint64_t> keys = keys_of_call(kCalls - 1);
    uint64_t wrong = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const size_t width = filled_.width();
      wrong += weights_[i] != bench_value(keys[i / width], static_cast<uint32_t>(i % width));
    }
    expect_equal("weights that are wrong", wrong, 0);
  }

  Work work() const override { return {.items = static_cast<double>(keys_.size())}; }

  std::vector<Figure> figures() const override {
    return {{"cores", static_cast<double>(this_machine().cores)}};
  }

 private:
  std::span<const uint64_t> keys_of_call(int i) const {
    return std::span(keys_).subspan(static_cast<size_t>(i) * filled_.batch(), filled_.batch());
  }

  FilledRows filled_;
  std::vector<uint64_t> keys_;  // [kCalls, batch]
  std::vector<float> weights_;  // results of the last call
};

// Pushes the gradients of look-ups: finds the unique keys, adds up the gradients of each, finds the rows
// and steps them.  One owner thread.
//
// A device gets raw look-ups, so its peer must begin with them too: the plan of unique keys and the sums of
// gradients are part of the time.  The keys follow the same law as on the device, and PushedRows knows the
// weights that a few rows must have after all pushes.
class CpuPush final : public Workload {
 public:
  explicit CpuPush(const BenchSettings& settings)
      : filled_(settings, kWideRows, kWide),
        ranks_(zipf_ranks(filled_.num_items(), static_cast<int64_t>(kCalls * filled_.batch()))),
        pushed_(ranks_, filled_.batch(), kWide, bench_gradient),
        offsets_(filled_.batch() + 1),
        gradients_(filled_.batch() * kWide) {
    std::iota(offsets_.begin(), offsets_.end(), 0u);
    for (uint64_t rank : ranks_) keys_.push_back(bench_key(rank));
    for (size_t i = 0; i < gradients_.size(); ++i) {
      gradients_[i] = bench_gradient(i / kWide, static_cast<uint32_t>(i % kWide));
    }
  }

  void prepare() override { pushes_ += kCalls; }

  void run() override {
    for (int i = 0; i < kCalls; ++i) {
      push(std::span(keys_).subspan(static_cast<size_t>(i) * filled_.batch(), filled_.batch()));
    }
  }

  void check() override {
    std::vector<float> weights(filled_.width());
    const AdagradStep<double> step = {kCpuLearningRate, kCpuEpsilon, {}};
    for (size_t i = 0; i < pushed_.ranks().size(); ++i) {
      const uint64_t key = bench_key(pushed_.ranks()[i]);
      filled_.table().read_rows({&key, 1}, weights.data());
      for (size_t column = 0; column < PushedRows::kColumns; ++column) {
        const uint32_t c = pushed_.columns()[column];
        const double start = bench_value(key, c);
        expect_near("move of a weight", weights[c] - start,
                    pushed_.weight_after(i, column, start, pushes_, step) - start, PushedRows::kTolerance);
      }
    }
  }

  Work work() const override { return {.items = static_cast<double>(keys_.size())}; }

  std::vector<Figure> figures() const override {
    return {{"cores", static_cast<double>(this_machine().cores)}};
  }

 private:
  // Pushes gradients_ [batch, width] for look-ups of these keys, one for each example: sums_ [unique keys,
  // width] <- the sums by key, and the table steps the rows by AdaGrad.
  void push(std::span<const uint64_t> keys) {
    const KeyList list{offsets_, keys, true};
    planner_.plan({&list, 1}, plan_);
    sums_.assign(plan_.keys.size() * filled_.width(), 0);
    add_bag_gradients<float>(filled_.device(), plan_.uses[0], nullptr,
                             {gradients_.data(), filled_.width(), filled_.width()}, sums_.data());
    rows_.resize(plan_.keys.size());
    filled_.table().pull(plan_.keys, filled_.device(), rows_);
    filled_.table().push(plan_, rows_, sums_.data(), 1, kCpuLearningRate, filled_.device());
  }

  FilledRows filled_;
  const std::vector<uint64_t> ranks_;  // [kCalls, batch]
  const PushedRows pushed_;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> offsets_;
  std::vector<float> gradients_, sums_;
  std::vector<float*> rows_;
  KeyPlanner planner_;
  KeyPlan plan_;
  int64_t pushes_ = 0;
};

}  // namespace

std::vector<Benchmark> gpu_peer_tables() {
  return {{.name = std::string(kCpuFind),
           .help = "rows of 8 read from the processor's table, of 16 M rows, by all cores",
           .unit = "keys",
           .make = [](const BenchSettings& settings) { return std::make_unique<CpuFind>(settings); }},
          {.name = std::string(kCpuPush),
           .help = "rows of 64 of the processor's table, of 4 M rows, pushed and stepped by all cores",
           .unit = "rows",
           .make = [](const BenchSettings& settings) { return std::make_unique<CpuPush>(settings); }}};
}

}  // namespace ps
