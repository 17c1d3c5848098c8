// Codecs of gradients that have moved to a device: the bytes, residuals, decoded values and sums of the processor, over many shapes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/random.h"
#include "codec/codec.h"
#include "config/json.h"
#include "device/model_devices.h"
#include "model/cuda/gpu_kernels.h"
#include "model/model_device.h"
#include "support/environment.h"

namespace ps::codec_on_device_test {
namespace {

using Floats = std::vector<float>;

// More by the environment.
uint64_t seeds() {
  return static_cast<uint64_t>(number_from_environment("PS_GPU_SEEDS", tries(200, 4)));
}

std::vector<uint32_t> bits_of(const Floats& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// Numbers of all magnitudes, equal sizes, and mostly zeros; below zero some of them.
Floats draw_values(Random& random, size_t size) {
  const uint64_t kind = random.below(4);
  Floats values(size);
  for (float& value : values) {
    const auto normal = static_cast<float>(random.normal());
    if (kind == 0) value = normal;
    if (kind == 1) value = std::round(2 * normal) / 2;
    if (kind == 2) value = random.below(50) == 0 ? normal : std::copysign(0.0f, normal);
    if (kind == 3) value = std::ldexp(normal, static_cast<int>(random.below(240)) - 130);
  }
  return values;
}

// The memory of a device beside its codecs.
class There {
 public:
  There()
      : model_(make_emulated_model_device()),
        stream_(*stream_of(*model_)),
        codecs_(make_emulated_codec_device(model_)) {}

  CodecDevice& codecs() { return *codecs_; }

  std::shared_ptr<gpu::DeviceArray<float>> send(const Floats& values) {
    auto array = std::make_shared<gpu::DeviceArray<float>>(stream_.device(), std::ssize(values));
    stream_.copy_to_device(array->data(), values.data(), array->bytes());
    stream_.synchronize();
    return array;
  }
  Floats get(const gpu::DeviceArray<float>& array) {
    Floats values(static_cast<size_t>(array.size()));
    stream_.copy_to_host(values.data(), array.data(), array.bytes());
    stream_.synchronize();
    return values;
  }

 private:
  std::shared_ptr<ModelDevice> model_;
  gpu::Stream& stream_;
  std::shared_ptr<CodecDevice> codecs_;
};

std::string state_of(const Codec& codec) {
  std::string state;
  codec.save(state);
  return state;
}

// Some steps of one gradient, whose bytes are then added up.
void compare(Json object, uint64_t seed, There& there) {
  Random random(71, seed);
  const bool is_matrix = object.contains("rank");
  const int64_t cols = is_matrix ? 1 + static_cast<int64_t>(random.below(40)) : 1;
  const int64_t rows =
      1 + static_cast<int64_t>(random.below((seed % 20 == 0 ? 9000 : 1500) / (is_matrix ? 3 : 1))) / cols;
  const auto size = static_cast<size_t>(rows * cols);
  object["error_feedback"] = seed % 4 != 0;
  for (const char* block : {"block", "chunk"}) {
    if (object.contains(block) && seed % 2 == 0) object[block] = 1 + random.below(700);
  }
  if (is_matrix && seed % 2 == 0) object["rank"] = 1 + random.below(6);
  if (object.contains("density") && seed % 3 == 0) object["density"] = 0.001 + 0.999 * random.uniform();
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(size) + " values of " + object.dump());
  const CodecTarget target{.rows = rows, .cols = cols, .seed = seed, .key = random.below(100)};
  const auto here = make_codec(object, "codec", target), moved = make_codec(object, "codec", target);
  moved->move_to(there.codecs());
  std::vector<std::string> encoded(3), expected(3);
  for (size_t step = 0; step < encoded.size(); ++step) {
    Floats values = draw_values(random, size);
    const float scale = step == 0 ? 1.0f : static_cast<float>(random.uniform());
    const auto given = there.send(values);
    for (float& value : values) value *= scale;
    here->encode(values, expected[step]);
    moved->begin_encode_there(given->data(), scale, encoded[step]);
    moved->finish_encode_there(encoded[step]);
    ASSERT_EQ(encoded[step], expected[step]);
    ASSERT_EQ(state_of(*moved), state_of(*here));
    here->decode(expected[step], values);
    for (float& value : values) value /= 0.37f;
    moved->decode_there(encoded[step], 0.37f, given->data());
    there.codecs().wait();
    ASSERT_EQ(bits_of(there.get(*given)), bits_of(values));
  }
  const std::vector<std::string_view> parts(encoded.begin(), encoded.end());
  Floats sums(size);
  here->add_up(parts, sums);
  const auto sums_there = there.send(Floats(size, 1.0f));
  moved->add_up_there(parts, sums_there->data());
  there.codecs().wait();
  ASSERT_EQ(bits_of(there.get(*sums_there)), bits_of(sums));
}

class CodecOnDevice : public testing::TestWithParam<const char*> {};

TEST_P(CodecOnDevice, HasTheBytesTheStateAndTheSumsOfTheProcessor) {
  There there;
  const Json object = parse_json(GetParam(), "codec");
  // Other encodings get a quarter of the seeds, beside the 200 of the default encoding.
  const uint64_t num = object.contains("encoding") ? seeds() / 4 : seeds();
  for (uint64_t seed = 0; seed < num && !testing::Test::HasFatalFailure(); ++seed)
    compare(object, seed, there);
}

INSTANTIATE_TEST_SUITE_P(
    All, CodecOnDevice,
    testing::Values(R"({"type": "int8", "block": 256, "rounding": "stochastic"})",
                    R"({"type": "shared_scale_int", "chunk": 4096, "bits": 8})",
                    R"({"type": "shared_scale_int", "chunk": 300, "bits": 16})",
                    R"({"type": "top_k", "density": 0.01})",
                    R"({"type": "top_k", "density": 0.1, "selection": "exact", "encoding": "index32"})",
                    R"({"type": "top_k", "density": 0.05, "encoding": "varint_f16"})",
                    R"({"type": "top_k", "density": 0.05, "encoding": "varint_int8"})",
                    R"({"type": "top_k", "density": 0.05, "encoding": "varint_int2"})",
                    R"({"type": "low_rank", "rank": 2})", R"({"type": "threshold", "tau": 0.5})",
                    R"({"type": "threshold", "tau": 1e-12})"));

}  // namespace
}  // namespace ps::codec_on_device_test
