// A DeviceTable whose weights have 16 bits, beside state of 32, gives what the CPU gives that rounds weights after each step by
// the same rule, bit for bit, over many shapes; and rows that leave it come back unchanged.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "config/json.h"
#include "gpu/device_data.h"
#include "merged_gradients.h"
#include "optim/kernels/steps.h"
#include "optim/optimizer_plan.h"
#include "optim/step_kernels.h"
#include "support/bits.h"
#include "table/cuda/device_table.h"
#include "table/cuda/table_group.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();
constexpr Decay<float> kDecay = {0.001f, 0.0005f};
constexpr ValueRounding kRoundings[] = {{ValueType::kF16, false, 1},
                                        {ValueType::kF16, true, 2},
                                        {ValueType::kBf16, false, 3},
                                        {ValueType::kBf16, true, 4}};

struct Batch {
  std::vector<uint64_t> keys;
  std::vector<float> gradients;  // [keys, width]
};

// The same rows on the CPU, as vectors of floats in a map.
template <class Step>
class RoundedRows {
 public:
  explicit RoundedRows(const DeviceTableOptions& options) : options_(options), width_(options.width) {}

  std::vector<float>& row(uint64_t key, uint64_t step) {
    auto [found, is_new] = rows_.try_emplace(key);
    if (!is_new) return found->second;
    found->second.assign(width_ * (1 + options_.arrays), 0.0f);
    options_.initializer.fill(key, std::span(found->second).first(width_), best_cpu_level());
    start_state(found->second);
    round(key, step, found->second);
    return found->second;
  }

  // Gradients of a key add up in order.
  void push(const Batch& batch, const Step& constants, uint64_t step) {
    const int64_t width = static_cast<int64_t>(width_);
    for (const auto& [key, sum] : merged_gradients(batch.keys, batch.gradients.data(), width_)) {
      std::vector<float>& values = row(key, step);
      step_kernels<Step>(best_cpu_level())
          .row(constants, {values.data(), values.data() + width, width, width, sum.data(), 0.5f, kNoBound});
      round(key, step, values);
    }
  }

  void round(uint64_t key, uint64_t step, std::vector<float>& values) const {
    const ValueRounding now = options_.rounding.at_step(step);
    for (size_t c = 0; c < width_; ++c)
      values[c] = now.round(values[c], now.row_seed(hash_key(key)), static_cast<uint32_t>(c));
  }

  // The rows of these keys, which are there, or their weights.
  std::vector<float> all(const std::vector<uint64_t>& keys, size_t floats) const {
    std::vector<float> values;
    for (uint64_t key : keys) {
      const std::vector<float>& one = rows_.at(key);
      values.insert(values.end(), one.begin(), one.begin() + static_cast<ptrdiff_t>(floats));
    }
    return values;
  }

  const std::map<uint64_t, std::vector<float>>& rows() const { return rows_; }

 private:
  // The state is that of the weights before they are rounded.
  void start_state(std::vector<float>& row) const {
    const auto& start = options_.initial_state;
    for (size_t c = 0; start.from_weight && c < width_; ++c)
      row[width_ + c] = row[c] == 0 ? 0 : -(row[c] * start.slope + std::copysign(start.l1, row[c]));
  }

  const DeviceTableOptions options_;
  const size_t width_;
  std::map<uint64_t, std::vector<float>> rows_;
};

DeviceTableOptions table_of(uint32_t width, uint32_t arrays, const ValueRounding& rounding) {
  DeviceTableOptions options;
  options.width = width;
  options.arrays = arrays;
  options.rows = 2000;
  options.max_batch = 512;
  options.initializer = {Distribution::kNormal, 0.25, 0.5, 7};
  options.rounding = rounding;
  return options;
}

Batch draw_batch(Random& random, uint32_t width, size_t size) {
  Batch batch;
  for (size_t i = 0; i < size; ++i) batch.keys.push_back(random.below(30) * 0x9e3779b97f4a7c15u - 1);
  batch.gradients.resize(size * width);
  for (float& g : batch.gradients) g = static_cast<float>(random.normal());
  return batch;
}

