// Products and orthogonal vectors of PowerSGD on a device have the bits of the processor's, over many shapes and schedules.
#include "codec/cuda/device_power_iteration.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "gpu/device_data.h"
#include "support/bits.h"
#include "test_device.h"

namespace ps {

namespace {

using Floats = std::vector<float>;

constexpr uint64_t kShapes = 200;

Floats draw_values(Random& random, size_t size, uint64_t kind) {
  Floats values(size);
  for (float& value : values) {
    const auto normal = static_cast<float>(random.normal());
    if (kind == 0) value = normal;
    if (kind == 1) value = std::round(normal);
    if (kind == 2) value = std::ldexp(normal, static_cast<int>(random.below(120)) - 60);
    if (kind == 3) value = random.below(9) == 0 ? normal : std::copysign(0.0f, normal);
  }
  return values;
}

FactorShape draw_shape(Random& random, uint64_t seed) {
  const uint64_t most = seed % 10 == 0 ? 200 : 40;
  return {.rank = 1 + static_cast<int64_t>(random.below(seed % 7 == 0 ? 20 : 6)),
          .rows = 1 + static_cast<int64_t>(random.below(most)),
          .cols = 1 + static_cast<int64_t>(random.below(most))};
}

// The numbers of one shape.
struct Numbers {
  explicit Numbers(uint64_t seed) {
    Random random(41, seed);
    shape = draw_shape(random, seed);
    const uint64_t kind = random.below(4);
    matrix = draw_values(random, static_cast<size_t>(shape.rows * shape.cols), kind);
    p = draw_values(random, shape.p_values(), kind);
    q = draw_values(random, shape.q_values(), kind);
    if (random.below(4) == 0)
      std::copy_n(p.begin(), shape.rows, p.end() - shape.rows);  // vectors that depend
  }

  Floats product() const {
    Floats values(matrix.size());
    for (int64_t i = 0; i < shape.rows; ++i)
      product_row(kernels, shape, p, q, i, values.data() + i * shape.cols);
    return values;
  }

  const VectorKernels& kernels = vector_kernels(best_cpu_level());
  FactorShape shape;
  Floats matrix, p, q;
};

// Calls body(numbers, stream) for all shapes, each on a device whose threads run by lane or in a random order.
template <class Body>
void for_shapes(const Body& body) {
  for (uint64_t seed = 0; seed < kShapes && !testing::Test::HasFatalFailure(); ++seed) {
    gpu::Device device(test_device::by_seed(seed));
    gpu::Stream stream(device);
    const Numbers numbers(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", rank " + std::to_string(numbers.shape.rank) + ", " +
                 std::to_string(numbers.shape.rows) + " x " + std::to_string(numbers.shape.cols));
    body(numbers, stream);
  }
}

TEST(DevicePowerIteration, ProductsWithTheMatrixAreThoseOfTheProcessor) {
  for_shapes([](const Numbers& given, gpu::Stream& stream) {
    Floats p(given.p.size()), q(given.q.size());
    multiply(given.kernels, given.shape, given.matrix, given.q, p);
    multiply_transposed(given.kernels, given.shape, given.matrix, given.p, q);
    const auto matrix = upload(stream, given.matrix), left = upload(stream, given.p);
    const auto right = upload(stream, given.q), p_there = upload(stream, given.p);
    const auto q_there = upload(stream, given.q);
    multiply_there(stream, given.shape, matrix.data(), right.data(), p_there.data());
    multiply_transposed_there(stream, given.shape, matrix.data(), left.data(), q_there.data());
    ASSERT_EQ(bits_of(download(stream, p_there)), bits_of(p));
    ASSERT_EQ(bits_of(download(stream, q_there)), bits_of(q));
  });
}

TEST(DevicePowerIteration, OrthogonalVectorsAreThoseOfTheProcessor) {
  for_shapes([](const Numbers& given, gpu::Stream& stream) {
    Floats p = given.p;
    orthogonalise(given.kernels, given.shape, p);
    const auto there = upload(stream, given.p);
    orthogonalise_there(stream, given.shape, there.data());
    ASSERT_EQ(bits_of(download(stream, there)), bits_of(p));
  });
}

TEST(DevicePowerIteration, UsesOfTheProductOfTheFactorsAreThoseOfTheProcessor) {
  constexpr float kDivisor = 0.37f, kScale = 1.7f;
  for_shapes([](const Numbers& given, gpu::Stream& stream) {
    const Floats product = given.product();
    Floats divided = product, added = given.matrix, rest = given.matrix, kept = given.matrix;
    for (size_t i = 0; i < product.size(); ++i) {
      divided[i] /= kDivisor, added[i] += product[i];
      kept[i] = kScale * (given.matrix[i] - product[i]);
    }
    given.kernels.subtract(product.data(), std::ssize(product), rest.data());
    const auto p = upload(stream, given.p), q = upload(stream, given.q);
    const FactorsThere factors{given.shape, p.data(), q.data()};
    const auto matrix = upload(stream, given.matrix), values = upload(stream, given.matrix);
    set_product(stream, factors, kDivisor, values.data());
    ASSERT_EQ(bits_of(download(stream, values)), bits_of(divided));
    keep_rest_there(stream, factors, matrix.data(), kScale, values.data());
    ASSERT_EQ(bits_of(download(stream, values)), bits_of(kept));
    const auto sums = upload(stream, given.matrix);
    add_product(stream, factors, sums.data());
    ASSERT_EQ(bits_of(download(stream, sums)), bits_of(added));
    subtract_product(stream, factors, matrix.data());
    ASSERT_EQ(bits_of(download(stream, matrix)), bits_of(rest));
  });
}

TEST(DevicePowerIteration, ScaledSumsAndQuotientsAreThoseOfTheProcessor) {
  for_shapes([](const Numbers& given, gpu::Stream& stream) {
    Floats sums = given.matrix;
    for (float& value : sums) value += 0.3f * value;
    Floats quotients = sums;
    for (float& value : quotients) value /= 0.7f;
    const auto others = upload(stream, given.matrix), values = upload(stream, given.matrix);
    add_scaled_there(stream, std::ssize(sums), others.data(), 0.3f, values.data());
    ASSERT_EQ(bits_of(download(stream, values)), bits_of(sums));
    divide_there(stream, std::ssize(sums), 0.7f, values.data());
    ASSERT_EQ(bits_of(download(stream, values)), bits_of(quotients));
  });
}

}  // namespace

}  // namespace ps
