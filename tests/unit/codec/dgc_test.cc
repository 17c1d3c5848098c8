#include "codec/dgc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/cpu.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "config/json.h"
#include "config/spec.h"
#include "normal_values.h"
#include "support/environment.h"

namespace ps::dgc_test {
namespace {

constexpr uint64_t kSeed = 43;

// DGC the plain way: the formulas of codec/dgc.h one after the other, and a sort.
struct PlainDgc {
  DgcOptions options;
  int num_trainers;
  Floats u, v;

  SparseVector step(const Floats& gradient, float scale, float rate, const Floats& weights, uint64_t count) {
    float factor = scale;
    if (options.clip_norm) {
      double squares = 0;
      for (float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
      const double share = std::sqrt(squares) * static_cast<double>(scale) / num_trainers;
      const double bound = *options.clip_norm / std::sqrt(num_trainers);
      if (share > bound) factor = static_cast<float>(static_cast<double>(scale) * bound / share);
    }
    const float m = static_cast<float>(options.momentum), l2 = static_cast<float>(options.l2);
    for (size_t i = 0; i < v.size(); ++i) {
      float g = gradient[i] * factor;
      if (l2 > 0) g += l2 * weights[i];
      const float d = -rate * g;
      u[i] = m * u[i] + d;
      v[i] += options.nesterov ? m * u[i] + d : u[i];
    }
    return send(count);
  }

  SparseVector send(uint64_t count) {
    std::vector<uint32_t> order(v.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return std::fabs(v[a]) > std::fabs(v[b]); });
    order.resize(count);
    std::sort(order.begin(), order.end());
    SparseVector part;
    for (uint32_t i : order) {
      if (v[i] == 0) continue;
      part.index.push_back(i);
      part.value.push_back(v[i]);
    }
    round_values(find_sparse_encoding(options.encoding), part.value);
    for (size_t n = 0; n < part.size(); ++n) {
      v[part.index[n]] -= part.value[n];
      if (options.factor_masking) u[part.index[n]] = 0;
    }
    return part;
  }
};

// Norms are summed in other orders: the scale may differ in its last bits.
void expect_near(std::span<const float> found, const Floats& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i])) <= tolerance) continue;
    FAIL() << "value " << i << " is " << found[i] << ", expected " << expected[i];
  }
}

void expect_plain(const DgcOptions& options, const std::vector<int64_t>& shape, uint64_t steps = 60) {
  DeepGradientCompression dgc(options, {.shape = shape, .num_trainers = 3, .seed = 1, .key = 2});
  const size_t size = dgc.elements();
  PlainDgc plain{options, 3, Floats(size), Floats(size)};
  Floats weights = normal_values(kSeed, 99, size), plain_weights = weights;
  const double tolerance = options.clip_norm ? 1e-5 : 0;
  for (uint64_t step = 0; step < steps; ++step) {
    const Floats gradient = normal_values(kSeed, step, size);
    const uint64_t count = dgc.selected();
    ASSERT_LT(count, size);
    const SparseVector expected = plain.step(gradient, 0.5f, 0.1f, plain_weights, count);
    std::string bytes;
    SparseVector part;
    dgc.step_sparse({gradient, 0.5f, 0.1f}, weights, bytes);
    decode_sparse(find_sparse_encoding(options.encoding), bytes, size, part);
    ASSERT_EQ(part.index, expected.index) << step;
    expect_near(part.value, expected.value, tolerance);
    expect_near(dgc.velocity(), plain.u, tolerance);
    expect_near(dgc.residual(), plain.v, tolerance);
    dgc.apply(part, weights);
    for (size_t i = 0; i < expected.size(); ++i)
      plain_weights[expected.index[i]] += expected.value[i] * (1.0f / 3);
    expect_near(weights, plain_weights, tolerance);
  }
}

