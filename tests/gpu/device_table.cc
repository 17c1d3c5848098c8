// DeviceTable gives what the CPU gives, bit for bit, for every optimizer with a step of its own, over many
// shapes; and what it counts and exports is there.
#include "table/cuda/device_table.h"

#include <gmock/gmock.h>
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
#include "table/cuda/table_group.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();

// Draws the keys and gradients of a call: some keys again and again, the lowest and the highest among them.
struct Draw {
  std::vector<uint64_t> keys;
  std::vector<float> gradients;  // [keys, width]
};

Draw draw_batch(Random& random, uint32_t width) {
  Draw batch;
  batch.keys.resize(random.below(40));
  for (uint64_t& key : batch.keys) {
    const uint64_t n = random.below(30);
    key = n == 0 ? 0 : n == 1 ? ~uint64_t{0} : n * 0x9e3779b97f4a7c15u;
  }
  batch.gradients.resize(batch.keys.size() * width);
  for (float& g : batch.gradients) g = static_cast<float>(random.normal());
  return batch;
}

// The same rows on the CPU: the tables' own initial weights and kernels.
template <class Step>
class CpuRows {
 public:
  explicit CpuRows(const DeviceTableOptions& options) : options_(options), width_(options.width) {}

  std::vector<float>& row(uint64_t key) {
    auto [found, is_new] = rows_.try_emplace(key);
    if (is_new) {
      found->second.assign(width_ * (1 + options_.arrays), 0.0f);
      options_.initializer.fill(key, std::span(found->second).first(width_), best_cpu_level());
      if (options_.initial_state.from_weight) start_state(found->second);
    }
    return found->second;
  }

  // Gradients of a key add up in order.
  void push(const Draw& batch, const Step& step, float scale, float bound) {
    const int64_t width = static_cast<int64_t>(width_);
    for (const auto& [key, sum] : merged_gradients(batch.keys, batch.gradients.data(), width_)) {
      float* weights = row(key).data();
      step_kernels<Step>(best_cpu_level())
          .row(step, {weights, weights + width, width, width, sum.data(), scale, bound});
    }
  }

  size_t size() const { return rows_.size(); }

 private:
  void start_state(std::vector<float>& row) const {
    const auto& start = options_.initial_state;
    for (size_t c = 0; c < width_; ++c) {
      row[width_ + c] = row[c] == 0 ? 0 : -(row[c] * start.slope + std::copysign(start.l1, row[c]));
    }
  }

  const DeviceTableOptions options_;
  const size_t width_;
  std::map<uint64_t, std::vector<float>> rows_;
};

DeviceTableOptions draw_table(Random& random, int arrays) {
  DeviceTableOptions options;
  options.width = static_cast<uint32_t>(1 + random.below(random.below(2) == 0 ? 8 : 70));
  options.arrays = static_cast<uint32_t>(arrays);
  options.rows = 2000;  // no bucket is full
  options.max_batch = 64;
  options.initializer = {static_cast<Distribution>(random.below(4)), 0.25, 0.5, random.next64()};
  return options;
}

// Pulls, pushes and pulls again, and compares all that comes back.
template <class Step>
void compare_with_cpu(const Step& step, bool state_from_weight, uint64_t seed) {
  Random random(seed, 3);
  DeviceTableOptions options = draw_table(random, Step::kArrays);
  if (state_from_weight) options.initial_state = {true, 3.5f, 0.01f};
  const float scale = random.below(2) == 0 ? 1.0f : 0.125f, bound = random.below(2) == 0 ? kNoBound : 0.5f;
  gpu::Device device(test_device::by_seed(seed));
  gpu::Stream stream(device);
  DeviceTable table(device, stream, options);
  CpuRows<Step> cpu(options);
  for (int round = 0; round < 3; ++round) {
    const Draw batch = draw_batch(random, options.width);
    auto keys = upload(stream, batch.keys);
    auto gradients = upload(stream, batch.gradients);
    gpu::DeviceArray<float> weights(device, gradients.size());
    table.push(stream, {keys.data(), keys.size()}, gradients.data(), step, scale, bound);
    table.pull(stream, {keys.data(), keys.size()}, weights.data());
    cpu.push(batch, step, scale, bound);
    std::vector<float> expected;
    for (uint64_t key : batch.keys) {
      const std::vector<float>& row = cpu.row(key);
      expected.insert(expected.end(), row.begin(), row.begin() + options.width);
    }
    ASSERT_EQ(bits_of(download(stream, weights)), bits_of(expected)) << "width " << options.width;
  }
  DeviceTableCounts counts;
  table.copy_counts(stream, counts);
  stream.synchronize();
  EXPECT_EQ(counts.rows, cpu.size());
  EXPECT_EQ(counts.inserted, cpu.size());
  EXPECT_EQ(counts.evicted + counts.refused + counts.erased, 0u);
}

