// PowerSGD as trainers run it, in threads: beside all_reduce, beside a plain reference, and from a state that was saved.
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/model_devices.h"
#include "exchange_trainer.h"
#include "model/model_device.h"
#include "store/power_sgd_exchange.h"

namespace ps::power_sgd_test {
namespace {

constexpr int64_t kRows = kExchangeRows, kCols = kExchangeCols;
constexpr double kRate = kExchangeRate;

using PowerCase = ExchangeCase<PowerSgdOptions>;
using PowerTrainer = ExchangeTrainer<PowerSgdExchange, PowerSgdOptions>;

std::vector<std::vector<float>> train(const PowerCase& test, std::vector<uint64_t>* bytes = nullptr) {
  return train_exchange<PowerSgdExchange>(test, bytes);
}

// Gradients that are products of two vectors.
void fill_rank_one(std::span<float> values, int64_t cols, int rank, int64_t step, size_t parameter) {
  Random random = batch_random(rank, step, parameter);
  std::vector<float> row(static_cast<size_t>(cols));
  for (float& value : row) value = noise(random);
  for (size_t i = 0; i < values.size(); i += row.size()) {
    const float factor = noise(random);
    for (size_t j = 0; j < row.size(); ++j) values[i + j] = factor * row[j] / 4;
  }
}

TEST(PowerSgd, BeforeBeginStepItIsAllReduceBitForBit) {
  PowerCase test{.steps = {9, 5, 7}};
  const auto whole = train(test);
  test.options = PowerSgdOptions{.rank = 2, .begin_step = 9};
  for (const auto& weights : train(test)) expect_same_bits(weights, whole[0]);
  test.options->begin_step = 4;
  for (const auto& weights : train(test)) EXPECT_NE(weights, whole[0]);
}

TEST(PowerSgd, AllTrainersHaveTheSameBitsAlsoWithoutData) {
  PowerCase test{.steps = {9, 5, 7}, .options = PowerSgdOptions{}};
  const auto found = train(test);
  for (const auto& weights : found) expect_same_bits(weights, found[0]);
}

// The sum of two products of vectors has rank 2, and one step of power iteration with three vectors finds it.
TEST(PowerSgd, OfGradientsOfLowRankItIsAllReduceToRounding) {
  PowerCase test{.steps = {9, 9}, .optimizer = kExchangeSgd, .fill = fill_rank_one};
  const auto whole = train(test);
  auto largest_difference = [&](int64_t rank) {
    test.options = PowerSgdOptions{.rank = rank};
    const auto found = train(test);
    float largest = 0;
    for (size_t i = 0; i < found[1].size(); ++i)
      largest = std::max(largest, std::fabs(found[1][i] - whole[0][i]));
    return largest;
  };
  EXPECT_LT(largest_difference(3), 1e-5f);
  EXPECT_GT(largest_difference(1), 1e-2f);
}

// ---- beside the formulas, in double, for the matrix alone

using Doubles = std::vector<double>;

void orthonormalise_one(double* v, size_t size) {
  const double norm = std::sqrt(std::inner_product(v, v + size, v, 0.0));
  for (size_t i = 0; i < size; ++i) v[i] /= norm;
}

// Vectors [n, size], one after the other, made orthonormal by the modified method of Gram and Schmidt.
void orthonormalise(Doubles& vectors, size_t n, size_t size) {
  for (size_t k = 0; k < n; ++k) {
    double* v = &vectors[k * size];
    for (size_t other = 0; other < k; ++other) {
      const double* w = &vectors[other * size];
      const double dot = std::inner_product(v, v + size, w, 0.0);
      for (size_t i = 0; i < size; ++i) v[i] -= dot * w[i];
    }
    orthonormalise_one(v, size);
  }
}

// out [rows] += M v; out [cols] += M^T v
void add_product(const Doubles& m, const double* v, double* out) {
  for (size_t i = 0; i < m.size(); ++i) out[i / kCols] += m[i] * v[i % kCols];
}
void add_transposed(const Doubles& m, const double* v, double* out) {
  for (size_t i = 0; i < m.size(); ++i) out[i % kCols] += m[i] * v[i / kCols];
}

// m += factor P^T Q
void add_factors(const Doubles& p, const Doubles& q, size_t rank, double factor, Doubles& m) {
  for (size_t k = 0; k < rank; ++k) {
    for (size_t i = 0; i < m.size(); ++i)
      m[i] += factor * p[k * kRows + i / kCols] * q[k * kCols + i % kCols];
  }
}

// Weights after the steps.  Q begins as warm_start makes it; residuals are in the units of the mean gradient.
Doubles train_plainly(const PowerCase& test, const std::vector<float>& start,
                      const std::vector<float>& first_q) {
  const size_t rank = static_cast<size_t>(test.options->rank), trainers = test.steps.size();
  Doubles w(start.begin(), start.end()), q(first_q.begin(), first_q.end());
  std::vector<Doubles> rest(trainers, Doubles(w.size()));
  std::vector<float> gradient(w.size());
  for (int64_t step = 0; step < test.steps[0]; ++step) {
    double samples = 0;
    for (size_t r = 0; r < trainers; ++r) samples += 3.0 + static_cast<double>(r);
    Doubles p(rank * kRows);
    for (size_t k = 0; k < rank; ++k) orthonormalise_one(&q[k * kCols], kCols);
    for (size_t r = 0; r < trainers; ++r) {
      test.fill(gradient, kCols, static_cast<int>(r), step, 0);
      for (size_t i = 0; i < w.size(); ++i) rest[r][i] += static_cast<double>(gradient[i]) / samples;
      for (size_t k = 0; k < rank; ++k) add_product(rest[r], &q[k * kCols], &p[k * kRows]);
    }
    orthonormalise(p, rank, kRows);
    q.assign(rank * kCols, 0);
    for (size_t r = 0; r < trainers; ++r) {
      Doubles own(q.size());
      for (size_t k = 0; k < rank; ++k) add_transposed(rest[r], &p[k * kRows], &own[k * kCols]);
      add_factors(p, own, rank, -1, rest[r]);
      for (size_t j = 0; j < q.size(); ++j) q[j] += own[j];
    }
    add_factors(p, q, rank, -kRate, w);
  }
  return w;
}

TEST(PowerSgd, IsThePlainAlgorithm) {
  for (const int64_t rank : {1, 2, 3}) {
    PowerCase test{.options = PowerSgdOptions{.rank = rank}, .optimizer = kExchangeSgd};
    Device device(1, best_cpu_level());
    LocalStore fresh(mixed_parameters(kRows, kCols), make_optimizer_plan(kExchangeSgd, "mean"), UINT64_MAX,
                     device);
    const std::span<const float> start = fresh.whole(0);
    std::vector<float> first_q(static_cast<size_t>(rank * kCols));
    warm_start(vector_kernels(best_cpu_level()), {.rank = rank, .rows = kRows, .cols = kCols},
               mixed_parameters(kRows, kCols)[0].initializer.seed, /*key=*/0,
               /*step=*/0, first_q);
    const Doubles expected = train_plainly(test, {start.begin(), start.end()}, first_q);
    for (const auto& weights : train(test)) {
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(weights[i], expected[i], 1e-4) << rank << ", " << i;
    }
  }
}

// ---- checkpoints, bytes

TEST(PowerSgd, ATrainerThatTakesUpTheStateGoesOnWithTheSameBits) {
  for (const int64_t save_at : {1, 3, 7}) {  // before compression begins, soon after, and late
    PowerCase test{.options = PowerSgdOptions{.rank = 2, .begin_step = 3}};
    const auto expected = train(test);
    test.save_at = save_at;
    for (const auto& weights : train(test)) expect_same_bits(weights, expected[0]);
  }
}

TEST(PowerSgd, AStateCutShortOrOfAnotherModelIsRefused) {
  auto communicators = make_thread_communicators({.size = 1});
  const PowerCase test{.steps = {1}, .options = PowerSgdOptions{}};
  PowerTrainer trainer(test, *communicators[0]);
  trainer.step(0, 0);
  std::string state;
  trainer.exchange->save(state);
  ASSERT_FALSE(state.empty());
  for (size_t size = 1; size < state.size(); size += 1 + size / 3) {
    PowerTrainer other(test, *communicators[0]);
    ByteReader in(std::string_view(state).substr(0, size));
    EXPECT_THROW(other.exchange->load(in), Error) << size;
  }
  for (const uint32_t parameter : {1u, 3u, 4u}) {
    PowerTrainer other(test, *communicators[0]);
    std::string wrong = state;
    std::memcpy(wrong.data(), &parameter, sizeof parameter);
    ByteReader in(wrong);
    EXPECT_THROW(other.exchange->load(in), Error) << parameter;
  }
}

// A matrix of 40 x 25 and rows of 30 x 4 as factors of rank 2; a bias, a statistic and a header are whole.
TEST(PowerSgd, SendsAsManyBytesAsItsFactorsHave) {
  std::vector<uint64_t> bytes;
  train({.steps = {9, 9}, .options = PowerSgdOptions{.rank = 2}}, &bytes);
  const uint64_t values = 2 * (40 + 25) + 2 * (30 + 4) + 25 + 3 + 8;
  EXPECT_GT(bytes[0], 9 * values * sizeof(float));
  EXPECT_LT(bytes[0],
            9 * (values * sizeof(float) + 600) + 3000);  // frames; the step in which nobody has data
}

// ---- on a device

std::shared_ptr<DeviceKernels> place_on_device(PowerSgdOptions& options, Device& host) {
  std::shared_ptr<ModelDevice> model = make_emulated_model_device();
  options.device = compression_device_of(model, host);
  options.on_device = {true, true, true, true};
  return model;
}

// Some trainers have no data in the last steps; one has none when compression begins.
TEST(PowerSgd, OnADeviceItHasTheBitsAndTheBytesOfTheProcessor) {
  const Json adam = {{"type", "adam"}, {"learning_rate", kExchangeRate}, {"average", {{"begin_step", 4}}}};
  for (const int64_t rank : {1, 2, 5}) {
    for (const Json& optimizer : {kExchangeMomentum, adam}) {
      SCOPED_TRACE(std::to_string(rank) + " " + optimizer.dump());
      PowerCase test{.steps = {8, 5, 2},
                     .options = PowerSgdOptions{.rank = rank, .begin_step = 3},
                     .optimizer = optimizer};
      std::vector<uint64_t> bytes, bytes_there;
      const auto expected = train(test, &bytes);
      test.place = place_on_device;
      test.all_have_some_there = false;
      for (const auto& weights : train(test, &bytes_there)) expect_same_bits(weights, expected[0]);
      EXPECT_EQ(bytes_there, bytes);
    }
  }
}

TEST(PowerSgd, AStateFromADeviceIsThatOfTheProcessor) {
  auto communicators = make_thread_communicators({.size = 1});
  PowerCase test{.steps = {4}, .options = PowerSgdOptions{}};
  PowerTrainer here(test, *communicators[0]);
  test.place = place_on_device;
  PowerTrainer there(test, *communicators[0]), again(test, *communicators[0]);
  for (int64_t step = 0; step < 4; ++step) here.step(0, step), there.step(0, step);
  EXPECT_EQ(here.exchange->describe().at("compressed_there"), 0);
  EXPECT_EQ(there.exchange->describe().at("compressed_there"), 1);
  EXPECT_GT(there.gradients_there, 0);
  std::string expected, state;
  here.exchange->save(expected);
  there.exchange->save(state);
  EXPECT_EQ(state, expected);
  PowerTrainer back(here.test, *communicators[0]);
  back.take(there);
  again.take(back);
  here.step(0, 4), back.step(0, 4), again.step(0, 4);
  expect_same_bits(back.weights(), here.weights());
  expect_same_bits(again.weights(), here.weights());
}

TEST(PowerSgd, OnADeviceAGradientThatIsNoNumberIsRefused) {
  auto communicators = make_thread_communicators({.size = 1});
  PowerCase test{.steps = {1}, .options = PowerSgdOptions{}};
  test.place = place_on_device;
  test.fill = [](std::span<float> values, int64_t, int, int64_t, size_t parameter) {
    std::ranges::fill(values, parameter == 0 ? NAN : 1.0f);
  };
  PowerTrainer trainer(test, *communicators[0]);
  EXPECT_THROW(trainer.step(0, 0), Error);
}

}  // namespace
}  // namespace ps::power_sgd_test
