// Kernels of single layers against plain loops: arrays, cross, dropout, and costs over sampled classes.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/cross_kernels.h"
#include "math/dense_kernels.h"
#include "math/dropout.h"
#include "math/sampled_kernels.h"
#include "math/softmax_over_rows.h"
#include "math/sparse_kernels.h"
#include "random_arrays.h"

namespace ps::layer_kernels_test {
namespace {

TEST(ArrayKernels, GoThroughEveryElementOnce) {
  constexpr int64_t kSize = (1 << 20) + 17;  // two blocks
  Device device(2, best_cpu_level());
  const std::vector<float> a = random_values<float>(kSize, 1), b = random_values<float>(kSize, 2);
  std::vector<float> filled(kSize), copy(kSize), scaled = b, product(kSize), sum = b;
  fill_values(device, 3, kSize, filled.data());
  copy_values(device, a.data(), kSize, copy.data());
  add_scaled_values(device, 0.5f, a.data(), kSize, scaled.data());
  multiply_values(device, a.data(), b.data(), kSize, product.data());
  add_multiplied_values(device, a.data(), b.data(), kSize, sum.data());
  EXPECT_EQ(filled, std::vector<float>(kSize, 3));
  EXPECT_EQ(copy, a);
  for (size_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(scaled[i], b[i] + 0.5f * a[i]);
    ASSERT_EQ(product[i], a[i] * b[i]);
    ASSERT_EQ(sum[i], b[i] + a[i] * b[i]);
  }
}

TEST(BagKernels, DivideByTheNumberOfIds) {
  Device device(2, best_cpu_level());
  const std::vector<uint32_t> offsets = {0, 0, 1, 4};
  KeyUse use;
  use.offsets = offsets;
  std::vector<double> out = {6, 6, 6, 6, 6, 6};
  divide_by_counts<double>(device, use, {out.data(), 2, 2});
  EXPECT_EQ(out, (std::vector<double>{6, 6, 6, 6, 2, 2}));
}

// Rows (1, 2), (3, 4) and (5, 6) with products 11, 17 and 39.
TEST(BagKernels, AddUpThePairsOfAnExample) {
  Device device(1, best_cpu_level());
  const std::vector<double> sums = {9, 12, 1, 2}, squares = {35, 56, 1, 4};
  std::vector<double> out(2);
  add_up_pairs<double>(device, {sums.data(), 2, 2}, {squares.data(), 2, 2}, 2, out.data());
  EXPECT_EQ(out, (std::vector<double>{11 + 17 + 39, 0}));
}

constexpr int64_t kExamples = 7, kDepth = 3, kCols = 5;

// A cross network, and the gradients of the sum of above times its output.
class CrossNetwork : public testing::Test {
 protected:
  double total() {
    std::vector<double> out(x_.size());
    cross_forward<double>(device_, parameters(), {x_.data(), kExamples, kCols}, states(),
                          {out.data(), kExamples, kCols});
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += above_[i] * out[i];
    return sum;
  }

  double difference(double& value) {
    constexpr double kStep = 1e-5;
    const double before = value;
    value = before + kStep;
    const double high = total();
    value = before - kStep;
    const double low = total();
    value = before;
    return (high - low) / (2 * kStep);
  }

  CrossWeights<double> parameters() const {
    return {{weights_.data(), kDepth, kCols}, {biases_.data(), kDepth, kCols}};
  }
  CrossStates<double> states() { return {states_.data(), products_.data()}; }

