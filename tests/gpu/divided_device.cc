// The rows of one device on several, or in several parts on one: the keys of a call are split by owner on the first device,
// copies between devices take them to their owners with what belongs to them, and each row has one owner, which makes one step
// of it.  In every order of threads and streams the rows are those of one device, bit for bit.
#include "device/cuda/divided_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "device/cuda/table_rows.h"
#include "gpu/device_data.h"
#include "model/cuda/gpu_kernels.h"
#include "support/bits.h"
#include "support/row_calls.h"
#include "table/cuda/key_split.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr uint64_t kRows = 512;  // no bucket is full

struct Table {
  CachedRowsOptions options;
  bool values_there = false;  // gradients and weights of the divided rows are on the model's device
  CurrentStep<float> step;
  std::unique_ptr<CachedRows> whole, divided;
};

// Places on as many devices, or on one; or on several, of which the first has a model.
enum class On { kSeveralDevices, kOneDevice, kDevicesBesideModel };

std::unique_ptr<RowDevice> make_places(size_t count, On on, uint64_t seed,
                                       const std::shared_ptr<ModelDevice>& model) {
  std::vector<std::shared_ptr<gpu::Device>> devices;
  for (size_t p = 0; p < count; ++p) {
    if (p == 0 && model != nullptr) continue;
    const bool shared = p > 0 && on == On::kOneDevice;
    devices.push_back(shared ? devices[0] : std::make_shared<gpu::Device>(test_device::disorderly(seed + p)));
  }
  return model == nullptr ? make_divided_device(std::move(devices))
                          : make_divided_device(model, std::move(devices));
}

// The same calls of one device and of several, with rows of up to four parameters.
class Twins {
 public:
  Twins(uint64_t seed, On on)
      : random_(seed, 1),
        whole_(make_table_device(std::make_unique<gpu::Device>(test_device::by_seed(0)))),
        model_(on == On::kDevicesBesideModel
                   ? make_gpu_kernels(std::make_unique<gpu::Device>(test_device::disorderly(seed)))
                   : nullptr),
        divided_(make_places(1 + seed % 4, on, seed, model_)),
        tables_(1 + random_.below(4)) {
    for (Table& table : tables_) {
      const auto width = static_cast<uint32_t>(1 + random_.below(random_.below(2) == 0 ? 8 : 40));
      const uint32_t arrays = static_cast<uint32_t>(random_.below(3));
      table.options = row_options(width, arrays, 32 + static_cast<uint32_t>(random_.below(60)), kRows);
      if (random_.below(3) == 0) table.options.rounding = {ValueType::kBf16, true, seed};
      table.step = {SgdStep<float>{0.1f, {0.01f, 0.001f}}, 0.75f, std::nullopt};
      if (arrays > 0) table.step = momentum_step();
      if (arrays > 0 && random_.below(3) == 0) table.step.mean = held_change(3, 1);
      if (random_.below(8) == 0) table.step.step = std::monostate();
      table.whole = whole_->make_rows(table.options);
      table.values_there = model_ != nullptr && random_.below(4) > 0;
      CachedRowsOptions divided = table.options;
      divided.values_there = table.values_there;
      table.divided = divided_->make_rows(divided);
    }
  }

  void train(uint64_t stamp) {
    for (Table& table : tables_) load(table, stamp);
    step_all(stamp);
    advance_all(stamp);
    read_all();
    for (Table& table : tables_) compare(table);
  }

 private:
  // Keys that have rows, or any, each once and in any order.
  std::vector<uint64_t> draw(const Table& table) {
    std::map<uint64_t, uint64_t> drawn;
    for (uint64_t n = random_.below(table.options.most_keys + 1); n > 0; --n)
      drawn[random_.next64()] = random_.below(120) * 0x9e3779b97f4a7c15u;
    std::vector<uint64_t> keys;
    for (const auto& [order, key] : drawn) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
    return keys;
  }
  std::vector<uint64_t> present(const Table& table) {
    std::vector<uint64_t> keys = draw(table), stamps(keys.size());
    std::vector<uint8_t> found(keys.size());
    table.whole->look_up(keys, found.data(), stamps.data(), nullptr);
    size_t n = 0;
    std::erase_if(keys, [&](uint64_t) { return found[n++] == 0; });
    return keys;
  }