// A table on a device, and its rows on the CPU.
template <class Step>
class Both {
 public:
  Both(const DeviceTableOptions& options, uint64_t seed)
      : device_(test_device::by_seed(seed)),
        stream_(device_),
        table_(device_, stream_, options),
        cpu_(options),
        width_(options.width) {}

  void push(const Batch& batch, const Step& constants, uint64_t step) {
    auto keys = upload(stream_, batch.keys);
    auto gradients = upload(stream_, batch.gradients);
    gpu::DeviceArray<float> weights(device_, gradients.size());
    table_.set_step(step);
    table_.push(stream_, {keys.data(), keys.size()}, gradients.data(), constants, 0.5f, kNoBound);
    table_.pull(stream_, {keys.data(), keys.size()}, weights.data());
    cpu_.push(batch, constants, step);
    ASSERT_EQ(bits_of(download(stream_, weights)), bits_of(cpu_.all(batch.keys, width_)));
  }

  // Weights and state of all rows.
  std::vector<float> find_rows(const std::vector<uint64_t>& wanted) {
    auto keys = upload(stream_, wanted);
    gpu::DeviceArray<uint8_t> found(device_, keys.size());
    gpu::DeviceArray<uint64_t> scores(device_, keys.size());
    gpu::DeviceArray<float> rows(device_, keys.size() * table_.row_floats());
    table_.find_rows(stream_, {keys.data(), keys.size()}, {found.data(), scores.data(), rows.data()});
    return download(stream_, rows);
  }

  // Rows go out and come back, at another step, into an empty table.
  void compare_rows() {
    std::vector<uint64_t> all;
    for (const auto& [key, row] : cpu_.rows()) all.push_back(key);
    const std::vector<float> expected = cpu_.all(all, table_.row_floats());
    const std::vector<float> there = find_rows(all);
    ASSERT_EQ(bits_of(there), bits_of(expected));
    auto keys = upload(stream_, all);
    auto rows = upload(stream_, there);
    table_.clear(stream_);
    table_.set_step(99);
    table_.insert_and_evict(stream_, {keys.data(), keys.size()}, rows.data());
    ASSERT_EQ(bits_of(find_rows(all)), bits_of(expected));
  }

  // Applies idle steps, up to this one, to the rows.
  void advance(const Optimizer<float>& optimizer, int64_t from) {
    std::vector<uint64_t> all;
    for (const auto& [key, row] : cpu_.rows()) all.push_back(key);
    const int64_t to = optimizer.steps(), width = static_cast<int64_t>(width_);
    const std::vector<IdleChange> change = {*optimizer.idle_change(from, to)};
    auto keys = upload(stream_, all);
    auto which = filled<uint32_t>(stream_, keys.size(), 0);
    auto changes = upload(stream_, change);
    table_.set_step(static_cast<uint64_t>(to));
    TableGroup group(device_, stream_, {&table_});
    const TableAdvance call = {{keys.data(), keys.size()}, which.data(), changes.data(), 1};
    group.advance(stream_, {&call, 1});
    for (uint64_t key : all) {
      std::vector<float>& row = cpu_.row(key, 0);
      optimizer.catch_up({row.data(), row.data() + width, width, width}, from, to);
      cpu_.round(key, static_cast<uint64_t>(to), row);
    }
    ASSERT_EQ(bits_of(find_rows(all)), bits_of(cpu_.all(all, table_.row_floats())));
  }

 private:
  gpu::Device device_;
  gpu::Stream stream_;
  DeviceTable table_;
  RoundedRows<Step> cpu_;
  const size_t width_;
};

// Widths at which rows are read by 8, 4 and single values, with and without padding.
template <class Step>
void compare_widths(const Step& constants, const device_table::InitialState& initial_state = {}) {
  uint64_t seed = 0;
  for (const ValueRounding& rounding : kRoundings) {
    for (uint32_t width : {1u, 3u, 4u, 6u, 8u, 33u, 64u}) {
      SCOPED_TRACE("width " + std::to_string(width) + " rounding " + std::to_string(rounding.seed));
      Random random(++seed, 3);
      DeviceTableOptions options = table_of(width, Step::kArrays, rounding);
      options.initial_state = initial_state;
      Both<Step> both(options, seed);
      for (uint64_t step = 1; step <= 3; ++step) {
        ASSERT_NO_FATAL_FAILURE(both.push(draw_batch(random, width, 25), constants, step));
      }
      ASSERT_NO_FATAL_FAILURE(both.compare_rows());
    }
  }
}

