// Kernels of images against plain loops: planes, pools, and the two normalizations.
#include "math/image_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "math/normalization.h"
#include "math/pooling.h"
#include "random_arrays.h"

namespace ps::image_kernels_test {
namespace {

using Values = std::vector<double>;

// The gradient of sum over i of above_i f(x)_i by x, by central differences.
Values difference_gradient(const Values& x, const Values& above,
                           const std::function<Values(const Values&)>& f) {
  constexpr double kStep = 1e-5;
  Values gradient;
  for (size_t i = 0; i < x.size(); ++i) {
    Values more = x, less = x;
    more[i] += kStep;
    less[i] -= kStep;
    const Values high = f(more), low = f(less);
    double sum = 0;
    for (size_t j = 0; j < high.size(); ++j) sum += above[j] * (high[j] - low[j]) / (2 * kStep);
    gradient.push_back(sum);
  }
  return gradient;
}

void expect_near(const Values& got, const Values& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
}

constexpr int64_t kImages = 3, kChannels = 5, kPlane = 21;

TEST(Planes, AreSetSummedAndAveraged) {
  Device device(2, best_cpu_level());
  const Values values = random_values<double>(kChannels, 1);
  Values images(static_cast<size_t>(kImages * kChannels * kPlane), 7), zeros = images;
  const auto matrix = [](Values& of) { return Matrix<double>{of.data(), kImages, kChannels * kPlane}; };
  set_planes(device, values.data(), kChannels, matrix(images));
  set_planes<double>(device, nullptr, kChannels, matrix(zeros));
  EXPECT_EQ(zeros, Values(images.size(), 0));
  Values sums(kChannels, 1), means(kImages * kChannels);
  add_plane_sums<double>(device, matrix(images), kChannels, sums.data());
  average_planes<double>(device, matrix(images), {means.data(), kImages, kChannels});
  for (size_t c = 0; c < kChannels; ++c) {
    EXPECT_EQ(images[c * kPlane + 20], values[c]);
    EXPECT_NEAR(sums[c], 1 + kImages * kPlane * values[c], 1e-12);
    EXPECT_NEAR(means[kChannels + c], values[c], 1e-14);
  }
}

TEST(Planes, AverageGradientIsThatOfFiniteDifferences) {
  Device device(2, best_cpu_level());
  const Values x = random_values<double>(kImages * kChannels * kPlane, 2);
  const Values above = random_values<double>(kImages * kChannels, 3);
  const auto mean = [&](const Values& images) {
    Values out(above.size());
    average_planes<double>(device, {images.data(), kImages, kChannels * kPlane},
                           {out.data(), kImages, kChannels});
    return out;
  };
  Values gradient(x.size());
  add_average_gradients<double>(device, {above.data(), kImages, kChannels},
                                {gradient.data(), kImages, kChannels * kPlane});
  expect_near(gradient, difference_gradient(x, above, mean), 1e-8);
}

// Windows of 3 values, 2 apart, over a side of 6 with one value of padding: they begin at -1, 1 and 3, and
// with ceil_mode at 5 too.
class Pools : public testing::TestWithParam<bool> {
 protected:
  Matrix<const double> images() const { return {x_.data(), kImages, 2 * 6 * 6}; }
  int64_t out_size() const { return kImages * 2 * shape_.out_height * shape_.out_width; }
  Matrix<double> out(Values& values) const { return {values.data(), kImages, out_size() / kImages}; }

  // Calls body(value out, index in the images) for all values of all windows.
  void for_window_values(const std::function<void(size_t, size_t)>& body) const {
    for (int64_t i = 0; i < out_size(); ++i) {
      const int64_t side = shape_.out_width, plane = i / (side * side);
      const int64_t top = i / side % side * 2 - 1, left = i % side * 2 - 1;
      for (int64_t y = std::max<int64_t>(0, top); y < std::min<int64_t>(6, top + 3); ++y) {
        for (int64_t x = std::max<int64_t>(0, left); x < std::min<int64_t>(6, left + 3); ++x)
          body(static_cast<size_t>(i), static_cast<size_t>(plane * 36 + y * 6 + x));
      }
    }
  }

