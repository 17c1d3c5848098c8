// Matrices of PowerSGD on a device: factors, sums and what is left are those of the processor, bit for bit, over many shapes.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "base/random.h"
#include "codec/codec_there.h"
#include "codec/power_iteration.h"
#include "device/model_devices.h"
#include "math/device_buffer.h"
#include "model/model_device.h"

namespace ps::power_on_device_test {
namespace {

using Floats = std::vector<float>;

// More by the environment.
uint64_t seeds() {
  const char* asked = std::getenv("PS_GPU_SEEDS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 200;
}

Floats draw(Random& random, size_t size) {
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

std::vector<uint32_t> bits_of(const Floats& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// The matrix of one trainer on the processor, by the formulas of store/power_sgd_exchange.h.
struct Here {
  void begin(Floats& values, float samples, const Floats& q, Floats& p) const {
    for (size_t i = 0; i < values.size(); ++i) values[i] += samples * residual[i];
    multiply(kernels, shape, values, q, p);
  }
  void keep_rest(const Floats& values, float scale, Floats& p, Floats& q) {
    orthogonalise(kernels, shape, p);
    multiply_transposed(kernels, shape, values, p, q);
    const Floats sent = product(p, q);
    for (size_t i = 0; i < values.size(); ++i) residual[i] = scale * (values[i] - sent[i]);
  }
  Floats product(const Floats& p, const Floats& q) const {
    Floats values(residual.size());
    for (int64_t i = 0; i < shape.rows; ++i)
      product_row(kernels, shape, p, q, i, values.data() + i * shape.cols);
    return values;
  }

  const VectorKernels& kernels = vector_kernels(best_cpu_level());
  FactorShape shape;
  Floats residual;
};

class PowerOnDevice : public testing::Test {
 protected:
  // Two steps, in which another trainer's factors are added.
  void compare(uint64_t seed);

  Floats get(const float* values, size_t size) {
    Floats found(size);
    model_->receive(found.data(), values, size * sizeof(float));
    return found;
  }

  const std::shared_ptr<ModelDevice> model_ = make_emulated_model_device();
  const std::shared_ptr<CodecDevice> codecs_ = make_emulated_codec_device(model_);
  Device host_{1, best_cpu_level()};
  const std::unique_ptr<Device> device_ = device_of(host_, model_);
};

void PowerOnDevice::compare(uint64_t seed) {
  Random random(97, seed);
  const FactorShape shape{.rank = 1 + static_cast<int64_t>(random.below(5)),
                          .rows = 2 + static_cast<int64_t>(random.below(70)),
                          .cols = 2 + static_cast<int64_t>(random.below(50))};
  SCOPED_TRACE("seed " + std::to_string(seed));
  const size_t size = static_cast<size_t>(shape.rows * shape.cols);
  Here here{.shape = shape, .residual = draw(random, size)};
  const std::unique_ptr<PowerThere> there = codecs_->make_power(shape);
  there->set_residual(here.residual);
  DeviceBuffer<float> gradient;
  gradient.resize(*device_, std::ssize(here.residual));
  for (int step = 0; step < 2; ++step) {
    Floats values = draw(random, size);
    const Floats q = draw(random, shape.q_values()), other = draw(random, shape.p_values());
    Floats p(shape.p_values()), p_there(p.size()), t(q.size()), t_there(q.size()), residual(size);
    model_->send(gradient.data(), values.data(), gradient.bytes());
    model_->wait();
    here.begin(values, 3, q, p);
    there->begin(gradient.data(), 3, q, p_there);
    codecs_->wait();
    ASSERT_EQ(bits_of(p_there), bits_of(p));
    for (size_t i = 0; i < p.size(); ++i) p[i] += other[i], p_there[i] += other[i];
    here.keep_rest(values, 0.25f, p, t);
    there->keep_rest(gradient.data(), 0.25f, p_there, t_there);
    codecs_->wait();
    ASSERT_EQ(bits_of(t_there), bits_of(t));
    there->get_residual(residual);
    ASSERT_EQ(bits_of(residual), bits_of(here.residual));
    there->end(t, gradient.data());
    ASSERT_EQ(bits_of(get(gradient.data(), size)), bits_of(here.product(p, t)));
  }
}

TEST_F(PowerOnDevice, HasTheFactorsTheSumsAndTheRestsOfTheProcessor) {
  for (uint64_t seed = 0; seed < seeds() && !HasFatalFailure(); ++seed) compare(seed);
}

}  // namespace
}  // namespace ps::power_on_device_test
