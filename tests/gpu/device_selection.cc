// DeviceSelector selects what the processor selects, bit for bit, over many shapes and inputs, and its step of Deep
// Gradient Compression leaves the same state.
#include "codec/cuda/device_selection.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "codec/dgc.h"
#include "gpu/device_data.h"
#include "support/bits.h"
#include "support/environment.h"
#include "test_device.h"

namespace ps {

namespace {

using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint32_t kFewTiles = 8;  // tiles then have several turns of a warp

// Values of several kinds, normal ones among them: equal sizes, few that are not zero, all the large ones in one
// place, and sizes of all magnitudes.
Floats draw_values(Random& random, size_t size) {
  const uint64_t kind = random.below(5);
  const size_t hill = size == 0 ? 0 : random.below(size);
  Floats values(size);
  for (size_t i = 0; i < size; ++i) {
    const float normal = static_cast<float>(random.normal());
    if (kind == 0) values[i] = normal;
    if (kind == 1) values[i] = std::round(2 * normal) / 2;
    if (kind == 2) values[i] = random.below(50) == 0 ? normal : std::copysign(0.0f, normal);
    if (kind == 3) values[i] = i >= hill && i < hill + 900 ? 100 * normal : normal;
    if (kind == 4) values[i] = std::ldexp(normal, static_cast<int>(random.below(280)) - 150);
  }
  return values;
}

uint64_t draw_count(Random& random, uint64_t size) {
  const uint64_t shares[] = {size, 0, 1, size / 1000, size / 100, size / 10, size / 2};
  return std::min(size, shares[random.below(std::size(shares))]);
}

std::string name_of(Selection kind) {
  return kind == Selection::kExact ? "exact" : "sampled";
}

// A selection on a device and on the processor.  `shift`: the values begin so many floats behind a multiple of 16 bytes.
struct Case {
  uint64_t seed = 0;
  Selection kind = Selection::kExact;
  uint64_t count = 0, draw = 1, shift = 0;
  uint32_t most_tiles = DeviceSelector::kMostTiles;
};

// The device of a seed, with a stream.
struct SeededDevice {
  explicit SeededDevice(uint64_t seed) : device(test_device::by_seed(seed)), stream(device) {}

  gpu::Device device;
  gpu::Stream stream;
};

class DeviceSelection : public testing::Test {
 protected:
  SeededDevice& device(uint64_t seed) { return seed % 2 == 0 ? by_lane_ : at_random_; }
  SparseVector on_device(const Case& c, const Floats& values);
  void expect_processors_selection(const Case& c, const Floats& values);

 private:
  SeededDevice by_lane_{0}, at_random_{1};  // schedules of a random order differ from launch to launch
};

SparseVector DeviceSelection::on_device(const Case& c, const Floats& values) {
  gpu::Stream& stream = device(c.seed).stream;
  gpu::Device& device = stream.device();
  Floats shifted(c.shift, 1e30f);
  shifted.insert(shifted.end(), values.begin(), values.end());
  const auto given = upload(stream, shifted);
  const int64_t room = static_cast<int64_t>(c.count);
  gpu::DeviceArray<uint32_t> index(device, room), size(device, 1);
  gpu::DeviceArray<float> value(device, room);
  DeviceSelector selector(device, c.kind, c.most_tiles);
  selector.select(stream, given.data() + c.shift, values.size(), c.count, c.draw,
                  {index.data(), value.data(), size.data()});
  SparseVector part{download(stream, index), download(stream, value)};
  const uint32_t selected = download(stream, size)[0];
  part.index.resize(selected), part.value.resize(selected);
  EXPECT_EQ(bits_of(download(stream, given)), bits_of(shifted));
  return part;
}

void expect_same(const SparseVector& found, const SparseVector& expected) {
  ASSERT_EQ(found.index, expected.index);
  ASSERT_EQ(bits_of(found.value), bits_of(expected.value));
}

void DeviceSelection::expect_processors_selection(const Case& c, const Floats& values) {
  SCOPED_TRACE(name_of(c.kind) + " " + std::to_string(c.count) + " of " + std::to_string(values.size()) +
               ", seed " + std::to_string(c.seed) + ", tiles " + std::to_string(c.most_tiles));
  SparseVector expected;
  Selector(c.kind, best_cpu_level()).select(values, c.count, c.draw, expected);
  expect_same(on_device(c, values), expected);
}

TEST_F(DeviceSelection, SelectsWhatTheProcessorSelects) {
  constexpr uint64_t kSizes[] = {0, 1, 2, 3, 31, 127, 511, 512, 513, 700, 2049, 5000};
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(240, 4)); ++seed) {
    Random random(31, seed);
    const uint64_t size = seed % 3 == 0 ? kSizes[random.below(std::size(kSizes))] : random.below(6000);
    const Case c{.seed = seed,
                 .kind = seed % 4 < 2 ? Selection::kExact : Selection::kSampled,
                 .count = draw_count(random, size),
                 .draw = random.next64(),
                 .shift = random.below(5),
                 .most_tiles = seed % 5 == 0 ? 1 : kFewTiles};
    expect_processors_selection(c, draw_values(random, size));
    if (HasFatalFailure()) return;
  }
}