TEST(Dgc, IsThePlainAlgorithm) {
  DgcOptions options;
  options.selection = "exact";
  options.sparsity = {0.75, 0.9375, 0.99};
  options.rampup_step = 30;
  expect_plain(options, {50, 40});
  for (const std::string& encoding : sparse_encoding_names()) {
    options.encoding = encoding;
    expect_plain(options, {30, 41});
  }
  options.nesterov = true;
  options.l2 = 0.01;
  expect_plain(options, {50, 40});
  options.factor_masking = false;
  expect_plain(options, {50, 40});
  options.nesterov = false;
  options.rampup_step = 6;
  expect_plain(options, {257, 400}, 12);  // so many that, from step 4 on, a threshold comes from a sample
  options.rampup_step = 30;
  options.clip_norm = 3;
  options.factor_masking = true;
  expect_plain(options, {50, 40});
}

// Momentum that was there when compression began goes on: without new gradients the weights get there in the
// end.
TEST(Dgc, MomentumCarriesOverWhenCompressionBegins) {
  DgcOptions options;
  options.rampup_begin_step = 5;
  options.sparsity = {0.9};
  options.factor_masking = false;
  DeepGradientCompression dgc(options, {.shape = {20, 20}});
  Floats weights(400), dense(400), u(400);
  const Floats zeros(400);
  for (int step = 0; step < 500; ++step) {
    const Floats gradient = step < 5 ? normal_values(kSeed, static_cast<uint64_t>(step), 400) : zeros;
    const Floats u_before = u;
    for (size_t i = 0; i < 400; ++i) u[i] = 0.9f * u[i] - 0.1f * gradient[i], dense[i] += u[i];
    if (step < 5) {
      ASSERT_EQ(dgc_selected(options, step, 400), 400u) << "the optimizer's step";
      weights = dense;
      continue;
    }
    if (step == 5) dgc.begin(5, u_before);
    ASSERT_EQ(dgc.selected(), 40u);
    std::string bytes;
    SparseVector part;
    dgc.step_sparse({gradient, 1, 0.1f}, weights, bytes);
    decode_sparse(SparseEncoding::kRun16, bytes, 400, part);
    dgc.apply(part, weights);
  }
  expect_near(weights, dense, 1e-5);
}

