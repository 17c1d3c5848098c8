// Makes the tables of the suite `table` over SparseTable.
#include <vector>

#include "bench/table/suite.h"
#include "config/catalog.h"
#include "optim/optimizer.h"
#include "table/sparse_table.h"

namespace ps {

namespace {

std::unique_ptr<Optimizer<float>> make_adagrad(CpuLevel cpu) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), {{"type", "adagrad"}}, "", "optimizer");
  return entry.make_float({{"epsilon", kBenchEpsilon}}, {}, cpu);
}

// SparseTable behind the interface of the suite.  A pull of SparseTable finds rows, and makes those that
// are missing: so it is insert() and find(), and the first part of the other operations, as in training.
// One owner thread, which the threads of device_ help.
class SparseRows final : public RowTable {
 public:
  explicit SparseRows(Device& device, std::unique_ptr<RowSpill> spill = nullptr)
      : device_(device),
        spill_(std::move(spill)),
        table_(kBenchWidth, /*bound=*/0, Initializer{}, make_adagrad(device.cpu()), std::nullopt,
               spill_.get()) {}

  void insert(const KeyPlan& plan) override { table_.pull(plan, device_, rows_); }

  uint64_t find(const KeyPlan& plan) override {
    table_.pull(plan, device_, rows_);
    return rows_.size();
  }

  // Finding the rows and reading them are both shared by the threads.
  double sum(const KeyPlan& plan) override {
    table_.pull(plan, device_, rows_);
    // Every thread sums its share of the rows, with a place for each column, so that no addition waits for
    // another.
    sums_.assign(static_cast<size_t>(device_.threads()), Sums{});
    device_.run(device_.threads(), [&](int64_t index) {
      int64_t rows = static_cast<int64_t>(rows_.size());
      Sums& sums = sums_[static_cast<size_t>(index)];
      for (int64_t n = rows * index / device_.threads(); n < rows * (index + 1) / device_.threads(); ++n) {
        for (int i = 0; i < kBenchWidth; ++i) sums.columns[i] += rows_[static_cast<size_t>(n)][i];
      }
    });
    double sum = 0;
    for (const Sums& sums : sums_) {
      for (float column : sums.columns) sum += column;
    }
    return sum;
  }

  // resize() keeps the ones that gradients_ has and fills new places with ones.
  void update(const KeyPlan& plan) override {
    table_.pull(plan, device_, rows_);
    gradients_.resize(rows_.size() * kBenchWidth, 1.0f);
    table_.push(plan, rows_, gradients_.data(), 1, kBenchRate, device_);
  }

  uint64_t size() const override { return table_.size(); }

  float weight(uint64_t key) override {
    float weights[kBenchWidth];
    table_.read_rows({&key, 1}, weights);
    return weights[0];
  }

 private:
  struct alignas(64) Sums {
    float columns[kBenchWidth] = {};
  };

  Device& device_;
  const std::unique_ptr<RowSpill> spill_;  // null: all rows are in memory
  SparseTable table_;
  std::vector<float*> rows_;
  std::vector<float> gradients_;  // all are 1
  std::vector<Sums> sums_;        // one for each thread
};

}  // namespace

std::unique_ptr<RowTable> make_sparse_rows(Device& device) {
  return std::make_unique<SparseRows>(device);
}

std::unique_ptr<RowTable> make_spilled_rows(Device& device, const std::string& directory,
                                            uint64_t memory_bytes) {
  return std::make_unique<SparseRows>(device, std::make_unique<RowSpill>(directory, memory_bytes));
}

}  // namespace ps