  Device device_{2, best_cpu_level()};
  std::vector<double> x_ = random_values<double>(kExamples * kCols, 3);
  std::vector<double> weights_ = random_values<double>(kDepth * kCols, 4);
  std::vector<double> biases_ = random_values<double>(kDepth * kCols, 5);
  const std::vector<double> above_ = random_values<double>(kExamples * kCols, 6);
  std::vector<double> states_ = std::vector<double>(kExamples * kDepth * kCols);
  std::vector<double> products_ = std::vector<double>(kExamples * kDepth);
};

TEST_F(CrossNetwork, GradientsAreThoseOfFiniteDifferences) {
  total();
  std::vector<double> state_gradients(states_.size()), products(products_.size()), inputs(x_.size(), 77);
  cross_backward<double>(device_, parameters(), {x_.data(), kExamples, kCols}, states(),
                         {above_.data(), kExamples, kCols},
                         {state_gradients.data(), products.data(), {inputs.data(), kExamples, kCols}});
  const std::vector<double> kept = states_;
  for (size_t i = 0; i < x_.size(); ++i) ASSERT_NEAR(inputs[i], difference(x_[i]), 1e-6) << i;
  for (size_t i = 0; i < weights_.size(); ++i) {
    const size_t l = i / kCols, d = i % kCols;
    double weight = 0, bias = 0;
    for (size_t b = 0; b < kExamples; ++b) {
      weight += products[b * kDepth + l] * kept[(b * kDepth + l) * kCols + d];
      bias += state_gradients[(b * kDepth + l) * kCols + d];
    }
    ASSERT_NEAR(weight, difference(weights_[i]), 1e-5) << i;
    ASSERT_NEAR(bias, difference(biases_[i]), 1e-5) << i;
  }
}

TEST(DropoutKernel, DrawsFromTheExamplesOwnStreams) {
  constexpr int64_t kRows = 400, kWide = 50;
  std::vector<float> factors(kRows * kWide), alone(factors.size());
  Device threads(4, best_cpu_level()), one(1, best_cpu_level());
  draw_dropout<float>(threads, 5, 0.25, {factors.data(), kRows, kWide});
  draw_dropout<float>(one, 5, 0.25, {alone.data(), kRows, kWide});
  EXPECT_EQ(factors, alone);
  int dropped = 0;
  for (float factor : factors) {
    ASSERT_TRUE(factor == 0 || factor == 1 / 0.75f) << factor;
    dropped += factor == 0;
  }
  EXPECT_NEAR(dropped, 5000, 250);  // four deviations of 61
  Random random(5, 3);
  for (size_t d = 0; d < kWide; ++d)
    EXPECT_EQ(factors[3 * kWide + d] == 0, random.next32() < uint32_t{1} << 30) << d;
}

// 4 examples with 0 to 3 ids of 6 classes, rows of 11 values.
class SampledKernels : public testing::Test {
 protected:
  static constexpr int64_t kExamples = 4, kDim = 11;

  SampledKernels() {
    KeyList list{offsets_, keys_, /*transposed=*/true};
    KeyPlanner().plan({&list, 1}, plan_);
    for (uint64_t key : plan_.keys) {
      weight_.push_back(&table_[key * kDim]);
      bias_.push_back(&biases_[key]);
    }
  }
  SampledWeights<double> rows(bool biased = true) const {
    return {&plan_.uses[0], weight_.data(), biased ? &plan_.uses[0] : nullptr,
            biased ? bias_.data() : nullptr};
  }
  Matrix<const double> input() const { return {x_.data(), kExamples, kDim}; }

  // weight[class] . x[b] + bias[class]
  double score(uint64_t key, size_t b) const {
    double sum = biases_[key];
    for (size_t d = 0; d < kDim; ++d) sum += table_[key * kDim + d] * x_[b * kDim + d];
    return sum;
  }

