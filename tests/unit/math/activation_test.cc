// Activations and losses: values at known points, and slopes against finite differences.
#include "math/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/cost_kernels.h"
#include "random_arrays.h"

namespace ps::activation_test {
namespace {

constexpr Activation kAllActivations[] = {
    Activation::kLinear,   Activation::kSigmoid, Activation::kTanh,
    Activation::kStanh,    Activation::kRelu,    Activation::kBrelu,
    Activation::kSoftplus, Activation::kSoftmax, Activation::kExponential};

template <class T>
std::vector<T> activated(Activation activation, std::vector<T> values, int64_t cols, int threads = 1) {
  Device device(threads, best_cpu_level());
  const int64_t rows = static_cast<int64_t>(values.size()) / cols;
  activate<T>(device, activation, {values.data(), rows, cols});
  return values;
}

double one_value(Activation activation, double x) {
  return activated<double>(activation, {x}, 1)[0];
}

TEST(Activations, GiveTheirFormulas) {
  for (double x : {-3.0, -0.5, 0.0, 0.25, 30.0}) {
    EXPECT_EQ(one_value(Activation::kLinear, x), x);
    EXPECT_DOUBLE_EQ(one_value(Activation::kSigmoid, x), 1 / (1 + std::exp(-x)));
    EXPECT_DOUBLE_EQ(one_value(Activation::kTanh, x), std::tanh(x));
    EXPECT_DOUBLE_EQ(one_value(Activation::kStanh, x), 1.7159 * std::tanh(2 * x / 3));
    EXPECT_EQ(one_value(Activation::kRelu, x), x > 0 ? x : 0);
    EXPECT_EQ(one_value(Activation::kBrelu, x), x < 0 ? 0 : x > 24 ? 24 : x);
    EXPECT_NEAR(one_value(Activation::kSoftplus, x), std::log(1 + std::exp(x)), 1e-14);
    EXPECT_DOUBLE_EQ(one_value(Activation::kExponential, x), std::exp(x));
  }
}

TEST(Activations, SoftmaxGivesProbabilitiesEvenOfLargeValues) {
  const std::vector<double> out = activated<double>(Activation::kSoftmax, {0, std::log(3.0), 1000, 1000}, 2);
  EXPECT_DOUBLE_EQ(out[0], 0.25);
  EXPECT_DOUBLE_EQ(out[1], 0.75);
  EXPECT_DOUBLE_EQ(out[2], 0.5);
  EXPECT_DOUBLE_EQ(out[3], 0.5);
}

// The gradient of sum over i of g_i y_i, by central differences: off by some 1e-9.
TEST(Activations, GradientsAreThoseOfFiniteDifferences) {
  constexpr int64_t kRows = 5, kCols = 4;
  constexpr double kStep = 1e-5;
  const std::vector<double> x = random_values<double>(kRows * kCols, 1);
  const std::vector<double> above = random_values<double>(kRows * kCols, 2);
  Device device(2, best_cpu_level());
  for (Activation activation : kAllActivations) {
    const std::vector<double> y = activated(activation, x, kCols);
    std::vector<double> gradient = above;
    activation_backward<double>(device, activation, {y.data(), kRows, kCols},
                                {gradient.data(), kRows, kCols});
    for (size_t i = 0; i < x.size(); ++i) {
      std::vector<double> more = x, less = x;
      more[i] += kStep;
      less[i] -= kStep;
      more = activated(activation, more, kCols);
      less = activated(activation, less, kCols);
      double difference = 0;
      for (size_t j = 0; j < x.size(); ++j) difference += above[j] * (more[j] - less[j]) / (2 * kStep);
      ASSERT_NEAR(gradient[i], difference, 1e-7) << static_cast<int>(activation) << " " << i;
    }
  }
}

TEST(Activations, DoNotDependOnThreads) {
  const std::vector<float> x = random_values<float>(300000, 3);
  for (Activation activation : kAllActivations) {
    EXPECT_EQ(activated(activation, x, 3, 1), activated(activation, x, 3, 4)) << static_cast<int>(activation);
  }
}

template <class Loss>
void expect_slope(const Loss& loss, double value, double label) {
  constexpr double kStep = 1e-5;
  double slope = 0, unused = 0;
  loss(value, label, slope);
  const double difference =
      (loss(value + kStep, label, unused) - loss(value - kStep, label, unused)) / (2 * kStep);
  EXPECT_NEAR(slope, difference, 1e-7) << value << " " << label;
}

TEST(Losses, SlopesAreThoseOfFiniteDifferences) {
  for (double value : {-4.0, -0.75, 0.3, 6.0}) {
    for (double label : {0.0, 1.0}) {
      expect_slope(LogisticLoss(), value, label);
      expect_slope(SquaredLoss(), value, label);
      expect_slope(AbsoluteLoss(), value, label);
      expect_slope(HuberLoss{0.5}, value, label);
    }
  }
}

TEST(Losses, TotalIsTheSumInOrder) {
  Device device(3, best_cpu_level());
  const std::vector<float> costs = random_values<float>(5000, 4);
  double expected = 0;
  for (float cost : costs) expected += static_cast<double>(cost);
  EXPECT_EQ(total_cost(device, costs.data(), 5000), expected);
  EXPECT_EQ(total_cost(device, costs.data(), 0), 0);
}

TEST(Losses, FindTheFirstValueThatIsNoProbability) {
  Device device(1, best_cpu_level());
  const std::vector<double> values = {0.5, 9, 1.0005, -7, 0.2, 1.5, -0.25, 0};
  const std::vector<float> labels = {0, 0, 1, 0};
  std::vector<double> scratch(4);
  const CostTargets targets{labels.data(), nullptr};
  EXPECT_FALSE(find_improbable<double>(device, {values.data(), 2, 2}, targets, scratch.data()));
  const auto found = find_improbable<double>(device, {values.data(), 4, 2}, targets, scratch.data());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->example, 2);
  EXPECT_EQ(found->value, 1.5);
}

}  // namespace
}  // namespace ps::activation_test