  Device device_{2, best_cpu_level()};
  const PoolShape shape_ = make_pool_shape({2, 6, 6, 3, 2, 1, 0, 0}, GetParam());
  const Values x_ = random_values<double>(kImages * 2 * 6 * 6, 4);
};

TEST_P(Pools, GiveTheLargestValuesAndTheMeans) {
  EXPECT_EQ(shape_.out_height, GetParam() ? 4 : 3);
  const size_t size = static_cast<size_t>(out_size());
  Values largest(size), mean(size), expected_largest(size, -1e9), sums(size), counts(size);
  std::vector<int64_t> places(size);
  max_pool(device_, shape_, images(), out(largest), places.data());
  average_pool(device_, shape_, images(), out(mean));
  for_window_values([&](size_t i, size_t from) {
    expected_largest[i] = std::max(expected_largest[i], x_[from]);
    sums[i] += x_[from];
    ++counts[i];
  });
  EXPECT_EQ(largest, expected_largest);
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(mean[i], sums[i] / counts[i], 1e-14);
    ASSERT_EQ(x_[i / static_cast<size_t>(out_size() / kImages / 2) * 36 + static_cast<size_t>(places[i])],
              largest[i]);
  }
}

TEST_P(Pools, GradientsGoBackThroughTheirWindows) {
  const Values above = random_values<double>(out_size(), 5);
  Values largest(above.size()), to_largest(x_.size()), to_all(x_.size());
  Values expected_largest(x_.size()), expected_all(x_.size()), counts(above.size());
  std::vector<int64_t> places(above.size());
  const Matrix<const double> gradient{above.data(), kImages, out_size() / kImages};
  max_pool(device_, shape_, images(), out(largest), places.data());
  add_max_pool_gradients(device_, shape_, gradient, places.data(), {to_largest.data(), kImages, 72});
  add_average_pool_gradients(device_, shape_, gradient, {to_all.data(), kImages, 72});
  for_window_values([&](size_t i, size_t) { ++counts[i]; });
  for_window_values([&](size_t i, size_t from) {
    if (x_[from] == largest[i]) expected_largest[from] += above[i];
    expected_all[from] += above[i] / counts[i];
  });
  expect_near(to_largest, expected_largest, 1e-14);
  expect_near(to_all, expected_all, 1e-14);
}

INSTANTIATE_TEST_SUITE_P(CeilMode, Pools, testing::Bool());

// Batch normalization of 6 examples with 3 channels of a plane of P values.
class BatchNorms : public testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kExamples = 6, kOf = 3;
  int64_t cols() const { return kOf * GetParam(); }

  BatchNormArrays<double> arrays() {
    return {kOf,
            GetParam(),
            1e-3,
            0.75,
            weight_.data(),
            bias_.data(),
            running_mean_.data(),
            running_variance_.data(),
            mean_.data(),
            scale_.data(),
            normalized_.data()};
  }
  Values train(const Values& x) {
    Values out(x.size());
    batch_norm_training<double>(device_, arrays(), {x.data(), kExamples, cols()},
                                {out.data(), kExamples, cols()});
    return out;
  }

  Device device_{2, best_cpu_level()};
  const Values weight_ = random_values<double>(kOf, 6), bias_ = random_values<double>(kOf, 7);
  Values running_mean_ = Values(kOf, 2), running_variance_ = Values(kOf, 3), mean_ = Values(kOf),
         scale_ = Values(kOf), normalized_ = Values(static_cast<size_t>(kExamples * cols()));
  const Values x_ = random_values<double>(kExamples * cols(), 8);
};

