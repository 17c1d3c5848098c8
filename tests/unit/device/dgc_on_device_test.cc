// Deep Gradient Compression of gradients on a device: the bytes and the state of the processor's, over many shapes and encodings.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/random.h"
#include "codec/dgc.h"
#include "device/model_devices.h"
#include "model/model_device.h"

namespace ps::dgc_on_device_test {
namespace {

using Floats = std::vector<float>;

// More by the environment.
uint64_t seeds() {
  const char* asked = std::getenv("PS_GPU_SEEDS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 200;
}

Floats draw_gradient(Random& random, size_t size) {
  const uint64_t kind = random.below(3);
  Floats values(size);
  for (float& value : values) {
    const auto normal = static_cast<float>(random.normal());
    if (kind == 0) value = normal;
    if (kind == 1) value = std::round(2 * normal) / 2;
    if (kind == 2) value = std::ldexp(normal, static_cast<int>(random.below(200)) - 120);
  }
  return values;
}

DgcOptions draw_options(Random& random, const char* encoding) {
  const double sparsities[] = {0.999, 0.99, 0.9, 0.5};
  DgcOptions options;
  options.encoding = encoding;
  options.sparsity = {sparsities[random.below(4)]};
  options.exclude = "none";
  options.selection = random.below(2) == 0 ? "exact" : "sampled";
  options.factor_masking = random.below(4) > 0;
  options.nesterov = random.below(2) == 0;
  options.l2 = random.below(2) == 0 ? 0 : 1e-2;
  return options;
}

std::string state_of(const DeepGradientCompression& dgc) {
  std::string state;
  dgc.save(state);
  return state;
}

// Some steps, after each of which both apply what was sent to their weights.
void compare(const char* encoding, uint64_t seed, DgcDevice& device) {
  Random random(83, seed);
  const size_t size = 2 + random.below(seed % 20 == 0 ? 5000 : 800);
  const DgcOptions options = draw_options(random, encoding);
  const DgcTarget target{
      .shape = {static_cast<int64_t>(size)}, .num_trainers = 2, .seed = seed, .key = random.below(100)};
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(size) + " values");
  DeepGradientCompression here(options, target), there(options, target, &device);
  Floats weights = draw_gradient(random, size), weights_there = weights;
  std::string bytes, bytes_there;
  for (int step = 0; step < 3 && here.selected() < size; ++step) {
    const Floats gradient = draw_gradient(random, size);
    const DgcGradient given{.values = gradient, .scale = 0.37f, .rate = 0.1f};
    bytes.clear(), bytes_there.clear();
    here.step_sparse(given, weights, bytes);
    there.step_sparse(given, weights_there, bytes_there);
    ASSERT_EQ(bytes_there, bytes);
    ASSERT_EQ(state_of(there), state_of(here));
    here.apply(here.sent(), weights);
    there.apply(there.sent(), weights_there);
    ASSERT_EQ(weights_there, weights);
  }
}

class DgcOnDevice : public testing::TestWithParam<const char*> {};

TEST_P(DgcOnDevice, HasTheBytesAndTheStateOfTheProcessor) {
  const std::shared_ptr<DgcDevice> device = dgc_device_of(make_emulated_model_device());
  const bool is_rounded_here = std::string_view(GetParam()).starts_with("varint_int");
  // The other cases get fewer seeds, since gpu_device_selection has more of them.
  const uint64_t num = is_rounded_here ? seeds() : seeds() / 4;
  for (uint64_t seed = 0; seed < num && !HasFatalFailure(); ++seed) compare(GetParam(), seed, *device);
}

INSTANTIATE_TEST_SUITE_P(All, DgcOnDevice,
                         testing::Values("run16", "varint_f16", "varint_int8", "varint_int2"));

}  // namespace
}  // namespace ps::dgc_on_device_test
