// The row codecs of a device give the bytes, values and rounding errors of the processor, for every type over many shapes.
#include "codec/cuda/device_row_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "codec/codec.h"
#include "config/json.h"
#include "gpu/device_data.h"
#include "test_device.h"

namespace ps {

namespace {

using Floats = std::vector<float>;

// NaNs come out of arithmetic, and devices have other bits for them than processors.
std::vector<uint32_t> bits_of(const Floats& values) {
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(
        std::bit_cast<uint32_t>(std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value));
  return bits;
}

// Numbers of all magnitudes, zeros and equal ones among them; in some draws a few that are not finite.
Floats draw_values(Random& random, size_t size) {
  const uint64_t kind = random.below(5);
  Floats values(size);
  for (float& value : values) {
    const float normal = static_cast<float>(random.normal());
    if (kind == 0) value = normal;
    if (kind == 1) value = std::round(2 * normal) / 2;
    if (kind == 2) value = std::ldexp(normal, static_cast<int>(random.below(280)) - 150);
    if (kind == 3) value = std::copysign(random.below(4) == 0 ? 70'000.0f : 0.0f, normal);
    if (kind == 4) value = random.below(100) == 0 ? std::numeric_limits<float>::infinity() * normal : normal;
  }
  return values;
}

struct Shape {
  int64_t rows, cols;
};

// Many short rows, few long ones, and all between.
Shape draw_shape(Random& random) {
  constexpr int64_t kCols[] = {1, 2, 7, 8, 15, 16, 17, 32, 33, 100, 255, 256, 257, 600};
  const int64_t cols = kCols[random.below(std::size(kCols))];
  return {static_cast<int64_t>(random.below(static_cast<uint64_t>(2000 / cols + 2))), cols};
}

class OnDevice {
 public:
  explicit OnDevice(uint64_t seed) : device_(test_device::by_seed(seed)), stream_(device_) {}

  // `error` is read and written unless it is empty.
  std::vector<char> encode(RowType type, const Floats& values, Floats& error, Shape shape) {
    const auto given = upload(stream_, values);
    const auto errors = upload(stream_, error);
    gpu::DeviceArray<char> bytes(device_,
                                 shape.rows * static_cast<int64_t>(encoded_row_bytes(type, shape.cols)));
    encode_on_device(stream_, type, given.data(), error.empty() ? nullptr : errors.data(), shape.rows,
                     shape.cols, bytes.data());
    error = download(stream_, errors);
    return download(stream_, bytes);
  }

  Floats decode(RowType type, const std::vector<char>& bytes, Shape shape) {
    const auto given = upload(stream_, bytes);
    gpu::DeviceArray<float> values(device_, shape.rows * shape.cols);
    decode_on_device(stream_, type, given.data(), shape.rows, shape.cols, values.data());
    return download(stream_, values);
  }

 private:
  gpu::Device device_;
  gpu::Stream stream_;
};

class DeviceRowCodec : public testing::TestWithParam<RowType> {};

TEST_P(DeviceRowCodec, GivesTheBytesOfTheProcessor) {
  const RowType type = GetParam();
  const RowCodec& processor = row_codec(type, best_cpu_level());
  OnDevice by_lane(0), at_random(1);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(41, seed);
    const Shape shape = draw_shape(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(shape.rows) + " x " +
                 std::to_string(shape.cols));
    const Floats values = draw_values(random, static_cast<size_t>(shape.rows * shape.cols));
    Floats error = seed % 3 == 0 ? Floats() : draw_values(random, values.size()), expected_error = error;
    std::vector<char> expected(static_cast<size_t>(shape.rows) * encoded_row_bytes(type, shape.cols));
    if (error.empty()) {
      processor.encode(values.data(), shape.rows, shape.cols, expected.data());
    } else {
      processor.encode_with_error(values.data(), expected_error.data(), shape.rows, shape.cols,
                                  expected.data());
    }
    OnDevice& device = seed % 2 == 0 ? by_lane : at_random;
    ASSERT_EQ(device.encode(type, values, error, shape), expected);
    ASSERT_EQ(bits_of(error), bits_of(expected_error));
    Floats expected_values(values.size());
    processor.decode(expected.data(), shape.rows, shape.cols, expected_values.data());
    ASSERT_EQ(bits_of(device.decode(type, expected, shape)), bits_of(expected_values));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceRowCodec, testing::ValuesIn(kRowTypes),
                         [](const auto& type) { return std::string(row_type_name(type.param)); });

// Values of a gradient in several codecs, and the rows that have the same bytes.
struct SameBytes {
  const char* codec;
  RowType type;
  Shape shape;
};

TEST(DeviceRowCodecs, GiveTheBytesOfCodecsWithTheSameFormat) {
  Random random(42, 1);
  Floats values(1000), no_error;
  for (float& value : values) value = static_cast<float>(random.normal());
  OnDevice device(0);
  for (const SameBytes& c :
       {SameBytes{R"({"type": "fp16", "error_feedback": false})", RowType::kF16, {1, 1000}},
        {R"({"type": "bf16", "error_feedback": false})", RowType::kBf16, {1, 1000}},
        {R"({"type": "int8", "error_feedback": false, "block": 250})", RowType::kInt8, {4, 250}}}) {
    std::string bytes;
    make_codec(parse_json(c.codec, "codec"), "codec", {.rows = 1, .cols = 1000})->encode(values, bytes);
    const std::vector<char> expected(bytes.begin(), bytes.end());
    EXPECT_EQ(device.encode(c.type, values, no_error, c.shape), expected) << c.codec;
  }
}

}  // namespace

}  // namespace ps