// Shapes a step; all of them together over 200.
constexpr uint64_t kShapes = 24;

template <class Step>
void compare_shapes(const Step& step, bool state_from_weight = false) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(compare_with_cpu(step, state_from_weight, seed));
  }
}

constexpr Decay<float> kDecay = {0.001f, 0.0005f, 0.002f};

TEST(DeviceTable, SgdIsTheCpusBitForBit) {
  compare_shapes(SgdStep<float>{0.1f, kDecay});
}
TEST(DeviceTable, MomentumIsTheCpusBitForBit) {
  compare_shapes(MomentumStep<float, false>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f});
}
TEST(DeviceTable, NesterovIsTheCpusBitForBit) {
  compare_shapes(MomentumStep<float, true>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f});
}
TEST(DeviceTable, AdagradIsTheCpusBitForBit) {
  compare_shapes(AdagradStep<float>{0.1f, 1e-6f, kDecay});
}
TEST(DeviceTable, DecayedAdagradIsTheCpusBitForBit) {
  compare_shapes(DecayedAdagradStep<float>{0.1f, 1e-6f, 0.95f, 0.05f, kDecay});
}
TEST(DeviceTable, AdadeltaIsTheCpusBitForBit) {
  compare_shapes(AdadeltaStep<float>{1.0f, 1e-6f, 0.95f, 0.05f, kDecay});
}
TEST(DeviceTable, RmspropIsTheCpusBitForBit) {
  compare_shapes(RmspropStep<float>{0.01f, 1e-6f, 0.95f, 0.05f, kDecay});
}
TEST(DeviceTable, AdamIsTheCpusBitForBit) {
  compare_shapes(AdamStep<float>{0.01f, 5.0f, 1e-8f, 0.9f, 0.1f, 0.999f, 0.001f, kDecay});
}
TEST(DeviceTable, AdamaxIsTheCpusBitForBit) {
  compare_shapes(AdamaxStep<float>{0.01f, 1e-8f, 0.9f, 0.1f, 0.999f, kDecay});
}
TEST(DeviceTable, FtrlIsTheCpusBitForBit) {
  compare_shapes(FtrlStep<float>{2.0f, 0.7f, 1.0f, 0.01f, 0.1f, std::numeric_limits<float>::min()}, true);
}

// Pushes and pulls a batch of these keys, in random order, with random gradients, and compares what comes back.
void compare_keys(std::vector<uint64_t> keys, uint32_t width, Random& random) {
  const AdagradStep<float> step{0.1f, 1e-6f, kDecay};
  DeviceTableOptions options;
  options.width = width;
  options.arrays = 1;
  options.rows = 1 << 12;
  options.max_batch = static_cast<uint32_t>(keys.size());
  gpu::Device device(test_device::by_seed(width));
  gpu::Stream stream(device);
  DeviceTable table(device, stream, options);
  CpuRows<AdagradStep<float>> cpu(options);
  for (size_t i = 1; i < keys.size(); ++i) std::swap(keys[i], keys[random.below(i + 1)]);
  Draw batch;
  batch.keys = keys;
  batch.gradients.resize(keys.size() * width);
  for (float& g : batch.gradients) g = static_cast<float>(random.normal());
  auto given = upload(stream, batch.keys);
  auto gradients = upload(stream, batch.gradients);
  gpu::DeviceArray<float> weights(device, gradients.size());
  table.push(stream, {given.data(), given.size()}, gradients.data(), step, 0.5f, kNoBound);
  table.pull(stream, {given.data(), given.size()}, weights.data());
  cpu.push(batch, step, 0.5f, kNoBound);
  std::vector<float> expected;
  for (uint64_t key : batch.keys) {
    const std::vector<float>& row = cpu.row(key);
    expected.insert(expected.end(), row.begin(), row.begin() + width);
  }
  ASSERT_EQ(bits_of(download(stream, weights)), bits_of(expected)) << "width " << width;
}

// Some keys are given so often that blocks add up their gradients, in the order of a thread that works alone.
TEST(DeviceTable, KeysGivenVeryOftenAreTheCpusBitForBit) {
  constexpr size_t kLong = device_table::kLongRun;
  for (uint32_t width : {1u, 3u, 4u, 32u, 33u, 70u, 128u}) {
    Random random(width, 7);
    std::vector<uint64_t> keys;
    for (size_t copies : {kLong, kLong + 1, 3 * kLong + random.below(64)})
      keys.insert(keys.end(), copies, random.next64());
    for (size_t i = 0; i < 20; ++i) keys.push_back(random.below(10));
    ASSERT_NO_FATAL_FAILURE(compare_keys(keys, width, random));
  }
}

