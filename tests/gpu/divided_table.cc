// A table on several devices, or in several parts on one, is one DeviceTable that is given the keys of all devices one after
// the other: the same weights, one step for a key however many devices have gradients for it.
#include "table/cuda/divided_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "gpu/device_data.h"
#include "optim/kernels/steps.h"
#include "support/bits.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr uint32_t kMostKeys = 50;

DeviceTableOptions options_of(uint64_t seed, uint32_t arrays) {
  Random random(seed, 1);
  DeviceTableOptions options;
  options.width = static_cast<uint32_t>(1 + random.below(random.below(2) == 0 ? 8 : 40));
  options.arrays = arrays;
  options.rows = 4000;  // no bucket is full
  options.max_batch = kMostKeys;
  options.initializer = {Distribution::kUniform, 0, 0.5, seed};
  return options;
}

// The call of one place: few keys, so that places share them, and a key may be repeated.
struct Asked {
  std::vector<uint64_t> keys;
  std::vector<float> gradients;
};

Asked draw_asked(Random& random, uint32_t width) {
  Asked asked;
  asked.keys.resize(random.below(4) == 0 ? 0 : random.below(kMostKeys + 1));
  for (uint64_t& key : asked.keys) key = random.below(40) * 0x9e3779b97f4a7c15u;
  asked.gradients.resize(asked.keys.size() * width);
  for (float& value : asked.gradients) value = static_cast<float>(random.normal());
  return asked;
}

// Places on as many devices, or on one.
class Places {
 public:
  Places(size_t count, bool on_one_device, uint64_t seed) {
    for (size_t p = 0; p < count; ++p) {
      if (p == 0 || !on_one_device)
        devices_.push_back(std::make_unique<gpu::Device>(test_device::disorderly(seed + p)));
      streams_.push_back(std::make_unique<gpu::Stream>(*devices_.back()));
      all_.push_back({devices_.back().get(), streams_.back().get()});
    }
  }
  const std::vector<TablePlace>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<gpu::Device>> devices_;
  std::vector<std::unique_ptr<gpu::Stream>> streams_;
  std::vector<TablePlace> all_;
};

// One table that gets the keys of all places in their order.
class OneTable {
 public:
  OneTable(DeviceTableOptions options, size_t places) : options_(options) {
    options_.max_batch = static_cast<uint32_t>(kMostKeys * places);
    table_ = std::make_unique<DeviceTable>(device_, stream_, options_);
  }

  template <class Step>
  void push(const std::vector<Asked>& asked, const Step& step) {
    std::vector<uint64_t> keys;
    std::vector<float> gradients;
    for (const Asked& one : asked) {
      keys.insert(keys.end(), one.keys.begin(), one.keys.end());
      gradients.insert(gradients.end(), one.gradients.begin(), one.gradients.end());
    }
    const auto keys_there = upload(stream_, keys);
    const auto gradients_there = upload(stream_, gradients);
    table_->push(stream_, {keys_there.data(), keys_there.size()}, gradients_there.data(), step, 0.5f, 0.75f);
    stream_.synchronize();
  }

  std::vector<float> pull(const std::vector<uint64_t>& keys) {
    const auto there = upload(stream_, keys);
    gpu::DeviceArray<float> weights(device_, there.size() * options_.width);
    table_->pull(stream_, {there.data(), there.size()}, weights.data());
    return download(stream_, weights);
  }

  uint64_t rows() {
    DeviceTableCounts counts;
    table_->copy_counts(stream_, counts);
    stream_.synchronize();
    return counts.rows;
  }

 private:
  DeviceTableOptions options_;
  gpu::Device device_{test_device::by_seed(0)};
  gpu::Stream stream_{device_};
  std::unique_ptr<DeviceTable> table_;
};