// These have a sample: 4096 of the values at least are read before the pass over all.
TEST_F(DeviceSelection, SelectsWhatTheProcessorSelectsFromASample) {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(60, 4)); ++seed) {
    Random random(32, seed);
    const uint64_t size = 16'384 + random.below(30'000);
    const uint64_t count = seed % 7 == 0 ? size : size / (1 + random.below(40));
    ASSERT_TRUE(count < 1024 || selection_sample(size, count).num_lines > 0);
    const Case c{.seed = seed,
                 .kind = seed % 4 < 2 ? Selection::kExact : Selection::kSampled,
                 .count = count,
                 .draw = random.next64(),
                 .shift = seed % 3 == 0 ? random.below(5) : 0,
                 .most_tiles = seed % 5 == 0 ? DeviceSelector::kMostTiles : kFewTiles};
    expect_processors_selection(c, draw_values(random, size));
    if (HasFatalFailure()) return;
  }
}

// The sample's threshold is then above most of what is to be selected, and all values are read again.
TEST_F(DeviceSelection, CollectsAgainWhereTheSampleIsNotLikeTheRest) {
  constexpr uint64_t kSize = 20'000, kCount = 1200, kDraw = 5;
  const SelectionSample sample = selection_sample(kSize, kCount);
  ASSERT_GT(sample.num_lines, 0u);
  Random random(33, 1);
  Floats values(kSize);
  for (float& value : values) value = static_cast<float>(random.normal());
  for (uint64_t n = 0; n < sample.num_lines; ++n) {
    for (uint64_t i = 0; i < SelectionSample::kLine; ++i) values[sample.line(kDraw, n) + i] *= 0.125f;
  }
  for (Selection kind : {Selection::kSampled, Selection::kExact}) {
    expect_processors_selection({.kind = kind, .count = kCount, .draw = kDraw, .most_tiles = kFewTiles},
                                values);
  }
}