// Keys are sorted by half their hashes first, which begin alike here.  All of them together fit into a bucket.
TEST(DeviceTable, KeysWhoseHashesBeginAlikeAreTheCpusBitForBit) {
  for (uint32_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 8);
    std::vector<uint64_t> keys;
    const uint64_t num_prefixes = 1 + random.below(5);
    for (uint64_t n = 0; n < num_prefixes; ++n) {
      const uint64_t prefix = random.next64() << 32, distinct = 1 + random.below(20 / num_prefixes);
      for (uint64_t copies = random.below(90); copies > 0; --copies)
        keys.push_back(device_table::key_of_hash(prefix | random.below(distinct)));
    }
    for (uint64_t others = random.below(20); others > 0; --others) keys.push_back(random.below(10));
    if (keys.empty()) continue;
    ASSERT_NO_FATAL_FAILURE(compare_keys(keys, 1 + seed % 5, random));
  }
}

// Rows with as many state arrays as the optimizer has, which sat out some of its steps.
class IdleRows {
 public:
  IdleRows(const Json& optimizer, uint64_t seed)
      : random_(seed, 5),
        optimizer_(make_optimizer_plan(optimizer, "sum").make({})),
        options_(draw_table(random_, optimizer_->state_arrays())),
        device_(test_device::by_seed(seed)),
        keys_(20),
        which_(keys_.size()) {
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = i * 0x9e3779b97f4a7c15u - 1;
    for (uint32_t& one : which_)
      one = random_.below(4) == 0 ? kNone : static_cast<uint32_t>(random_.below(3));
    const int64_t steps = static_cast<int64_t>(3 + random_.below(100));
    for (int64_t step = 0; step < steps; ++step)
      optimizer_->begin_step(0.1 / static_cast<double>(1 + step / 3));
    from_ = {0, steps / 2, steps - 1};
    rows_.resize(keys_.size() * options_.width * (1 + options_.arrays));
    for (float& value : rows_) value = static_cast<float>(random_.normal());
  }

  // The device brings rows up to date, and the CPU.
  void compare() {
    std::vector<IdleChange> changes;
    for (int64_t from : from_) changes.push_back(*optimizer_->idle_change(from, optimizer_->steps()));
    DeviceTable table(device_, stream_, options_);
    auto keys = upload(stream_, keys_);
    auto rows = upload(stream_, rows_);
    auto which = upload(stream_, which_);
    auto on_device = upload(stream_, changes);
    gpu::DeviceArray<uint8_t> found(device_, keys.size());
    gpu::DeviceArray<uint64_t> scores(device_, keys.size());
    table.insert_and_evict(stream_, {keys.data(), keys.size()}, rows.data());
    TableGroup group(device_, stream_, {&table});
    const TableAdvance call = {{keys.data(), keys.size()}, which.data(), on_device.data(), kScore};
    group.advance(stream_, {&call, 1});
    table.find_rows(stream_, {keys.data(), keys.size()}, {found.data(), scores.data(), rows.data()});
    const std::vector<float> advanced = download(stream_, rows);
    catch_up();
    ASSERT_EQ(bits_of(advanced), bits_of(rows_)) << "width " << options_.width;
    const std::vector<uint64_t> all_scores = download(stream_, scores);
    for (size_t i = 0; i < keys_.size(); ++i) ASSERT_EQ(all_scores[i] == kScore, which_[i] != kNone);
  }

 private:
  static constexpr uint32_t kNone = device_table::kNoSource;
  static constexpr uint64_t kScore = 77;

  void catch_up() {
    const int64_t width = options_.width;
    for (size_t i = 0; i < keys_.size(); ++i) {
      float* const row = rows_.data() + i * rows_.size() / keys_.size();
      if (which_[i] == kNone) continue;
      optimizer_->catch_up({row, row + width, width, width}, from_[which_[i]], optimizer_->steps());
    }
  }

  Random random_;
  const std::unique_ptr<Optimizer<float>> optimizer_;
  const DeviceTableOptions options_;
  gpu::Device device_;
  gpu::Stream stream_{device_};
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> which_;
  std::vector<int64_t> from_;
  std::vector<float> rows_;
};

TEST(DeviceTable, IdleStepsAreTheCpusBitForBit) {
  for (const Json& optimizer :
       std::vector<Json>{{{"type", "sgd"}, {"l2", 0.01}},
                         {{"type", "adagrad"}, {"l1", 0.02}, {"l2", 0.01}},
                         {{"type", "adam"}, {"l1", 0.02}, {"l2", 0.01}, {"l2_mode", "coupled"}},
                         {{"type", "momentum"}},
                         {{"type", "momentum"}, {"l2", 0.03}, {"l2_mode", "decoupled"}},
                         {{"type", "momentum"}, {"nesterov", true}, {"l2", 0.03}},
                         {{"type", "adagrad"}, {"average", Json::object()}},
                         {{"type", "sgd"}, {"l2", 0.01}, {"average", Json::object()}},
                         {{"type", "momentum"}, {"l2", 0.03}, {"average", Json::object()}}}) {
    for (uint64_t seed = 0; seed < kShapes; ++seed) {
      SCOPED_TRACE(optimizer.dump() + " seed " + std::to_string(seed));
      ASSERT_NO_FATAL_FAILURE(IdleRows(optimizer, seed).compare());
    }
  }
}

