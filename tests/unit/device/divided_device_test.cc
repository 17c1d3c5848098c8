// Several devices as one: the first splits the keys of a call, copies between devices move them and what belongs to them,
// and all devices have their work before the host waits for any.  tests/gpu/divided_device.cc compares the rows with those of
// one device.
#include "device/cuda/divided_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/text.h"
#include "model/cuda/gpu_kernels.h"
#include "support/row_calls.h"

namespace ps::divided_device_test {

namespace {

using gpu::emulated::EmulatorOptions;
using testing::ElementsAreArray;

constexpr uint64_t kRows = 2048;  // no bucket is full

// Devices, and what had been queued on each whenever the host began to wait for one that had work left.
class WatchedDevices {
 public:
  struct Queued {
    std::vector<uint64_t> launches, copies;  // by device
  };

  explicit WatchedDevices(size_t count) {
    EmulatorOptions options;
    options.on_wait = [this] { waits.push_back(queued()); };
    std::vector<std::shared_ptr<gpu::Device>> owned;
    for (size_t p = 0; p < count; ++p) {
      owned.push_back(std::make_shared<gpu::Device>(options));
      devices_.push_back(owned.back().get());
    }
    device_ = make_divided_device(std::move(owned));
  }

  RowDevice& device() { return *device_; }

  Queued queued() const {
    Queued queued;
    for (const gpu::Device* device : devices_) {
      queued.launches.push_back(device->num_launches());
      queued.copies.push_back(device->num_copies_from_devices());
    }
    return queued;
  }

  // Returns the copies from others that `call` queues on each device.  At its first wait the first device alone has
  // kernels to run, which split the keys; at the second, all devices have some.
  template <class Call>
  std::vector<uint64_t> copies_of(const Call& call) {
    const Queued before = queued();
    waits.clear();
    call();
    EXPECT_GE(waits.size(), 2u);
    for (size_t p = 0; p < devices_.size() && waits.size() >= 2; ++p) {
      EXPECT_EQ(waits[0].launches[p] > before.launches[p], p == 0) << "device " << p;
      EXPECT_EQ(waits[0].copies[p], before.copies[p]) << "device " << p;
      EXPECT_GT(waits[1].launches[p], waits[0].launches[p]) << "device " << p;
    }
    std::vector<uint64_t> copies = queued().copies;
    for (size_t p = 0; p < copies.size(); ++p) copies[p] -= before.copies[p];
    return copies;
  }

  std::vector<Queued> waits;

