// Rows of a device beside a model, which has pointers to them: the host sends only what the device reads.
#include "device/cuda/table_rows.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "gpu/device_data.h"
#include "model/cuda/gpu_kernels.h"
#include "support/bits.h"
#include "support/row_calls.h"

namespace ps::table_rows_test {

namespace {

constexpr uint64_t kSize = 100, kWidth = 4;

// Three parameters, whose optimizers have a mean of weights, none, and none, and a step of all of their rows.
class SteppedTogether {
 public:
  SteppedTogether() {
    std::iota(keys_.begin(), keys_.end(), 1000);
    std::iota(sources_.begin(), sources_.end(), 0);
    std::iota(gradients_.begin(), gradients_.end(), 0.5f);
    CachedRowsOptions options = row_options(kWidth, 1, kSize, 2048);
    options.values_there = true;
    const std::vector<float> values(kSize * kWidth * 2, 1.0f);
    StampedRows evicted;
    for (Table& table : tables_) {
      table.rows = device_->make_rows(options);
      table.rows->load(keys_, 2, stamps_, sources_, values, evicted);
      table.step = momentum_step();
      table.pointers = filled<float*>(stream(), kSize, 0);
    }
    tables_[0].step.mean = held_change(3, 1);
    there_ = upload(stream(), gradients_);
    stream().synchronize();
  }

  // Steps the rows of the first `pointed` parameters by pointers to them, all others by keys.  Returns the bytes between host
  // and device.
  uint64_t step(size_t pointed) {
    std::vector<RowsStep> steps;
    for (Table& table : tables_) {
      steps.push_back({table.rows.get(), keys_, 3, there_.data(), table.step, 0.5f});
      if (steps.size() > pointed) continue;
      const RowsRead read = {table.rows.get(), keys_, nullptr, table.pointers.data()};
      device_->read_all({&read, 1});
      steps.back().pointers = table.pointers.data();
    }
    const uint64_t before = stream().device().num_host_bytes();
    device_->step_all(steps);
    return stream().device().num_host_bytes() - before;
  }

  // The rows of all parameters, and their stamps.
  std::vector<uint64_t> result() {
    std::vector<uint64_t> all;
    for (Table& table : tables_) {
      std::vector<uint8_t> found(kSize);
      std::vector<uint64_t> stamps(kSize);
      std::vector<float> rows(kSize * kWidth * 2);
      table.rows->look_up(keys_, found.data(), stamps.data(), rows.data());
      all.insert(all.end(), found.begin(), found.end());
      all.insert(all.end(), stamps.begin(), stamps.end());
      for (const auto bits : bits_of(rows)) all.push_back(bits);
    }
    return all;
  }

 private:
  struct Table {
    std::unique_ptr<CachedRows> rows;
    CurrentStep<float> step;
    gpu::DeviceArray<float*> pointers;
  };

  gpu::Stream& stream() { return *stream_of(*model_); }

  std::shared_ptr<ModelDevice> model_ =
      make_gpu_kernels(std::make_unique<gpu::Device>(gpu::emulated::EmulatorOptions()));
  std::unique_ptr<RowDevice> device_ = make_table_device(model_);
  std::vector<uint64_t> keys_ = std::vector<uint64_t>(kSize), stamps_ = std::vector<uint64_t>(kSize, 1);
  std::vector<uint32_t> sources_ = std::vector<uint32_t>(kSize);
  std::vector<float> gradients_ = std::vector<float>(kSize * kWidth);
  gpu::DeviceArray<float> there_;
  std::vector<Table> tables_ = std::vector<Table>(3);
};

// A key and its score have 8 bytes each.  A mean looks rows up by their keys, also where the step does not.
TEST(TableRows, KeysAndScoresOfRowsSteppedByPointersStayOnTheHost) {
  SteppedTogether by_keys, one, two, three;
  const uint64_t bytes = by_keys.step(0);
  EXPECT_EQ(one.step(1), bytes - 8 * kSize) << "with a mean";
  EXPECT_EQ(two.step(2), bytes - (8 + 16) * kSize);
  EXPECT_EQ(three.step(3), bytes - (8 + 16 + 16) * kSize);
  for (SteppedTogether* each : {&one, &two, &three}) EXPECT_EQ(each->result(), by_keys.result());
}

}  // namespace

}  // namespace ps::table_rows_test
