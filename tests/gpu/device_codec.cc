// The codecs of a device give the bytes, values and rounding errors of the processor, over many sizes.
#include "codec/cuda/device_codec.h"

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
    for (float& value : values) {
      const float normal = static_cast<float>(random.normal());
      value = seed % 3 == 1 ? std::round(2 * normal) / 2  // equal ones and zeros
                            : std::ldexp(normal, static_cast<int>(random.below(120)) - 90);
    }
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
