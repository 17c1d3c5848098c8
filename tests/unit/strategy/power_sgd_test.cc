// PowerSGD as trainers run it, in threads: beside all_reduce, beside a plain reference, and from a state that was saved.
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "collective/thread_communicator.h"
#include "optim/optimizer_plan.h"
#include "store/all_reduce_store.h"
#include "store/collective_run.h"
#include "store/power_sgd_exchange.h"
#include "synthetic_batches.h"

namespace ps {
namespace {

constexpr int64_t kRows = 40, kCols = 25;  // of the matrix
constexpr double kRate = 0.1;

const Json kSgdOptimizer = {{"type", "sgd"}, {"learning_rate", kRate}};
const Json kMomentumOptimizer = {{"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", kRate}};

std::vector<ParameterSpec> parameters() {
  return mixed_parameters(kRows, kCols);
}

struct PowerCase {
  std::vector<int64_t> steps = {9, 9, 9};                 // by trainer
  std::optional<PowerSgdOptions> options = std::nullopt;  // nothing: all_reduce
  Json optimizer = kMomentumOptimizer;
  int64_t save_at = -1;   // the step after which all is saved, and loaded into new objects
  bool rank_one = false;  // gradients are products of two vectors
};

// Gradients of one trainer's batch: noise of (rank, step, parameter).
void fill(std::span<float> values, int64_t cols, bool rank_one, int rank, int64_t step, size_t parameter) {
  Random random = batch_random(rank, step, parameter);
  std::vector<float> row(static_cast<size_t>(cols));
  for (float& value : row) value = noise(random);
  for (size_t i = 0; i < values.size(); i += row.size()) {
    const float factor = noise(random);
    for (size_t j = 0; j < row.size(); ++j) values[i + j] = rank_one ? factor * row[j] / 4 : noise(random);
  }
}

// One trainer, which can be replaced by one that goes on from what this one has saved.
struct PowerTrainer {
  PowerTrainer(const PowerCase& given, Communicator& communicator)
      : test(given),
        local(specs, make_optimizer_plan(test.optimizer, "mean"), UINT64_MAX, device),
        run(communicator.rank(), [] {}) {
    if (test.options)
      exchange = std::make_unique<PowerSgdExchange>(*test.options, specs, local, communicator);
    store = std::make_unique<AllReduceStore>(specs, local, communicator, run, exchange.get());
  }

  void take(const PowerTrainer& other) {
    for (size_t p = 0; p < specs.size(); ++p)
      copy_parameter(other.local, specs[p], static_cast<int>(p), local);
    copy_schedule(other.local, local);
    std::string state;
    other.exchange->save(state);
    ByteReader own(state);
    exchange->load(own);
  }

  void step(int rank, int64_t number) {
    std::vector<KeyPlan> plans(specs.size());
    for (uint64_t key = static_cast<uint64_t>(rank); key < 30; key += 3) plans[2].keys.push_back(key);
    std::vector<ParameterView<float>> views;
    store->pull(plans, PullMode::kTrain, views);
    fill({views[0].gradient, static_cast<size_t>(kRows * kCols)}, kCols, test.rank_one, rank, number, 0);
    fill({views[1].gradient, static_cast<size_t>(kCols)}, kCols, test.rank_one, rank, number, 1);
    fill({views[2].row_gradients, plans[2].keys.size() * 4}, 4, test.rank_one, rank, number, 2);
    fill({views[3].value, 3}, 3, test.rank_one, rank, number, 3);
    store->push(plans, views, {.samples = 3 + rank, .pass = 0});
  }

  std::vector<float> weights() { return whole_weights(local, specs.size()); }

  const PowerCase test;
  const std::vector<ParameterSpec> specs = parameters();
  Device device{1};
  LocalStore local;
  CollectiveRun run;
  std::unique_ptr<PowerSgdExchange> exchange;
  std::unique_ptr<AllReduceStore> store;
};

// Trains, and returns the weights of each trainer.
std::vector<std::vector<float>> train(const PowerCase& test, std::vector<uint64_t>* bytes = nullptr) {
  const int size = static_cast<int>(test.steps.size());
  auto communicators = make_thread_communicators({.size = size, .algorithm = "direct"});
  std::vector<std::vector<float>> weights(test.steps.size());
  if (bytes != nullptr) bytes->resize(test.steps.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < test.steps.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto own = std::move(communicators[r]);
      auto trainer = std::make_unique<PowerTrainer>(test, *own);
      for (int64_t step = 0; step < test.steps[r]; ++step) {
        trainer->step(static_cast<int>(r), step);
        if (step != test.save_at) continue;
        auto next = std::make_unique<PowerTrainer>(test, *own);
        next->take(*trainer);
        trainer = std::move(next);
      }
      trainer->store->end_pass(0);
      weights[r] = trainer->weights();
      for (int to = 0; bytes != nullptr && to < size; ++to) (*bytes)[r] += own->bytes_sent(to);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return weights;
}

// The same bits, not only equal values.
void expect_same(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size_bytes()), 0);
}

TEST(PowerSgd, BeforeBeginStepItIsAllReduceBitForBit) {
  PowerCase test{.steps = {9, 5, 7}};
  const auto whole = train(test);
  test.options = PowerSgdOptions{.rank = 2, .begin_step = 9};
  for (const auto& weights : train(test)) expect_same(weights, whole[0]);
  test.options->begin_step = 4;
  for (const auto& weights : train(test)) EXPECT_NE(weights, whole[0]);
}

TEST(PowerSgd, AllTrainersHaveTheSameBitsAlsoWithoutData) {
  PowerCase test{.steps = {9, 5, 7}, .options = PowerSgdOptions{}};
  const auto found = train(test);
  for (const auto& weights : found) expect_same(weights, found[0]);
}

// The sum of two products of vectors has rank 2, and one step of power iteration with three vectors finds it.
TEST(PowerSgd, OfGradientsOfLowRankItIsAllReduceToRounding) {
  PowerCase test{.steps = {9, 9}, .optimizer = kSgdOptimizer, .rank_one = true};
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
      fill(gradient, kCols, test.rank_one, static_cast<int>(r), step, 0);
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
    PowerCase test{.options = PowerSgdOptions{.rank = rank}, .optimizer = kSgdOptimizer};
    Device device(1);
    LocalStore fresh(parameters(), make_optimizer_plan(kSgdOptimizer, "mean"), UINT64_MAX, device);
    const std::span<const float> start = fresh.whole(0);
    std::vector<float> first_q(static_cast<size_t>(rank * kCols));
    warm_start({.rank = rank, .rows = kRows, .cols = kCols}, parameters()[0].initializer.seed, /*key=*/0,
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
    for (const auto& weights : train(test)) expect_same(weights, expected[0]);
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

}  // namespace
}  // namespace ps