TEST(DeviceTable, TakesTheMemoryItSays) {
  for (uint32_t width : {1u, 3u, 8u, 64u}) {
    DeviceTableOptions options;
    options.width = width;
    options.arrays = 2;
    options.rows = 1000;
    options.max_batch = 100;
    gpu::Device device;
    gpu::Stream stream(device);
    const uint64_t before = device.memory().free_bytes;
    DeviceTable table(device, stream, options);
    const uint64_t taken = before - device.memory().free_bytes;
    EXPECT_EQ(table.capacity(), 1024u);
    const uint64_t rounding = 7 * test_device::kAllocationUnit;  // of seven arrays
    EXPECT_GE(taken + (test_device::kReusesMemory ? rounding : 0), DeviceTable::bytes_for(options));
    EXPECT_LT(taken, DeviceTable::bytes_for(options) + rounding);
    EXPECT_EQ(DeviceTable::rows_for(DeviceTable::bytes_for(options), options), 1024u);
    EXPECT_EQ(DeviceTable::rows_for(DeviceTable::bytes_for(options) - 1, options), 992u);
    EXPECT_EQ(DeviceTable::rows_for(100, options), 0u);
  }
}

TEST(DeviceTable, RefusesWhatNoTableCanBe) {
  gpu::Device device;
  gpu::Stream stream(device);
  const auto error = [&](uint32_t width, uint32_t arrays, uint64_t rows, uint32_t max_batch) -> std::string {
    DeviceTableOptions options;
    options.width = width;
    options.arrays = arrays;
    options.rows = rows;
    options.max_batch = max_batch;
    try {
      DeviceTable table(device, stream, options);
    } catch (const Error& refused) {
      return refused.message();
    }
    return "";
  };
  EXPECT_THAT(error(0, 0, 32, 8), testing::HasSubstr("rows of 0 weights"));
  EXPECT_THAT(error(4, 9, 32, 8), testing::HasSubstr("9 arrays of state"));
  EXPECT_THAT(error(4, 0, 0, 8), testing::HasSubstr("0 rows, expected"));
  EXPECT_THAT(error(4, 0, uint64_t{1} << 40, 8), testing::HasSubstr("rows, expected"));
  EXPECT_THAT(error(4, 0, 32, 0), testing::HasSubstr("calls of 0 keys"));
  EXPECT_THAT(error(1 << 20, 8, 32 << 10, 8), testing::HasSubstr("no device memory"));
  EXPECT_EQ(error(4, 1, 32, 8), "");
}

TEST(DeviceTable, PointersOfFindOrInsertAreTheRows) {
  DeviceTableOptions options;
  options.width = 5;
  options.rows = 64;
  options.max_batch = 8;
  options.initializer = {Distribution::kUniform, 0, 1, 7};
  gpu::Device device;
  gpu::Stream stream(device);
  DeviceTable table(device, stream, options);
  const std::vector<uint64_t> wanted = {5, 9, 5};
  auto keys = upload(stream, wanted);
  gpu::DeviceArray<float*> pointers(device, 3);
  table.find_or_insert(stream, {keys.data(), 3}, pointers.data());
  const std::vector<float*> rows = download(stream, pointers);
  EXPECT_EQ(rows[0], rows[2]);
  EXPECT_NE(rows[0], rows[1]);
  std::vector<float> weights(5), expected(5);
  stream.copy_to_host(weights.data(), rows[1], 5 * sizeof(float));
  stream.synchronize();
  options.initializer.fill(9, expected, best_cpu_level());
  EXPECT_EQ(weights, expected);
}

TEST(DeviceTable, CallsOfTooManyKeysAndOfNoScoresAreRefused) {
  DeviceTableOptions options;
  options.max_batch = 4;
  options.score = EvictionScore::kGiven;
  gpu::Device device;
  gpu::Stream stream(device);
  DeviceTable table(device, stream, options);
  gpu::DeviceArray<uint64_t> keys(device, 5);
  gpu::DeviceArray<float> weights(device, 5);
  EXPECT_THROW(table.pull(stream, {keys.data(), 5, keys.data()}, weights.data()), Error);
  EXPECT_THROW(table.pull(stream, {keys.data(), 4}, weights.data()), Error);
  EXPECT_THROW(table.push(stream, {keys.data(), 4, keys.data()}, weights.data(), AdagradStep<float>{}, 1, 1),
               Error);
}

}  // namespace

}  // namespace ps
