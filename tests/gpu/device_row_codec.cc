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
#include "support/environment.h"
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
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(200, 4)); ++seed) {
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

// ---- gradients

class DeviceCodec : public testing::TestWithParam<const char*> {};

// A gradient of several steps, with the residual between them.
void compare_steps(const char* codec, uint64_t seed, gpu::Stream& stream) {
  Random random(42, seed);
  const int64_t size = static_cast<int64_t>(random.below(1100));
  Json object = parse_json(codec, "codec");
  object["error_feedback"] = seed % 4 != 0;
  const bool one_bit = object.at("type") == "one_bit";
  if (object.contains("block") && seed % 2 == 0)
    object["block"] = one_bit ? 512 * (1 + random.below(3)) : 1 + random.below(700);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(size) + " values of " + object.dump());
  const auto processor = make_codec(object, "codec", {.rows = 1, .cols = std::max<int64_t>(size, 1)});
  const CodecFormat format = processor->format_there().value();
  const auto odd = filled<uint64_t>(stream, 1, 0xff);
  const auto residual = filled<float>(stream, size, 0);
  Floats sums(static_cast<size_t>(size)), decoded(sums.size());
  const auto sums_there = filled<float>(stream, size, 0);
  for (int step = 0; step < 3 && size > 0; ++step) {
    Floats values(sums.size());
    for (float& value : values)
      value = std::ldexp(static_cast<float>(random.normal()), static_cast<int>(random.below(120)) - 90);
    const float scale = step == 0 ? 1.0f : static_cast<float>(random.uniform());
    Floats scaled = values;
    for (float& value : scaled) value *= scale;
    std::string expected;
    processor->encode(scaled, expected);
    const auto given = upload(stream, values);
    const gpu::DeviceArray<char> encoded(stream.device(), static_cast<int64_t>(expected.size()));
    encode_gradient(stream, format,
                    {given.data(), scale, processor->keeps_residual() ? residual.data() : nullptr, size,
                     odd.data(), static_cast<uint64_t>(step)},
                    encoded.data());
    const std::vector<char> bytes = download(stream, encoded);
    ASSERT_EQ(std::string(bytes.begin(), bytes.end()), expected);
    if (processor->keeps_residual()) {
      const Floats left(processor->residual().begin(), processor->residual().end());
      ASSERT_EQ(bits_of(download(stream, residual)), bits_of(left));
    }
    ASSERT_EQ(download(stream, odd)[0], UINT64_MAX);
    processor->decode(expected, decoded);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = step == 0 ? decoded[i] : sums[i] + decoded[i];
    (step == 0 ? set_decoded : add_decoded)(stream, format, encoded.data(), size, sums_there.data());
    ASSERT_EQ(bits_of(download(stream, sums_there)), bits_of(sums));
    for (float& value : decoded) value /= 0.37f;
    decode_gradient(stream, format, encoded.data(), size, 0.37f, given.data());
    ASSERT_EQ(bits_of(download(stream, given)), bits_of(decoded));
  }
}

TEST_P(DeviceCodec, GivesTheBytesOfTheProcessorAndItsResiduals) {
  gpu::Device by_lane(test_device::by_seed(0)), at_random(test_device::by_seed(1));
  gpu::Stream first(by_lane), second(at_random);
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(200, 4)); ++seed) {
    compare_steps(GetParam(), seed, seed % 2 == 0 ? first : second);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceCodec,
                         testing::Values(R"({"type": "fp16"})", R"({"type": "bf16"})",
                                         R"({"type": "int8", "block": 256})",
                                         R"({"type": "int8", "block": 256, "rounding": "stochastic"})",
                                         R"({"type": "shared_scale_int", "bits": 8})",
                                         R"({"type": "shared_scale_int", "bits": 16})",
                                         R"({"type": "one_bit", "block": 512})"));

// Some sums are not finite for what was left of former steps.
TEST(DeviceCodecs, TellTheFirstSumThatIsNotFinite) {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(40, 4)); ++seed) {
    Random random(43, seed);
    const size_t size = 1 + random.below(2000);
    Floats values(size, 1.0f), left(size, 2.0f);
    uint64_t first = UINT64_MAX;
    for (uint64_t n = random.below(4); n > 0; --n) {
      const uint64_t at = random.below(size);
      values[at] = n % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 3e38f;
      left[at] = 2e38f;
      first = std::min(first, at);
    }
    gpu::Device device(test_device::by_seed(seed));
    gpu::Stream stream(device);
    const auto odd = filled<uint64_t>(stream, 1, 0xff);
    const auto given = upload(stream, values);
    const gpu::DeviceArray<char> encoded(device, static_cast<int64_t>(6 * size + 128));  // enough for all
    for (const CodecFormat& format : {CodecFormat{.kind = CodecFormat::Kind::kF16, .block = 1},
                                      {.kind = CodecFormat::Kind::kInt8, .block = 300},
                                      {.kind = CodecFormat::Kind::kOneBit, .block = 512}}) {
      const auto residual = upload(stream, left);
      stream.fill(odd.data(), 0xff, odd.bytes());
      encode_gradient(stream, format,
                      {given.data(), 1.0f, residual.data(), static_cast<int64_t>(size), odd.data()},
                      encoded.data());
      ASSERT_EQ(download(stream, odd)[0], first) << "seed " << seed;
    }
  }
}

}  // namespace

}  // namespace ps