TEST(DeviceTableValues, SgdIsTheCpusBitForBit) {
  compare_widths(SgdStep<float>{0.1f, kDecay});
}
TEST(DeviceTableValues, MomentumIsTheCpusBitForBit) {
  compare_widths(MomentumStep<float, false>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f});
}
TEST(DeviceTableValues, NesterovIsTheCpusBitForBit) {
  compare_widths(MomentumStep<float, true>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f});
}
TEST(DeviceTableValues, AdagradIsTheCpusBitForBit) {
  compare_widths(AdagradStep<float>{0.1f, 1e-6f, kDecay});
}
TEST(DeviceTableValues, DecayedAdagradIsTheCpusBitForBit) {
  compare_widths(DecayedAdagradStep<float>{0.1f, 1e-6f, 0.95f, 0.05f, kDecay});
}
TEST(DeviceTableValues, AdadeltaIsTheCpusBitForBit) {
  compare_widths(AdadeltaStep<float>{1.0f, 1e-6f, 0.95f, 0.05f, kDecay});
}
TEST(DeviceTableValues, RmspropIsTheCpusBitForBit) {
  compare_widths(RmspropStep<float>{0.01f, 1e-6f, 0.95f, 0.05f, kDecay});
}
TEST(DeviceTableValues, AdamaxIsTheCpusBitForBit) {
  compare_widths(AdamaxStep<float>{0.01f, 1e-8f, 0.9f, 0.1f, 0.999f, kDecay});
}
TEST(DeviceTableValues, FtrlIsTheCpusBitForBit) {
  compare_widths(FtrlStep<float>{2.0f, 0.7f, 1.0f, 0.01f, 0.1f, std::numeric_limits<float>::min()},
                 {true, 3.5f, 0.01f});
}
TEST(DeviceTableValues, AdamIsTheCpusBitForBit) {
  compare_widths(AdamStep<float>{0.01f, 5.0f, 1e-8f, 0.9f, 0.1f, 0.999f, 0.001f, kDecay});
}

// Blocks add up the gradients of a key that is given very often.
TEST(DeviceTableValues, KeysGivenVeryOftenAreTheCpusBitForBit) {
  using Step = AdagradStep<float>;
  for (uint32_t width : {3u, 32u}) {
    Random random(width, 4);
    Batch batch = draw_batch(random, width, device_table::kLongRun + 40);
    std::fill(batch.keys.begin(), batch.keys.end() - 20, 17u);
    Both<Step> both(table_of(width, 1, kRoundings[1 + width % 3]), width);
    ASSERT_NO_FATAL_FAILURE(both.push(batch, Step{0.1f, 1e-6f, kDecay}, 1));
    ASSERT_NO_FATAL_FAILURE(both.compare_rows());
  }
}

TEST(DeviceTableValues, IdleStepsAreTheCpusBitForBit) {
  using Step = MomentumStep<float, false>;
  for (const ValueRounding& rounding : kRoundings) {
    for (const Json& type : std::vector<Json>{{{"type", "momentum"}, {"l2", 0.3}},
                                              {{"type", "sgd"}, {"l1", 0.2}, {"l2", 0.3}}}) {
      SCOPED_TRACE(type.dump() + " rounding " + std::to_string(rounding.seed));
      const auto optimizer = make_optimizer_plan(type, "sum").make({});
      for (int step = 0; step < 9; ++step) optimizer->begin_step(0.1);
      Random random(rounding.seed, 5);
      Both<Step> both(table_of(5, 1, rounding), rounding.seed);
      ASSERT_NO_FATAL_FAILURE(both.push(draw_batch(random, 5, 25), Step{0.9f, 0.1f, 0.01f, 0, 0.001f}, 2));
      ASSERT_NO_FATAL_FAILURE(both.advance(*optimizer, 2));
    }
  }
}