  // Rows come for those that are missing, and for some that are there.
  void load(Table& table, uint64_t stamp) {
    const std::vector<uint64_t> keys = draw(table);
    std::vector<uint64_t> stamps(keys.size()), given(keys.size(), stamp);
    std::vector<uint8_t> found(keys.size());
    table.whole->look_up(keys, found.data(), stamps.data(), nullptr);
    std::vector<uint32_t> sources(keys.size(), CachedRows::kNoSource);
    std::vector<float> rows;
    uint32_t come = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      given[i] -= random_.below(2);
      if (found[i] == 0 || random_.below(4) == 0) sources[i] = come++;
    }
    rows.resize(size_t{come} * table.options.width * (1 + table.options.arrays));
    for (float& value : rows) value = static_cast<float>(random_.normal());
    StampedRows evicted;
    table.whole->load(keys, stamp + 1, given, sources, rows, evicted);
    table.divided->load(keys, stamp + 1, given, sources, rows, evicted);
    EXPECT_TRUE(evicted.keys.empty());
  }

  // One key may come several times: its gradients add up in the order of the call, and make one step.  Not with a mean of
  // weights, which moves once for each key of the call.
  void repeat_one(const Table& table, std::vector<uint64_t>& keys) {
    if (keys.empty() || table.step.mean) return;
    const uint64_t key = keys[random_.below(keys.size())];
    for (uint64_t n = random_.below(5); n > 0 && keys.size() < table.options.most_keys; --n)
      keys.push_back(key);
  }

  void step_all(uint64_t stamp) {
    std::vector<std::vector<uint64_t>> keys;
    std::vector<std::vector<float>> gradients;
    std::vector<RowsStep> whole, divided;
    for (Table& table : tables_) {
      keys.push_back(present(table));
      repeat_one(table, keys.back());
      gradients.emplace_back(keys.back().size() * table.options.width);
      for (float& value : gradients.back()) value = static_cast<float>(random_.normal());
    }
    std::vector<gpu::DeviceArray<float>> there(tables_.size());
    for (size_t t = 0; t < tables_.size(); ++t) {
      const RowsStep step = {nullptr, keys[t], stamp, gradients[t].data(), tables_[t].step, 0.5f};
      whole.push_back(step), whole.back().rows = tables_[t].whole.get();
      divided.insert(divided.begin(), step), divided.front().rows = tables_[t].divided.get();
      if (!tables_[t].values_there) continue;
      there[t] = upload(*stream_of(*model_), gradients[t]);
      divided.front().gradients = there[t].data();
    }
    whole_->step_all(whole);
    divided_->step_all(divided);
  }

  void advance_all(uint64_t stamp) {
    std::vector<std::vector<uint64_t>> keys;
    std::vector<std::vector<uint32_t>> which;
    std::vector<std::vector<IdleChange>> changes;
    std::vector<RowsAdvance> whole, divided;
    for (Table& table : tables_) {
      keys.push_back(present(table));
      changes.emplace_back(std::min<size_t>(keys.back().size(), 3));
      for (IdleChange& change : changes.back()) {
        change.weights = IdleChange::Weights::kDecayed;
        change.keep = 0.5 + random_.uniform() / 2;
        change.dither = static_cast<int64_t>(stamp);
      }
      which.emplace_back();
      for (size_t i = 0; i < keys.back().size(); ++i) {
        const uint64_t number = random_.below(changes.back().size() + 1);
        which.back().push_back(number == changes.back().size() ? CachedRows::kNoSource
                                                               : static_cast<uint32_t>(number));
      }
    }
    for (size_t t = 0; t < tables_.size(); ++t) {
      const RowsAdvance advance = {nullptr, keys[t], stamp + 1, stamp, which[t], changes[t]};
      whole.push_back(advance), whole.back().rows = tables_[t].whole.get();
      divided.push_back(advance), divided.back().rows = tables_[t].divided.get();
    }
    whole_->advance_all(whole);
    divided_->advance_all(divided);
  }

  void read_all() {
    std::vector<std::vector<uint64_t>> keys;
    std::vector<std::vector<float>> expected, weights;
    std::vector<RowsRead> whole, divided;
    for (Table& table : tables_) {
      keys.push_back(present(table));
      expected.emplace_back(keys.back().size() * table.options.width);
    }
    weights = expected;
    std::vector<gpu::DeviceArray<float>> there(tables_.size());
    for (size_t t = 0; t < tables_.size(); ++t) {
      whole.push_back({tables_[t].whole.get(), keys[t], expected[t].data()});
      divided.push_back({tables_[t].divided.get(), keys[t], weights[t].data()});
      if (!tables_[t].values_there) continue;
      there[t] = upload(*stream_of(*model_), weights[t]);
      divided.back().weights = there[t].data();
    }
    whole_->read_all(whole);
    divided_->read_all(divided);
    for (size_t t = 0; t < tables_.size(); ++t) {
      if (tables_[t].values_there) weights[t] = download(*stream_of(*model_), there[t]);
      ASSERT_EQ(bits_of(weights[t]), bits_of(expected[t]));
    }
  }

  // Compares a look-up with rows, and all rows with their stamps.
  void compare(Table& table) {
    const std::vector<uint64_t> keys = draw(table);
    const size_t floats = table.options.width * (1 + table.options.arrays);
    std::vector<uint8_t> found(keys.size()), expected_found(keys.size());
    std::vector<uint64_t> stamps(keys.size()), expected_stamps(keys.size());
    std::vector<float> rows(keys.size() * floats), expected(rows.size());
    table.whole->look_up(keys, expected_found.data(), expected_stamps.data(), expected.data());
    table.divided->look_up(keys, found.data(), stamps.data(), rows.data());
    ASSERT_EQ(found, expected_found);
    ASSERT_EQ(stamps, expected_stamps);
    ASSERT_EQ(bits_of(rows), bits_of(expected));
    ASSERT_EQ(all_rows(*table.divided, floats), all_rows(*table.whole, floats));
  }

  static std::map<uint64_t, std::vector<uint64_t>> all_rows(CachedRows& rows, size_t floats) {
    std::map<uint64_t, std::vector<uint64_t>> all;
    for (uint32_t b = 0; b < rows.num_buckets(); ++b) {
      StampedRows some;
      rows.copy_buckets(b, 1, some);
      for (size_t i = 0; i < some.keys.size(); ++i) {
        EXPECT_EQ(rows.bucket(some.keys[i]), b);
        std::vector<uint64_t>& row = all[some.keys[i]];
        row.push_back(some.stamps[i]);
        for (size_t f = 0; f < floats; ++f) row.push_back(std::bit_cast<uint32_t>(some.rows[i * floats + f]));
      }
    }
    return all;
  }

  Random random_;
  std::unique_ptr<RowDevice> whole_;
  std::shared_ptr<ModelDevice> model_;  // null: there is none
  std::unique_ptr<RowDevice> divided_;
  std::vector<Table> tables_;
};

void compare(On on) {
  const uint64_t seeds = test_device::is_slow() ? 8 : 24;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Twins twins(seed, on);
    for (uint64_t stamp = 1; stamp <= 3; ++stamp) ASSERT_NO_FATAL_FAILURE(twins.train(stamp));
  }
}

TEST(DividedDevice, RowsOfSeveralDevicesAreThoseOfOne) {
  compare(On::kSeveralDevices);
}

TEST(DividedDevice, RowsOfSeveralPartsOfADeviceAreThoseOfOne) {
  compare(On::kOneDevice);
}

// The model computes on the first device, which gives gradients and takes weights in its memory.
TEST(DividedDevice, RowsOfDevicesBesideAModelAreThoseOfOne) {
  compare(On::kDevicesBesideModel);
}

TEST(KeySplit, EachDeviceOwnsAboutAsManyKeys) {
  std::vector<int> owned(3);
  for (uint64_t key = 0; key < 3000; ++key) ++owned[KeySplit::owner_of(key, 3)];
  for (int keys : owned) EXPECT_NEAR(keys, 1000, 100);
}

}  // namespace

}  // namespace ps