// The keys, gradients and weights of a call, each in the memory of its place.
class Call {
 public:
  Call(const std::vector<TablePlace>& places, const std::vector<Asked>& asked) : places_(places) {
    for (size_t p = 0; p < places.size(); ++p) {
      keys_.push_back(upload(*places[p].stream, asked[p].keys));
      gradients_.push_back(upload(*places[p].stream, asked[p].gradients));
      weights_.emplace_back(*places[p].device, gradients_[p].size());
      calls.push_back({keys_[p].data(), keys_[p].size()});
      gradients.push_back(gradients_[p].data());
      weights.push_back(weights_[p].data());
    }
  }

  std::vector<float> weights_of(size_t place) { return download(*places_[place].stream, weights_[place]); }

  std::vector<DeviceKeys> calls;
  std::vector<const float*> gradients;
  std::vector<float*> weights;

 private:
  const std::vector<TablePlace>& places_;
  std::vector<gpu::DeviceArray<uint64_t>> keys_;
  std::vector<gpu::DeviceArray<float>> gradients_, weights_;
};

template <class Step>
void compare(const Step& step, uint64_t seed, bool on_one_device) {
  Random random(seed, 2);
  const size_t count = 1 + seed % 4;
  const DeviceTableOptions options = options_of(seed, Step::kArrays);
  const Places places(count, on_one_device, seed);
  DividedTable divided(places.all(), options);
  OneTable whole(options, count);
  for (int round = 0; round < 3; ++round) {
    std::vector<Asked> asked;
    for (size_t p = 0; p < count; ++p) asked.push_back(draw_asked(random, options.width));
    Call call(places.all(), asked);
    // The calls follow each other without a wait, so that one that touched memory too early would show.
    divided.pull(call.calls, call.weights);
    divided.push(call.calls, call.gradients, step, 0.5f, 0.75f);
    divided.pull(call.calls, call.weights);
    whole.push(asked, step);
    for (size_t p = 0; p < count; ++p)
      ASSERT_EQ(bits_of(call.weights_of(p)), bits_of(whole.pull(asked[p].keys)))
          << "place " << p << " of " << count;
  }
  uint64_t rows = 0;
  for (size_t p = 0; p < count; ++p) {
    DeviceTableCounts counts;
    divided.part(p).copy_counts(*places.all()[p].stream, counts);
    places.all()[p].stream->synchronize();
    rows += counts.rows;
  }
  EXPECT_EQ(rows, whole.rows()) << "a row has one owner";
}

uint64_t num_shapes() {
  return test_device::is_slow() ? 12 : 100;
}

TEST(DividedTable, RowsOfSeveralDevicesAreThoseOfOneTable) {
  for (uint64_t seed = 0; seed < num_shapes(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(compare(AdagradStep<float>{0.1f, 1e-6f, {}}, seed, false));
  }
}

TEST(DividedTable, RowsOfSeveralPartsOfADeviceAreThoseOfOneTable) {
  for (uint64_t seed = 0; seed < num_shapes(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(
        compare(MomentumStep<float, false>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f}, seed, true));
  }
}

TEST(DividedTable, EachDeviceOwnsAboutAsManyKeys) {
  std::vector<int> owned(3);
  for (uint64_t key = 0; key < 3000; ++key) ++owned[DividedTable::owner_of(key, 3)];
  for (int keys : owned) EXPECT_NEAR(keys, 1000, 100);
}

TEST(DividedTable, RefusesWhatItCannotDo) {
  const Places places(2, true, 1);
  const auto refusal = [&](const std::vector<TablePlace>& on,
                           const DeviceTableOptions& options) -> std::string {
    try {
      DividedTable table(on, options);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  DeviceTableOptions options = options_of(1, 0);
  EXPECT_EQ(refusal(places.all(), options), "");
  EXPECT_THAT(refusal({}, options), testing::HasSubstr("no device"));
  options.score = EvictionScore::kGiven;
  EXPECT_THAT(refusal(places.all(), options), testing::HasSubstr("scores that are given"));
  options = options_of(1, 0);
  options.max_batch = 1 << 20;
  options.width = 1 << 14;
  EXPECT_THAT(refusal(places.all(), options), testing::HasSubstr("calls of 1048576 keys"));
}

}  // namespace

}  // namespace ps