  Device device_{2, best_cpu_level()};
  const std::vector<uint32_t> offsets_ = {0, 3, 3, 5, 7};
  const std::vector<uint64_t> keys_ = {5, 1, 5, 0, 1, 3, 3};
  const std::vector<double> table_ = random_values<double>(6 * kDim, 7),
                            biases_ = random_values<double>(6, 8),
                            x_ = random_values<double>(kExamples * kDim, 9);
  KeyPlan plan_;
  std::vector<const double*> weight_, bias_;
};

TEST_F(SampledKernels, ScoresAreProductsPlusBias) {
  std::vector<double> scores(keys_.size()), plain(keys_.size());
  score_samples(device_, rows(), input(), scores.data());
  score_samples(device_, rows(/*biased=*/false), input(), plain.data());
  for (size_t b = 0; b < kExamples; ++b) {
    for (size_t k = offsets_[b]; k < offsets_[b + 1]; ++k) {
      EXPECT_NEAR(scores[k], score(keys_[k], b), 1e-13);
      EXPECT_NEAR(plain[k], score(keys_[k], b) - biases_[keys_[k]], 1e-13);
    }
  }
}

TEST_F(SampledKernels, GradientsAreSumsOverTheIds) {
  const std::vector<double> slopes = random_values<double>(7, 10), out = random_values<double>(kExamples, 11);
  const size_t unique = plan_.keys.size();
  std::vector<double> weights(unique * kDim), biases(unique), inputs(x_.size());
  std::vector<double> expected_weights(weights.size()), expected_biases(unique), expected_inputs(x_.size());
  const SampledSlopes<double> all{slopes.data(), out.data()};
  add_sample_weight_gradients(device_, plan_.uses[0], input(), all, weights.data());
  add_sample_bias_gradients(device_, plan_.uses[0], all, biases.data());
  add_sample_input_gradients(device_, rows(), all, {inputs.data(), kExamples, kDim});
  for (size_t b = 0; b < kExamples; ++b) {
    for (size_t k = offsets_[b]; k < offsets_[b + 1]; ++k) {
      const size_t n = plan_.uses[0].index[k];
      expected_biases[n] += out[b] * slopes[k];
      for (size_t d = 0; d < kDim; ++d) {
        expected_weights[n * kDim + d] += out[b] * slopes[k] * x_[b * kDim + d];
        expected_inputs[b * kDim + d] += out[b] * slopes[k] * table_[keys_[k] * kDim + d];
      }
    }
  }
  EXPECT_EQ(weights, expected_weights);
  EXPECT_EQ(biases, expected_biases);
  EXPECT_EQ(inputs, expected_inputs);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST_F(SampledKernels, NceTellsTheFirstIdFromTheOthers) {
  const std::vector<double> scores = random_values<double>(7, 12);
  std::vector<double> slopes = scores, costs(kExamples, 5);
  std::vector<double> log_noise;
  log_noise_of(device_, keys_, NoiseDistribution::uniform(6), 2, log_noise);
  nce_costs<double>(device_, offsets_, log_noise, slopes.data(), costs.data());
  EXPECT_EQ(costs[1], 0);
  for (size_t b = 0; b < kExamples; ++b) {
    double expected = 0;
    for (size_t k = offsets_[b]; k < offsets_[b + 1]; ++k) {
      const double logit = scores[k] - std::log(2.0 / 6);
      const bool label = k == offsets_[b];
      expected -= std::log(sigmoid(label ? logit : -logit));
      EXPECT_NEAR(slopes[k], sigmoid(logit) - (label ? 1 : 0), 1e-14);
    }
    EXPECT_NEAR(costs[b], expected, 1e-13);
  }
}

// 6 classes: leaf 5 is node 11, a right child of 5, a right child of 2, a left child of 1.
TEST_F(SampledKernels, TreeCostsFollowThePathOfTheLabel) {
  const std::vector<uint32_t> offsets = {0, 3};
  const std::vector<float> labels = {5};
  std::vector<double> scores = {0.5, -1, 2}, costs(1);
  tree_costs(device_, offsets, labels.data(), 6, scores.data(), costs.data());
  EXPECT_NEAR(costs[0], -std::log(sigmoid(0.5)) - std::log(sigmoid(-1)) - std::log(sigmoid(-2)), 1e-14);
  EXPECT_NEAR(scores[0], sigmoid(0.5) - 1, 1e-14);
  EXPECT_NEAR(scores[1], sigmoid(-1) - 1, 1e-14);
  EXPECT_NEAR(scores[2], sigmoid(2), 1e-14);
}

// 3000 classes are three blocks, whose largest scores differ.
TEST(SoftmaxOverAllRows, IsTheCostOfThePlainSoftmax) {
  constexpr int64_t kClasses = 3000, kDim = 3;
  Device device(2, best_cpu_level());
  const std::vector<double> table = random_values<double>(kClasses * kDim, 13),
                            x = random_values<double>(2 * kDim, 14);
  const std::vector<float> labels = {2999, 7};
  std::vector<const double*> rows;
  std::vector<uint32_t> index;
  for (size_t c = 0; c < kClasses; ++c) {
    rows.push_back(&table[c * kDim]);
    index.push_back(static_cast<uint32_t>(c));
  }
  std::vector<double> costs(2);
  SoftmaxOverRows<double>().costs(device, {x.data(), 2, kDim}, kClasses, {rows.data(), index.data()},
                                  {nullptr, nullptr}, labels.data(), costs.data());
  for (size_t b = 0; b < 2; ++b) {
    const auto score = [&](size_t c) {
      return x[b * 3] * table[c * 3] + x[b * 3 + 1] * table[c * 3 + 1] + x[b * 3 + 2] * table[c * 3 + 2];
    };
    double sum = 0;
    for (size_t c = 0; c < kClasses; ++c) sum += std::exp(score(c));
    EXPECT_NEAR(costs[b], std::log(sum) - score(static_cast<size_t>(labels[b])), 1e-11);
  }
}

}  // namespace
}  // namespace ps::layer_kernels_test
