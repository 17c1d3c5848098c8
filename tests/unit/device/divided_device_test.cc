// Several devices as one: the first splits the keys of a call, copies between devices move them and what belongs to them,
// and all devices have their work before the host waits for any.  In every order of threads and streams the rows
// are those of one device.
#include "device/cuda/divided_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "device/cuda/table_rows.h"
#include "support/bits.h"

namespace ps::divided_device_test {

namespace {

using gpu::emulated::EmulatorOptions;
using testing::ElementsAreArray;

CachedRowsOptions options_of(uint32_t width, uint32_t arrays, uint32_t most_keys) {
  CachedRowsOptions options;
  options.width = width;
  options.arrays = arrays;
  options.rows = 2048;  // no bucket is full
  options.most_keys = most_keys;
  return options;
}

CurrentStep<float> momentum_step() {
  return {MomentumStep<float, false>{0.9f, 0.1f, 0, 0.01f, 0.001f}, 0.75f, std::nullopt};
}

// Devices, and what had been queued on each whenever the host began to wait for one that had work left.
class WatchedDevices {
 public:
  struct Queued {
    std::vector<uint64_t> launches, copies;  // by device
  };

  explicit WatchedDevices(size_t count) {
    EmulatorOptions options;
    options.on_wait = [this] { waits.push_back(queued()); };
    std::vector<std::unique_ptr<gpu::Device>> owned;
    for (size_t p = 0; p < count; ++p) {
      owned.push_back(std::make_unique<gpu::Device>(options));
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
    const auto rows = watched.device().make_rows(options_of(width, 1, size));
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

// ---- the rows of one device

struct Table {
  CachedRowsOptions options;
  CurrentStep<float> step;
  std::unique_ptr<CachedRows> whole, divided;
};

EmulatorOptions disorderly(uint64_t seed) {
  EmulatorOptions options;
  options.seed = seed;
  options.order = gpu::emulated::ScheduleOrder::kRandom;
  options.stream_order = gpu::emulated::StreamOrder::kRandom;
  return options;
}

std::unique_ptr<RowDevice> disorderly_devices(size_t count, uint64_t seed) {
  std::vector<std::unique_ptr<gpu::Device>> devices;
  for (size_t p = 0; p < count; ++p) devices.push_back(std::make_unique<gpu::Device>(disorderly(seed + p)));
  return make_divided_device(std::move(devices));
}

// The same calls of one device and of several, with rows of up to four parameters.
class Twins {
 public:
  explicit Twins(uint64_t seed)
      : random_(seed, 1),
        whole_(make_table_device(std::make_unique<gpu::Device>(EmulatorOptions()))),
        divided_(disorderly_devices(1 + seed % 4, seed)),
        tables_(1 + random_.below(4)) {
    for (Table& table : tables_) {
      const auto width = static_cast<uint32_t>(1 + random_.below(random_.below(2) == 0 ? 8 : 40));
      const uint32_t arrays = static_cast<uint32_t>(random_.below(3));
      table.options = options_of(width, arrays, 32 + static_cast<uint32_t>(random_.below(60)));
      if (random_.below(3) == 0) table.options.rounding = {ValueType::kBf16, true, seed};
      table.step = {SgdStep<float>{0.1f, {0.01f, 0.001f}}, 0.75f, std::nullopt};
      if (arrays > 0) table.step = momentum_step();
      if (arrays > 0 && random_.below(3) == 0) table.step.mean = held_change(3, 1);
      if (random_.below(8) == 0) table.step.step = std::monostate();
      table.whole = whole_->make_rows(table.options);
      table.divided = divided_->make_rows(table.options);
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

  void step_all(uint64_t stamp) {
    std::vector<std::vector<uint64_t>> keys;
    std::vector<std::vector<float>> gradients;
    std::vector<RowsStep> whole, divided;
    for (Table& table : tables_) {
      keys.push_back(present(table));
      gradients.emplace_back(keys.back().size() * table.options.width);
      for (float& value : gradients.back()) value = static_cast<float>(random_.normal());
    }
    for (size_t t = 0; t < tables_.size(); ++t) {
      const RowsStep step = {nullptr, keys[t], stamp, gradients[t].data(), tables_[t].step, 0.5f};
      whole.push_back(step), whole.back().rows = tables_[t].whole.get();
      divided.insert(divided.begin(), step), divided.front().rows = tables_[t].divided.get();
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
    for (size_t t = 0; t < tables_.size(); ++t) {
      whole.push_back({tables_[t].whole.get(), keys[t], expected[t].data()});
      divided.push_back({tables_[t].divided.get(), keys[t], weights[t].data()});
    }
    whole_->read_all(whole);
    divided_->read_all(divided);
    for (size_t t = 0; t < tables_.size(); ++t) ASSERT_EQ(bits_of(weights[t]), bits_of(expected[t]));
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
  std::unique_ptr<RowDevice> whole_, divided_;
  std::vector<Table> tables_;
};

TEST(DividedDevice, RowsAreThoseOfOneDeviceInEveryOrderOfThreadsAndStreams) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Twins twins(seed);
    for (uint64_t stamp = 1; stamp <= 3; ++stamp) ASSERT_NO_FATAL_FAILURE(twins.train(stamp));
  }
}

TEST(DividedDevice, RowsTakeNoMoreMemoryThanItSaysBefore) {
  for (size_t count = 1; count <= 3; ++count) {
    const auto device = disorderly_devices(count, count);
    CachedRowsOptions options = options_of(5, 2, 100);
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

}  // namespace

}  // namespace ps::divided_device_test