TEST_F(DeviceSelection, SizesOfInfinitiesAndNansAreAboveAllOthers) {
  Random random(34, 1);
  for (uint64_t size : {600u, 20'000u}) {
    for (uint64_t odd : {size / 1000 + 1, size / 20, size / 3, size}) {
      Floats values(size);
      for (float& value : values) value = static_cast<float>(random.normal());
      for (uint64_t n = 0; n < odd; ++n) {
        const float nan = std::bit_cast<float>(0x7fc00000u | random.next32() % 100);
        const float infinite = n % 2 == 0 ? kInfinity : -kInfinity;
        values[odd == size ? n : random.below(size)] = n % 3 == 0 ? nan : infinite;
      }
      for (Selection kind : {Selection::kSampled, Selection::kExact}) {
        expect_processors_selection({.seed = odd, .kind = kind, .count = size / 15, .most_tiles = kFewTiles},
                                    values);
      }
    }
  }
}

TEST_F(DeviceSelection, TakesTheMemoryThatItSays) {
  constexpr uint64_t kSize = 20'000, kCount = 500;
  gpu::Stream& stream = device(0).stream;
  const auto values = filled<float>(stream, kSize, 1);
  gpu::DeviceArray<uint32_t> index(stream.device(), kCount), size(stream.device(), 1);
  gpu::DeviceArray<float> value(stream.device(), kCount);
  DeviceSelector selector(stream.device(), Selection::kSampled);
  const uint64_t free_bytes = stream.device().memory().free_bytes;
  selector.select(stream, values.data(), kSize, kCount, 1, {index.data(), value.data(), size.data()});
  const uint64_t taken = free_bytes - stream.device().memory().free_bytes;
  const uint64_t said = DeviceSelector::bytes_for(kSize, kCount);
  EXPECT_GE(taken + (test_device::kReusesMemory ? said : 0), said);
  EXPECT_LT(taken, said + test_device::kAllocationUnit);  // devices round up
  constexpr uint64_t kLarge = 64 << 20, kTiles = DeviceSelector::kMostTiles, kState = 9000;
  EXPECT_LT(DeviceSelector::bytes_for(kLarge, kLarge / 1000), 32 * kLarge / 1000 + 300 * kTiles + kState);
  stream.synchronize();
}

// Steps of Deep Gradient Compression, for both.
struct DgcCase {
  uint64_t seed = 0, elements = 0;
  DgcOptions options = {};
  float scale = 1, rate = 0.1f;
};

DgcCase draw_case(uint64_t seed) {
  Random random(35, seed);
  DgcCase c{.seed = seed, .elements = seed % 3 == 0 ? 17'000 + random.below(4000) : 1 + random.below(3000)};
  const double sparsities[] = {0.999, 0.99, 0.9, 0.5};
  c.options.sparsity = {sparsities[random.below(4)]};
  c.options.exclude = "none";
  c.options.selection = random.below(2) == 0 ? "exact" : "sampled";
  c.options.encoding = random.below(3) == 0 ? "varint_f16" : "index32";
  c.options.factor_masking = random.below(4) > 0;
  c.options.nesterov = random.below(2) == 0;
  c.options.l2 = random.below(2) == 0 ? 0 : 1e-2;
  c.scale = random.below(2) == 0 ? 1 : 0.37f;
  return c;
}

// The state of a trainer on a device.  The weights must outlive the first step.
class DeviceDgc {
 public:
  DeviceDgc(gpu::Stream& stream, const DgcCase& c, const Floats& weights)
      : case_(c),
        device_(stream.device()),
        stream_(stream),
        selector_(device_, c.options.selection == "exact" ? Selection::kExact : Selection::kSampled,
                  kFewTiles),
        weights_(upload(stream_, weights)),
        velocity_(filled<float>(stream_, size(), 0)),
        residual_(filled<float>(stream_, size(), 0)),
        index_(device_, size()),
        numbers_(device_, 2),
        value_(device_, size()) {}

  // Returns what is sent.
  SparseVector step(int64_t number, const Floats& gradient, uint64_t count) {
    const auto given = upload(stream_, gradient);
    const DgcStep step{.gradient = given.data(),
                       .weights = case_.options.l2 > 0 ? weights_.data() : nullptr,
                       .velocity = velocity_.data(),
                       .residual = residual_.data(),
                       .scale = case_.scale,
                       .rate = case_.rate,
                       .momentum = static_cast<float>(case_.options.momentum),
                       .l2 = static_cast<float>(case_.options.l2),
                       .nesterov = case_.options.nesterov};
    const uint64_t draw = (hash_key(0) ^ hash_key(~uint64_t{0})) + hash_key(static_cast<uint64_t>(number));
    selector_.step(stream_, step, case_.elements, count, draw,
                   {.vector = {index_.data(), value_.data(), numbers_.data()},
                    .largest = numbers_.data() + 1,
                    .half = case_.options.encoding == "varint_f16",
                    .factor_masking = case_.options.factor_masking});
    SparseVector part{download(stream_, index_), download(stream_, value_)};
    const std::vector<uint32_t> numbers = download(stream_, numbers_);
    part.index.resize(numbers[0]), part.value.resize(numbers[0]);
    largest_ = numbers[1];
    return part;
  }

  uint32_t largest() const { return largest_; }
  Floats velocity() { return download(stream_, velocity_); }
  Floats residual() { return download(stream_, residual_); }

 private:
  int64_t size() const { return static_cast<int64_t>(case_.elements); }

  const DgcCase case_;
  gpu::Device& device_;
  gpu::Stream& stream_;
  DeviceSelector selector_;
  gpu::DeviceArray<float> weights_, velocity_, residual_;
  gpu::DeviceArray<uint32_t> index_, numbers_;
  gpu::DeviceArray<float> value_;
  uint32_t largest_ = 0;
};

TEST_F(DeviceSelection, StepsOfDgcLeaveWhatTheProcessorsLeave) {
  int64_t checked = 0;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(70, 4)); ++seed) {
    const DgcCase c = draw_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(c.elements) + " elements");
    Random random(36, seed);
    DeepGradientCompression expected(c.options, {.shape = {static_cast<int64_t>(c.elements)}});
    Floats weights(c.elements);
    for (float& w : weights) w = static_cast<float>(random.normal());
    DeviceDgc on_device(device(seed).stream, c, weights);
    for (int64_t step = 0; step < 3; ++step) {
      const uint64_t count = expected.selected();
      if (count >= c.elements) break;
      Floats gradient(c.elements);
      for (float& g : gradient) g = static_cast<float>(random.normal());
      std::string bytes;
      expected.step_sparse({gradient, c.scale, c.rate}, weights, bytes);
      const SparseVector sent = on_device.step(step, gradient, count);
      ASSERT_NO_FATAL_FAILURE(expect_same(sent, expected.sent()));
      ASSERT_EQ(bits_of(on_device.velocity()), bits_of(expected.velocity()));
      ASSERT_EQ(bits_of(on_device.residual()), bits_of(expected.residual()));
      ASSERT_LT(on_device.largest(), kInfiniteSize);
      ++checked;
    }
  }
  EXPECT_GE(checked, tries(180, 4));
}

TEST_F(DeviceSelection, StepsOfDgcTellThatAMoveIsNotFinite) {
  for (float odd : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    DgcCase c{.elements = 700};
    const Floats weights(c.elements);
    DeviceDgc on_device(device(0).stream, c, weights);
    Floats gradient(c.elements, 0.5f);
    gradient[699] = odd;
    on_device.step(0, gradient, 7);
    EXPECT_GE(on_device.largest(), kInfiniteSize);
  }
}

}  // namespace

}  // namespace ps