// A bucket of 32 rows, whose evicted rows come out as they were trained.
TEST(DeviceTableValues, EvictedRowsAreThoseOfTheCpu) {
  using Step = AdagradStep<float>;
  const Step constants{0.1f, 1e-6f, kDecay};
  for (const ValueRounding& rounding : kRoundings) {
    DeviceTableOptions options = table_of(12, 1, rounding);
    options.rows = 32;
    gpu::Device device(test_device::by_seed(rounding.seed));
    gpu::Stream stream(device);
    DeviceTable table(device, stream, options);
    RoundedRows<Step> cpu(options);
    Random random(rounding.seed, 6);
    gpu::DeviceArray<uint64_t> out_keys(device, 30), out_scores(device, 30);
    auto out_rows = filled<float>(stream, int64_t{30} * table.row_floats(), 0);
    gpu::DeviceArray<uint32_t> count(device, 1);
    for (uint64_t step = 1; step <= 2; ++step) {
      Batch batch = draw_batch(random, 12, 30);
      for (size_t i = 0; i < 30; ++i) batch.keys[i] = 100 * step + i;
      auto keys = upload(stream, batch.keys);
      auto gradients = upload(stream, batch.gradients);
      table.set_step(step);
      table.push(stream, {keys.data(), keys.size()}, gradients.data(), constants, 0.5f, kNoBound,
                 {out_keys.data(), out_scores.data(), out_rows.data(), count.data()});
      cpu.push(batch, constants, step);
      stream.synchronize();
    }
    ASSERT_EQ(download(stream, count)[0], 28u);
    std::vector<uint64_t> gone = download(stream, out_keys);
    gone.resize(28);
    std::vector<float> rows = download(stream, out_rows);
    rows.resize(28 * table.row_floats());
    EXPECT_EQ(bits_of(rows), bits_of(cpu.all(gone, table.row_floats())));
  }
}

TEST(DeviceTableValues, RefusedKeysReadAsNewRowsThatAreRounded) {
  DeviceTableOptions options = table_of(6, 0, kRoundings[3]);
  options.rows = 32;
  gpu::Device device;
  gpu::Stream stream(device);
  DeviceTable table(device, stream, options);
  RoundedRows<SgdStep<float>> cpu(options);
  std::vector<uint64_t> all;
  for (uint64_t key = 0; key < 40; ++key) all.push_back(key), cpu.row(key, 3);
  auto keys = upload(stream, all);
  gpu::DeviceArray<float> weights(device, keys.size() * 6);
  table.set_step(3);
  table.pull(stream, {keys.data(), keys.size()}, weights.data());
  DeviceTableCounts counts;
  table.copy_counts(stream, counts);
  EXPECT_EQ(bits_of(download(stream, weights)), bits_of(cpu.all(all, 6)));
  EXPECT_EQ(counts.refused, 8u);
}

// The bytes of ps-gpu(7): a row of 16 bits a weight, and arrays of state of 32 bits.
TEST(DeviceTableValues, TakeTheMemoryThatThePageSays) {
  const auto bytes_of_row = [](uint32_t width, uint32_t arrays, ValueType type) {
    DeviceTableOptions options = table_of(width, arrays, {type, false, 0});
    options.rows = 32;
    const uint64_t one = DeviceTable::bytes_for(options);
    options.rows = 64;
    return (DeviceTable::bytes_for(options) - one - 4) / 32 - 16;
  };
  EXPECT_EQ(bytes_of_row(64, 0, ValueType::kF32), 256u);
  EXPECT_EQ(bytes_of_row(64, 0, ValueType::kF16), 128u);
  EXPECT_EQ(bytes_of_row(64, 1, ValueType::kBf16), 128u + 256u);
  EXPECT_EQ(bytes_of_row(4, 1, ValueType::kF16), 32u);
  EXPECT_EQ(bytes_of_row(3, 2, ValueType::kF16), 32u);
  EXPECT_EQ(bytes_of_row(1, 0, ValueType::kF16), 16u);
}

TEST(DeviceTableValues, PointersToSuchRowsAreRefused) {
  gpu::Device device;
  gpu::Stream stream(device);
  DeviceTable table(device, stream, table_of(4, 0, kRoundings[0]));
  EXPECT_THROW(table.find_or_insert(stream, {}, nullptr), Error);
}

}  // namespace

}  // namespace ps