TEST(Dgc, RampUpHasPaddlesMeaningInIntegers) {
  DgcOptions options;
  options.sparsity = {0.75, 0.9375, 0.984375, 0.996, 0.999};
  options.rampup_step = 100;
  options.rampup_begin_step = 10;
  EXPECT_EQ(dgc_selected(options, 0, 100'000), 100'000u);
  EXPECT_EQ(dgc_selected(options, 9, 100'000), 100'000u);
  const uint64_t expected[] = {25'000, 6'250, 1'562, 400, 100};
  for (int64_t step = 0; step < 200; ++step) {
    ASSERT_EQ(dgc_selected(options, 10 + step, 100'000), expected[std::min<int64_t>(step / 20, 4)]) << step;
  }
  EXPECT_EQ(dgc_selected(options, 1'000'000'000'000, kMaxSparseSize), kMaxSparseSize / 1000);
  EXPECT_EQ(dgc_selected({}, 0, 1000), 1u);
  EXPECT_EQ(dgc_selected({}, 0, 10), 1u);
}

TEST(Dgc, TheRuleSaysWhatIsCompressed) {
  DgcOptions options;
  const std::vector<int64_t> bias = {50'000}, column = {50'000, 1}, matrix = {3, 2},
                             convolution = {64, 3, 7, 7};
  EXPECT_FALSE(dgc_compresses(options, bias));
  EXPECT_FALSE(dgc_compresses(options, column));
  EXPECT_TRUE(dgc_compresses(options, matrix));
  EXPECT_TRUE(dgc_compresses(options, convolution));
  options.exclude = "none";
  EXPECT_TRUE(dgc_compresses(options, bias));
  options.min_elements = 16384;
  EXPECT_TRUE(dgc_compresses(options, bias));
  EXPECT_FALSE(dgc_compresses(options, matrix));
  EXPECT_FALSE(dgc_compresses(options, convolution));
  DeepGradientCompression whole({}, {.shape = bias});
  EXPECT_EQ(whole.selected(), 50'000u);
}

TEST(Dgc, OptionsOutOfRangeAreRefused) {
  for (const Json& wrong :
       {Json{{"sparsity", Json::array()}}, Json{{"sparsity", {0.9, 1}}}, Json{{"sparsity", {0.5, 0}}},
        Json{{"momentum", 1}}, Json{{"encoding", "run8"}}, Json{{"rampup_step", 0}}}) {
    EXPECT_THROW(DgcOptions::spec().parse(wrong, "strategy"), Error) << wrong.dump();
  }
  EXPECT_EQ(DgcOptions::spec().parse({{"sparsity", {0, 0.75, 0.999}}}, "strategy").sparsity.size(), 3u);
}

TEST(Dgc, ALoadedOneGoesOnWithTheSameBits) {
  DgcOptions options;
  options.sparsity = {0.99};
  const DgcTarget target{.shape = {300, 300}, .num_trainers = 2, .seed = 9, .key = 1};
  DeepGradientCompression dgc(options, target), twin(options, target);
  const Floats weights(90'000);
  std::string bytes, other, state;
  for (uint64_t step = 0; step < 4; ++step)
    dgc.step_sparse({normal_values(kSeed, step, 90'000), 1, 0.1f}, weights, bytes);
  dgc.save(state);
  ByteReader in(state);
  twin.load(in);
  EXPECT_EQ(twin.steps(), 4);
  for (uint64_t step = 4; step < 8; ++step) {
    bytes.clear(), other.clear();
    dgc.step_sparse({normal_values(kSeed, step, 90'000), 1, 0.1f}, weights, bytes);
    twin.step_sparse({normal_values(kSeed, step, 90'000), 1, 0.1f}, weights, other);
    ASSERT_EQ(bytes, other);
  }
  ByteReader cut(std::string_view(state).substr(0, state.size() - 1));
  DeepGradientCompression third(options, target);
  EXPECT_THROW(third.load(cut), Error);
}

TEST(Dgc, EveryLevelGivesTheSameBits) {
  DgcOptions options;
  options.l2 = 0.01, options.clip_norm = 1, options.sparsity = {0.998}, options.nesterov = true;
  DgcTarget target{.shape = {317, 401}, .num_trainers = 2};
  const Floats weights = normal_values(kSeed, 77, 317 * 401);
  std::string first;
  for (CpuLevel level : possible_levels(cpu_features())) {
    target.cpu = level;
    DeepGradientCompression dgc(options, target);
    std::string bytes;
    for (uint64_t step = 0; step < 3; ++step)
      dgc.step_sparse({normal_values(kSeed, step, 317 * 401), 1, 0.1f}, weights, bytes);
    dgc.save(bytes);
    if (level == CpuLevel::kBaseline) first = bytes;
    EXPECT_EQ(bytes, first) << cpu_level_name(level);
  }
}

TEST(Dgc, WhatIsNotFiniteIsRefusedWithItsIndex) {
  for (float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    DeepGradientCompression dgc({}, {.shape = {100, 100}});
    Floats gradient = normal_values(kSeed, 1, 10'000);
    gradient[4321] = odd;
    std::string bytes;
    try {
      dgc.step_sparse({gradient, 1, 0.1f}, gradient, bytes);
      FAIL() << "took " << odd;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData);
      EXPECT_NE(error.message().find("value 4321 "), std::string::npos) << error.message();
    }
  }
}

// A network's published shapes, all its tensors of more than one dimension first.
struct Net {
  std::vector<std::vector<int64_t>> tensors;
  int64_t one_dimensional;  // values
};

Net resnet50() {
  Net net{{{64, 3, 7, 7}, {1000, 2048}}, 2 * 64 + 1000};
  int64_t in = 64;
  auto convolution = [&](int64_t out, int64_t from, int64_t size) {
    net.tensors.push_back({out, from, size, size});
    net.one_dimensional += 2 * out;  // of the batch normalisation that follows
  };
  const std::pair<int64_t, int> stages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (auto [middle, blocks] : stages) {
    for (int block = 0; block < blocks; ++block) {
      convolution(middle, in, 1);
      convolution(middle, middle, 3);
      convolution(4 * middle, middle, 1);
      if (block == 0) convolution(4 * middle, in, 1);
      in = 4 * middle;
    }
  }
  return net;
}

Net alexnet() {
  return {{{96, 3, 11, 11},
           {256, 48, 5, 5},
           {384, 256, 3, 3},
           {384, 192, 3, 3},
           {256, 192, 3, 3},
           {4096, 9216},
           {4096, 4096},
           {1000, 4096}},
          96 + 256 + 384 + 384 + 256 + 4096 + 4096 + 1000};
}

// Random values with a long tail.
Floats many_values(uint64_t stream, size_t size) {
  Floats all(size);
  for (size_t i = 0; i < size; ++i) {
    const float x = static_cast<float>(static_cast<int32_t>(hash_key(stream << 40 | i))) * 0x1p-31f;
    all[i] = x * x * x;
  }
  return all;
}

// Dense bytes over those that a step of DGC sends, for each encoding.
std::vector<double> ratios(const Net& net) {
  const double rest = 4.0 * static_cast<double>(net.one_dimensional);
  double dense = rest;
  std::vector<double> sent(std::size(kSparseEncodings), rest);
  for (size_t key = 0; key < net.tensors.size(); ++key) {
    DeepGradientCompression dgc({}, {.shape = net.tensors[key], .num_trainers = 4, .key = key});
    const Floats gradient = many_values(key, dgc.elements());
    std::string bytes;
    SparseVector part;
    dgc.step_sparse({gradient, 1, 0.1f}, gradient, bytes);
    decode_sparse(SparseEncoding::kRun16, bytes, dgc.elements(), part);
    dense += 4.0 * static_cast<double>(dgc.elements());
    for (SparseEncoding encoding : kSparseEncodings) {
      bytes.clear();
      encode_sparse(encoding, part, bytes);
      sent[static_cast<size_t>(encoding)] += static_cast<double>(bytes.size());
    }
  }
  for (double& one : sent) one = dense / one;
  return sent;
}

TEST(Dgc, SendsAsFewBytesAsWasPublished) {
  // 25,557,032 values, published 277: run lengths of 16 bits have 6 bytes a value, 276.8; varints a little
  // less.
  const std::vector<double> resnet = ratios(resnet50());
  EXPECT_EQ(std::round(resnet[static_cast<size_t>(SparseEncoding::kRun16)]), 277);
  EXPECT_GE(resnet[static_cast<size_t>(SparseEncoding::kVarint)], 277);
  EXPECT_GE(resnet[static_cast<size_t>(SparseEncoding::kVarintF16)], 320);
  if (try_every() > 1) return;
  // 60,965,224 values, published 597.
  EXPECT_GE(ratios(alexnet())[static_cast<size_t>(SparseEncoding::kRun16)], 597);
}

// Logistic regression on four trainers; labels by a known plane, and some of them wrong.
class Regression {
 public:
  static constexpr size_t kRows = 20, kCols = 50, kSize = kRows * kCols, kExamples = 4000;

  Regression() : truth_(normal_values(kSeed, 1, kSize)) {
    Random random(2, 2);
    for (size_t n = 0; n < kExamples; ++n) {
      inputs_.push_back(normal_values(kSeed, 100 + n, kSize));
      const bool wrong = random.below(20) == 0;
      labels_.push_back((dot(truth_, inputs_[n]) > 0) != wrong ? 1.0f : 0.0f);
    }
  }

  // The mean gradient of 8 examples.
  Floats gradient(const Floats& weights, uint64_t step, uint64_t trainer) const {
    Floats sum(kSize);
    for (uint64_t b = 0; b < 8; ++b) {
      const size_t n = ((step * 4 + trainer) * 8 + b) * 7 % kExamples;
      const float error = 1 / (1 + std::exp(-dot(weights, inputs_[n]))) - labels_[n];
      for (size_t i = 0; i < kSize; ++i) sum[i] += error * inputs_[n][i] / 8;
    }
    return sum;
  }

  double loss(const Floats& weights) const {
    double sum = 0;
    for (size_t n = 0; n < kExamples; ++n) {
      const double score = static_cast<double>(dot(weights, inputs_[n])) * (labels_[n] > 0 ? 1 : -1);
      sum += std::log1p(std::exp(-score));
    }
    return sum / kExamples;
  }

 private:
  static float dot(const Floats& x, const Floats& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0f);
  }

  const Floats truth_;
  std::vector<Floats> inputs_;
  Floats labels_;
};

// One step of the optimizer `momentum` with the mean of the gradients, as before compression begins.
void move_by_momentum(const DgcOptions& options, const std::vector<Floats>& gradients, Floats& velocity,
                      Floats& weights) {
  const float momentum = static_cast<float>(options.momentum);
  for (size_t i = 0; i < weights.size(); ++i) {
    float sum = 0;
    for (const Floats& gradient : gradients) sum += gradient[i];
    velocity[i] = momentum * velocity[i] - 0.05f * 0.25f * sum;
    weights[i] += velocity[i];
  }
}

double loss_after(const Regression& task, const DgcOptions& options, int steps,
                  uint64_t* values_sent = nullptr) {
  std::vector<DeepGradientCompression> trainers;
  for (uint64_t key = 0; key < 4; ++key)
    trainers.push_back({options, {.shape = {20, 50}, .num_trainers = 4, .seed = key}});
  Floats weights(Regression::kSize), velocity(Regression::kSize);
  for (int step = 0; step < steps; ++step) {
    std::vector<Floats> gradients;
    for (uint64_t t = 0; t < 4; ++t)
      gradients.push_back(task.gradient(weights, static_cast<uint64_t>(step), t));
    if (dgc_selected(options, step, Regression::kSize) == Regression::kSize) {
      move_by_momentum(options, gradients, velocity, weights);
      continue;
    }
    if (trainers[0].steps() == 0) {
      for (DeepGradientCompression& trainer : trainers) trainer.begin(step, velocity);
    }
    std::vector<SparseVector> parts(4);
    for (size_t t = 0; t < 4; ++t) {
      std::string bytes;
      trainers[t].step_sparse({gradients[t], 1, 0.05f}, weights, bytes);
      decode_sparse(SparseEncoding::kRun16, bytes, Regression::kSize, parts[t]);
      if (values_sent != nullptr) *values_sent += parts[t].size();
    }
    for (const SparseVector& part : parts) trainers[0].apply(part, weights);
  }
  return task.loss(weights);
}

TEST(Dgc, FourTrainersReachTheDenseLossAtAHundredthOfTheValues) {
  const Regression task;
  DgcOptions dense, sparse;
  dense.sparsity = {0};
  sparse.sparsity = {0.75, 0.9375, 0.984375, 0.99};
  sparse.rampup_step = 100;
  uint64_t sent = 0;
  const double expected = loss_after(task, dense, 1000), found = loss_after(task, sparse, 1000, &sent);
  EXPECT_LT(expected, 0.5);  // 0.69 at the beginning
  EXPECT_LT(found, expected + 0.02);
  EXPECT_EQ(sent, 4u * (25 * 250 + 25 * 62 + 25 * 15 + 925 * 10));
}

}  // namespace
}  // namespace ps::dgc_test