TEST_P(BatchNorms, NormalizesByTheBatchAndMovesTheRunningOnes) {
  const Values out = train(x_);
  for (int64_t c = 0; c < kOf; ++c) {
    const size_t channel = static_cast<size_t>(c);
    double mean = 0, variance = 0;
    const auto for_channel = [&](const std::function<void(size_t)>& body) {
      for (int64_t b = 0; b < kExamples; ++b) {
        for (int64_t p = 0; p < GetParam(); ++p) body(static_cast<size_t>((b * kOf + c) * GetParam() + p));
      }
    };
    const double count = static_cast<double>(kExamples * GetParam());
    for_channel([&](size_t i) { mean += x_[i] / count; });
    for_channel([&](size_t i) { variance += (x_[i] - mean) * (x_[i] - mean) / count; });
    EXPECT_NEAR(running_mean_[channel], 0.75 * 2 + 0.25 * mean, 1e-14);
    EXPECT_NEAR(running_variance_[channel], 0.75 * 3 + 0.25 * variance, 1e-14);
    for_channel([&](size_t i) {
      EXPECT_NEAR(out[i], weight_[channel] * (x_[i] - mean) / std::sqrt(variance + 1e-3) + bias_[channel],
                  1e-12);
    });
  }
}

TEST_P(BatchNorms, TestsWithTheRunningOnesAndLeavesThem) {
  Values out(x_.size());
  batch_norm<double>(device_, arrays(), {x_.data(), kExamples, cols()}, {out.data(), kExamples, cols()});
  EXPECT_NEAR(out[0], weight_[0] * (x_[0] - 2) / std::sqrt(3 + 1e-3) + bias_[0], 1e-12);
  EXPECT_EQ(running_mean_, Values(kOf, 2));
  EXPECT_EQ(running_variance_, Values(kOf, 3));
}

TEST_P(BatchNorms, GradientsAreThoseOfFiniteDifferences) {
  const Values above = random_values<double>(kExamples * cols(), 9);
  train(x_);
  Values slopes(kOf), products(kOf), weight_gradient(kOf, 1), bias_gradient(kOf, 1), gradient(x_.size());
  batch_norm_backward<double>(device_, arrays(), {above.data(), kExamples, cols()},
                              {slopes.data(), products.data(), weight_gradient.data(), bias_gradient.data()},
                              {gradient.data(), kExamples, cols()});
  for (size_t i = 0; i < above.size(); ++i) {
    const size_t c = i / static_cast<size_t>(GetParam()) % kOf;
    weight_gradient[c] -= above[i] * normalized_[i];
    bias_gradient[c] -= above[i];
  }
  expect_near(weight_gradient, Values(kOf, 1), 1e-12);
  expect_near(bias_gradient, Values(kOf, 1), 1e-12);
  expect_near(gradient, difference_gradient(x_, above, [&](const Values& x) { return train(x); }), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Planes, BatchNorms, testing::Values(1, 4, 11));

TEST(LocalResponse, DividesByThePowerOfTheSumOverNeighbours) {
  Device device(2, best_cpu_level());
  const LocalResponse<double> norm{kChannels, 4, 1, 0.5, 0.75, 2};
  const Values x = random_values<double>(kImages * kChannels * 4, 10);
  const Values above = random_values<double>(kImages * kChannels * 4, 11);
  Values sums(x.size()), ratios(x.size()), gradient(x.size());
  const auto forward = [&](const Values& images) {
    Values out(images.size());
    local_response_norm<double>(device, norm, {images.data(), kImages, kChannels * 4}, sums.data(),
                                {out.data(), kImages, kChannels * 4});
    return out;
  };
  const Values numeric = difference_gradient(x, above, forward);
  const Values out = forward(x);
  // Channel 0 has one neighbour, channel 1 two.
  EXPECT_NEAR(out[0], x[0] / std::pow(2 + 0.5 * (x[0] * x[0] + x[4] * x[4]), 0.75), 1e-14);
  EXPECT_NEAR(out[4], x[4] / std::pow(2 + 0.5 * (x[0] * x[0] + x[4] * x[4] + x[8] * x[8]), 0.75), 1e-14);
  add_local_response_gradients<double>(device, norm, {x.data(), kImages, kChannels * 4},
                                       {above.data(), kImages, kChannels * 4}, sums.data(), ratios.data(),
                                       {gradient.data(), kImages, kChannels * 4});
  expect_near(gradient, numeric, 1e-7);
}

}  // namespace
}  // namespace ps::image_kernels_test