 private:
  std::vector<gpu::Device*> devices_;
  std::unique_ptr<RowDevice> device_;
};

// Returns the copies of a call in which each device but the first makes `others`, and the first `first` from each other.
std::vector<uint64_t> copies(size_t devices, uint64_t others, uint64_t first) {
  std::vector<uint64_t> expected(devices, others);
  expected[0] = first * (devices - 1);
  return expected;
}

TEST(DividedDevice, SplitsOnTheFirstDeviceAndAllWorkBeforeTheHostWaitsForAny) {
  for (size_t count = 2; count <= 4; ++count) {
    SCOPED_TRACE(cat(count, " devices"));
    WatchedDevices watched(count);
    const uint32_t size = 200, width = 3;
    const auto rows = watched.device().make_rows(row_options(width, 1, size, kRows));
    std::vector<uint64_t> keys(size), stamps(size, 1);
    std::vector<uint32_t> which(size, 0);
    std::iota(keys.begin(), keys.end(), 1000);
    std::vector<uint32_t> sources(size);
    std::iota(sources.begin(), sources.end(), 0);
    std::vector<float> values(size * width * 2, 1.0f), weights(size * width);
    std::vector<uint8_t> found(size);
    StampedRows evicted;
    // A device gets keys and what the call says of them; the first gets found and stamps, or weights, from each other.
    EXPECT_THAT(watched.copies_of([&] { rows->load(keys, 2, stamps, sources, values, evicted); }),
                ElementsAreArray(copies(count, 4, 0)));
    const RowsLookUp look_up = {rows.get(), keys, found.data(), stamps.data()};
    EXPECT_THAT(watched.copies_of([&] {
      watched.device().look_up_all({&look_up, 1});
    }),
                ElementsAreArray(copies(count, 1, 2)));
    const IdleChange change = held_change(0, 1);
    const RowsAdvance advance = {rows.get(), keys, 3, 2, which, {&change, 1}};
    EXPECT_THAT(watched.copies_of([&] {
      watched.device().advance_all({&advance, 1});
    }),
                ElementsAreArray(copies(count, 2, 0)));
    const RowsRead read = {rows.get(), keys, weights.data()};
    EXPECT_THAT(watched.copies_of([&] {
      watched.device().read_all({&read, 1});
    }),
                ElementsAreArray(copies(count, 1, 1)));
    EXPECT_EQ(watched.waits.size(), 2u)
        << "a read waits for the split and for the end, whatever the number of devices";
    const RowsStep step = {rows.get(), keys, 3, weights.data(), momentum_step(), 0.5f};
    EXPECT_THAT(watched.copies_of([&] {
      watched.device().step_all({&step, 1});
    }),
                ElementsAreArray(copies(count, 3, 0)));
    EXPECT_THAT(found, testing::Each(1));
  }
}

TEST(DividedDevice, RowsTakeNoMoreMemoryThanItSaysBefore) {
  for (size_t count = 1; count <= 3; ++count) {
    std::vector<std::shared_ptr<gpu::Device>> devices(count);
    for (auto& device : devices) device = std::make_shared<gpu::Device>(EmulatorOptions());
    const auto device = make_divided_device(devices);
    CachedRowsOptions options = row_options(5, 2, 100, kRows);
    const uint64_t bytes = 4 << 20;
    options.rows = device->rows_for(bytes, options);
    EXPECT_LE(device->bytes_for(options), bytes);
    EXPECT_GT(device->bytes_for(options), bytes / 10 * 9);
    const uint64_t before = device->free_bytes();
    const auto rows = device->make_rows(options);
    EXPECT_GE(rows->num_buckets() * uint64_t{CachedRows::kBucketRows}, options.rows);
    EXPECT_LE(before - device->free_bytes(), bytes + (uint64_t{count} << 16));
  }
}

// Weights and gradients of `size` rows beside a model on the first device, of which the host sees keys alone.
class BesideModel {
 public:
  BesideModel(size_t devices, bool values_there)
      : model_(make_gpu_kernels(std::make_unique<gpu::Device>(EmulatorOptions()))),
        device_(make_divided_device(model_, others(devices - 1))),
        values_(stream().device(), kSize * kWidth),
        here_(kSize * kWidth, 2.0f) {
    CachedRowsOptions options = row_options(kWidth, 1, kSize, kRows);
    options.values_there = values_there;
    rows_ = device_->make_rows(options);
    std::iota(keys_.begin(), keys_.end(), 1000);
    std::iota(sources_.begin(), sources_.end(), 0);
    StampedRows evicted;
    rows_->load(keys_, 2, stamps_, sources_, std::vector<float>(kSize * kWidth * 2, 1.0f), evicted);
    stream().copy_to_device(values_.data(), here_.data(), values_.bytes());
    if (values_there) address_ = values_.data();
  }

  // The bytes between the host and the device of the model in a step, and in the read that follows.
  uint64_t bytes_of_step() {
    return bytes_of([&] { rows_->step(keys_, 3, address_, momentum_step(), 0.5f); });
  }
  uint64_t bytes_of_read() {
    return bytes_of([&] { rows_->read(keys_, address_); });
  }
  std::vector<float> values() {
    if (address_ == values_.data()) {
      stream().copy_to_host(here_.data(), values_.data(), values_.bytes());
      stream().synchronize();
    }
    return here_;
  }

  static constexpr uint64_t kSize = 200, kWidth = 6;

 private:
  gpu::Stream& stream() { return *stream_of(*model_); }
  static std::vector<std::shared_ptr<gpu::Device>> others(size_t count) {
    std::vector<std::shared_ptr<gpu::Device>> all(count);
    for (auto& device : all) device = std::make_shared<gpu::Device>(EmulatorOptions());
    return all;
  }
  template <class Call>
  uint64_t bytes_of(const Call& call) {
    const uint64_t before = stream().device().num_host_bytes();
    call();
    return stream().device().num_host_bytes() - before;
  }

  std::shared_ptr<ModelDevice> model_;
  std::unique_ptr<RowDevice> device_;
  gpu::DeviceArray<float> values_;
  std::vector<float> here_;
  float* address_ = here_.data();
  std::unique_ptr<CachedRows> rows_;
  std::vector<uint64_t> keys_ = std::vector<uint64_t>(kSize), stamps_ = std::vector<uint64_t>(kSize, 1);
  std::vector<uint32_t> sources_ = std::vector<uint32_t>(kSize);
};

TEST(DividedDevice, WeightsAndGradientsBesideAModelDoNotPassTheHost) {
  for (size_t devices = 1; devices <= 4; ++devices) {
    SCOPED_TRACE(cat(devices, " devices"));
    BesideModel here(devices, false), there(devices, true);
    constexpr uint64_t kValues = BesideModel::kSize * BesideModel::kWidth * sizeof(float);
    EXPECT_EQ(here.bytes_of_step(), there.bytes_of_step() + kValues);
    EXPECT_EQ(here.bytes_of_read(), there.bytes_of_read() + kValues);
    EXPECT_EQ(here.values(), there.values());
    EXPECT_THAT(there.values(), testing::Not(testing::Contains(2.0f))) << "the read has given weights";
  }
}

}  // namespace

}  // namespace ps::divided_device_test
