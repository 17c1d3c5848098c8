// Times pulls and pushes of many tables of different widths: for all tables together, by a TableGroup, and
// table by table.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/cuda/device_workload.h"
#include "bench/cuda/filled_table.h"
#include "optim/kernels/steps.h"
#include "table/cuda/table_group.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr uint32_t kTables = 26;
constexpr int kStepsOfRun = 8;
constexpr int64_t kTimesEach = 4;  // number of times that a call has each of its keys
constexpr float kRate = 0.01f;

// Steps that pull and push all tables.  Gradients are 1 and weights begin at 0, so each push moves all
// weights by the same amount.  One owner thread.
//
// There are as many tables as Criteo's clicks have categories, with calls that are too small to fill a
// device one by one.  TableGroup makes one call for all of them, and OneByOne a call for each.  A call has
// each of its keys kTimesEach times.  After n pushes a weight must be -kRate * kTimesEach * n, which
// check() reads by pulls table by table; the tolerance is for sums that are rounded at each step.
class ManyTables : public DeviceWorkload {
 public:
  ManyTables(const SharedGpu& gpu, const BenchSettings& settings)
      : DeviceWorkload(gpu),
        size_(batch_size(settings.scale) / kTables / kTimesEach * kTimesEach + kTimesEach) {
    std::vector<DeviceTable*> tables;
    for (uint32_t t = 0; t < kTables; ++t) {
      tables_.push_back(std::make_unique<OneTable>(device(), stream(), t, size_));
      tables.push_back(&tables_.back()->table);
      floats_ += static_cast<uint64_t>(size_) * tables_.back()->width;
    }
    group_ = std::make_unique<TableGroup>(device(), stream(), tables);
    stream().synchronize();
  }

  void prepare() override { pushes_ += kStepsOfRun; }

  void run() override {
    time([&] {
      for (int i = 0; i < kStepsOfRun; ++i) step();
    });
  }

  void check() override {
    const double expected = -double{kRate} * kTimesEach * static_cast<double>(pushes_);
    for (const auto& one : tables_) {
      std::vector<float> weights(static_cast<size_t>(one->weights.size()));
      one->table.pull(stream(), one->device_keys(), one->weights.data());
      stream().copy_to_host(weights.data(), one->weights.data(), one->weights.bytes());
      stream().synchronize();
      for (float weight : weights) {
        if (std::fabs(weight - expected) <= 1e-3 * std::fabs(expected)) continue;
        fail(Code::kInternal, "a weight of ", weight, ", expected ", expected);
      }
    }
  }

  // A pull writes the weights, and a push reads the gradients: these are the bytes that count.
  Work work() const override {
    return {.bytes = double{kStepsOfRun} * static_cast<double>(floats_) * 2 * sizeof(float),
            .items = double{kStepsOfRun} * kTables * static_cast<double>(size_),
            .of_limit = double{kStepsOfRun} * static_cast<double>(floats_) * 2 * sizeof(float)};
  }

 protected:
  struct OneTable {
    // The widths of the tables go from 1 to 64 in even steps.
    OneTable(gpu::Device& gpu, gpu::Stream& on, uint32_t number, int64_t size)
        : width(1 + number * 63 / (kTables - 1)),
          table(gpu, on, options_of(width, size)),
          keys(gpu, size),
          gradients(gpu, size * width),
          weights(gpu, size * width) {
      std::vector<uint64_t> numbers;
      for (int64_t i = 0; i < size; ++i) numbers.push_back(static_cast<uint64_t>(i / kTimesEach));
      const std::vector<float> ones(static_cast<size_t>(gradients.size()), 1.0f);
      on.copy_to_device(keys.data(), numbers.data(), keys.bytes());
      on.copy_to_device(gradients.data(), ones.data(), gradients.bytes());
      on.synchronize();
    }

    static DeviceTableOptions options_of(uint32_t width, int64_t size) {
      DeviceTableOptions options;
      options.width = width;
      options.rows = static_cast<uint64_t>(4 * size + 1024);  // room enough that no bucket gets full
      options.max_batch = static_cast<uint32_t>(size);
      options.initializer.distribution = Distribution::kConstant;
      options.initializer.mean = 0;
      return options;
    }

    DeviceKeys device_keys() const { return {keys.data(), keys.size()}; }

    const uint32_t width;
    DeviceTable table;
    gpu::DeviceArray<uint64_t> keys;
    gpu::DeviceArray<float> gradients, weights;
  };

  virtual void step() {
    std::vector<TablePull> pulls;
    std::vector<TablePush> pushes;
    for (const auto& one : tables_) {
      pulls.push_back({one->device_keys(), one->weights.data(), {}});
      pushes.push_back({one->device_keys(), one->gradients.data(), rule(), 1, kNoBound, {}});
    }
    group_->pull(stream(), pulls);
    group_->push(stream(), pushes);
  }

  static SgdStep<float> rule() { return {kRate, {}}; }
  static constexpr float kNoBound = std::numeric_limits<float>::max();

  const std::vector<std::unique_ptr<OneTable>>& tables() const { return tables_; }

 private:
  const int64_t size_;  // number of keys of a call for one table
  std::vector<std::unique_ptr<OneTable>> tables_;
  std::unique_ptr<TableGroup> group_;
  uint64_t floats_ = 0;  // number of weights of a call for all tables
  int64_t pushes_ = 0;
};

// The same steps with a call for each table.  One owner thread.
class OneByOne final : public ManyTables {
 public:
  using ManyTables::ManyTables;

 private:
  void step() override {
    for (const auto& one : tables()) one->table.pull(stream(), one->device_keys(), one->weights.data());
    for (const auto& one : tables()) {
      one->table.push(stream(), one->device_keys(), one->gradients.data(), rule(), 1, kNoBound);
    }
  }
};

}  // namespace

// The steps table by table are the peer of those together; a copy of the device's memory bounds both.
std::vector<Benchmark> device_groups(const SharedGpu& device) {
  const std::string name = "gpu/many-tables", alone = name + "/one-by-one";
  return {{.name = alone,
           .help = "the same table by table",
           .unit = "rows",
           .make = make_on<OneByOne>(device),
           .limit = "gpu/copy"},
          {.name = name,
           .help = "1 M look-ups in 26 tables of rows of 1 to 64, pulled and then pushed by sgd, together",
           .unit = "rows",
           .make = make_on<ManyTables>(device),
           .limit = "gpu/copy",
           .peers = {alone}}};
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
