// Trainers that train by themselves and bring their weights together, in threads: beside all_reduce, beside plain
// formulas, and from a state that was saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/wait_stopped.h"
#include "optim/optimizer_plan.h"
#include "optim/synthetic_parameter.h"
#include "store/averaging_store.h"
#include "store/collective_run.h"
#include "store/optimizer_states.h"
#include "strategy/strategy.h"
#include "support/thread_communicator.h"
#include "synthetic_batches.h"

namespace ps::averaging_test {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 8, kCols = 5;  // of the matrix
constexpr double kMomentum = 0.9, kRate = 0.1;

const Json kSgdOptimizer = {{"type", "sgd"}, {"learning_rate", kRate}};
const Json kMomentumOptimizer = {{"type", "momentum"}, {"momentum", kMomentum}, {"learning_rate", kRate}};
const Json kAdamOptimizer = {{"type", "adam"}, {"learning_rate", 0.01}};

std::vector<ParameterSpec> parameters() {
  return {synthetic_parameter("matrix", ParameterKind::kMatrix, false, kRows, kCols),
          synthetic_parameter("rows", ParameterKind::kRows, false, 30, 4),
          synthetic_parameter("mean", ParameterKind::kStatistic, false, 1, 3)};
}

int64_t samples_of(int rank) {
  return 3 + rank;
}

struct AveragingCase {
  int trainers = 3;
  std::vector<int64_t> steps = {12, 7, 9};                 // by trainer
  std::optional<AveragingOptions> options = std::nullopt;  // nothing: all_reduce
  Json optimizer = kMomentumOptimizer;
  int64_t save_at = -1;  // the first step at whose end all may be saved, and is loaded into new objects
};

AveragingOptions every(int64_t k_steps, int64_t begin_step = 0) {
  AveragingOptions options;
  options.begin_step = begin_step;
  options.interval.first = k_steps;
  return options;
}

// One trainer, which can be replaced by one that goes on from what this one has saved.
struct AveragingTrainer {
  AveragingTrainer(const AveragingCase& test, Communicator& communicator)
      : local(specs, make_optimizer_plan(test.optimizer, "mean"), UINT64_MAX, device),
        run(communicator.rank(), [] {}) {
    if (test.options) {
      averaging = std::make_unique<AveragingStore>(*test.options, specs, local, communicator, run);
      store = averaging.get();
    } else {
      whole = std::make_unique<AllReduceStore>(specs, local, communicator, run);
      store = whole.get();
    }
  }

  // A checkpoint has the weights and the optimizers' own state of trainer 0, which are those of all.
  void take(AveragingTrainer& other) {
    std::string optimizers, schedule, state;
    for (size_t p = 0; p < specs.size(); ++p) {
      const std::span<const float> weights = other.local.whole(static_cast<int>(p));
      if (kept(other, p)) {
        copy_parameter(other.local, specs[p], static_cast<int>(p), local);
      } else {
        local.load_all(static_cast<int>(p), weights.data());
      }
    }
    save_optimizers(other.local.tables(), optimizers);
    other.local.schedule().save(schedule);
    other.averaging->save(state);
    ByteReader optimizers_in(optimizers), schedule_in(schedule), state_in(state);
    load_optimizers(local.tables(), optimizers_in, optimizer_steps(other.local.tables()));
    local.schedule().advance(schedule_in);
    averaging->load(state_in);
  }

  // The state of the optimizer is that of all trainers, unless each keeps its own.
  bool kept(const AveragingTrainer& other, size_t p) const {
    return specs[p].kind != ParameterKind::kStatistic &&
           (!other.is_local || other.local.schedule().steps() <= other.begin_step);
  }

  void step(int rank, int64_t number) {
    std::vector<KeyPlan> plans(specs.size());
    for (uint64_t key = static_cast<uint64_t>(rank); key < 30; key += 3) plans[1].keys.push_back(key);
    std::vector<ParameterView<float>> views;
    store->pull(plans, PullMode::kTrain, views);
    fill_with_noise({views[0].gradient, static_cast<size_t>(kRows * kCols)}, rank, number, 0);
    fill_with_noise({views[1].row_gradients, plans[1].keys.size() * 4}, rank, number, 1);
    fill_with_noise({views[2].value, 3}, rank, number, 2);
    store->push(
        plans, views,
        {.samples = samples_of(rank), .pass = 0, .cost = 2.0 * static_cast<double>(samples_of(rank))});
  }

  std::vector<float> weights() { return whole_weights(local, specs.size()); }

  const std::vector<ParameterSpec> specs = parameters();
  Device device{1, best_cpu_level()};
  LocalStore local;
  CollectiveRun run;
  std::unique_ptr<AveragingStore> averaging;
  std::unique_ptr<AllReduceStore> whole;
  ParameterStore* store = nullptr;
  bool is_local = true;
  int64_t begin_step = 0;
};

using TrainerBody = std::function<void(int rank, Communicator& communicator)>;

void run_trainers(int trainers, const TrainerBody& body) {
  auto communicators = make_thread_communicators({.size = trainers, .algorithm = "direct"});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < trainers; ++rank) {
    threads.emplace_back([&, rank] {
      const auto own = std::move(communicators[static_cast<size_t>(rank)]);
      body(rank, *own);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Trains, and returns the weights of each trainer.
std::vector<std::vector<float>> train(const AveragingCase& test) {
  std::vector<std::vector<float>> weights(static_cast<size_t>(test.trainers));
  run_trainers(test.trainers, [&](int rank, Communicator& communicator) {
    const size_t r = static_cast<size_t>(rank);
    auto make = [&] {
      auto trainer = std::make_unique<AveragingTrainer>(test, communicator);
      if (!test.options) return trainer;
      trainer->is_local = test.options->optimizer_state == OptimizerStateRule::kLocal;
      trainer->begin_step = test.options->begin_step;
      return trainer;
    };
    auto trainer = make();
    for (int64_t step = 0; step < test.steps[r]; ++step) {
      trainer->step(rank, step);
      if (step != test.save_at) continue;
      auto next = make();
      next->take(*trainer);
      trainer = std::move(next);
    }
    trainer->store->end_pass(0);
    weights[r] = trainer->weights();
  });
  return weights;
}

// The same bits, not only equal values.
void expect_same(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size_bytes()), 0);
}

void expect_near(std::span<const float> found, std::span<const float> expected, float tolerance) {
  ASSERT_LE(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
}

TEST(Averaging, BeforeBeginStepItIsAllReduceBitForBit) {
  AveragingCase test;
  const auto whole = train(test);
  test.options = every(4, /*begin_step=*/12);
  for (const auto& weights : train(test)) expect_same(weights, whole[0]);
  test.options = every(4, /*begin_step=*/5);
  for (const auto& weights : train(test)) EXPECT_NE(weights, whole[0]);
}

// The mean of w - rate g over trainers, with the weights of their examples, is the step along the mean gradient.
TEST(Averaging, OfEveryStepOfSgdIsAllReduceToRounding) {
  AveragingCase test{.optimizer = kSgdOptimizer};
  const auto whole = train(test);
  test.options = every(1);
  for (const auto& weights : train(test)) expect_near(weights, whole[0], 2e-6f);
}

// ---- beside plain formulas, of the matrix alone

struct PlainTrainer {
  std::vector<float> w, m;
  int64_t step = 0, samples = 0;
};

// Steps of momentum of one trainer, until `k_steps` or its data end.
void train_alone(PlainTrainer& trainer, int rank, int64_t k_steps, int64_t steps) {
  const int64_t end = std::min(trainer.step + k_steps, steps);
  std::vector<float> gradient(trainer.w.size());
  trainer.samples = 0;
  for (; trainer.step < end; ++trainer.step) {
    fill_with_noise(gradient, rank, trainer.step, 0);
    const float scale = 1.0f / static_cast<float>(samples_of(rank));
    for (size_t i = 0; i < gradient.size(); ++i) {
      trainer.m[i] =
          static_cast<float>(kMomentum) * trainer.m[i] - static_cast<float>(kRate) * gradient[i] * scale;
      trainer.w[i] += trainer.m[i];
    }
    trainer.samples += samples_of(rank);
  }
}

// x <- the outer step, as its paper has it, in the gradient -move.
void take_outer_step(const OuterOptions& outer, double move, float& x, double& u) {
  const double a = outer.learning_rate, b = outer.momentum, rate = kRate;
  switch (outer.rule) {
    case OuterRule::kMean:
      x = static_cast<float>(x + move);
      return;
    case OuterRule::kSlowMomentum:  // u <- b u + (x - mean)/r; x <- x - a r u
      u = b * u + -move / rate;
      x = static_cast<float>(x - a * rate * u);
      return;
    case OuterRule::kNesterov:  // u <- b u + g; x <- x - a (g + b u)
      u = b * u + -move;
      x = static_cast<float>(x - a * (-move + b * u));
      return;
  }
}

std::vector<float> train_plainly(const AveragingCase& test, std::vector<float> x) {
  const AveragingOptions& options = *test.options;
  std::vector<double> u(x.size());
  std::vector<PlainTrainer> trainers(test.steps.size(), {x, std::vector<float>(x.size())});
  for (int64_t before = -1, done = 0; done != before;) {
    before = done, done = 0;
    int64_t samples = 0;
    for (size_t r = 0; r < trainers.size(); ++r) {
      train_alone(trainers[r], static_cast<int>(r), options.interval.first, test.steps[r]);
      samples += trainers[r].samples, done += trainers[r].step;
    }
    for (size_t i = 0; i < x.size() && samples > 0; ++i) {
      double move = 0, m = 0;
      for (const PlainTrainer& trainer : trainers) {
        const double share = static_cast<double>(trainer.samples) / static_cast<double>(samples);
        move += share * (trainer.w[i] - x[i]), m += share * trainer.m[i];
      }
      take_outer_step(options.outer, move, x[i], u[i]);
      for (PlainTrainer& trainer : trainers) {
        trainer.w[i] = x[i];
        if (options.optimizer_state == OptimizerStateRule::kReset) trainer.m[i] = 0;
        if (options.optimizer_state == OptimizerStateRule::kAveraged) trainer.m[i] = static_cast<float>(m);
      }
    }
  }
  return x;
}

std::vector<float> first_weights() {
  Device device(1, best_cpu_level());
  LocalStore fresh(parameters(), make_optimizer_plan(kMomentumOptimizer, "mean"), UINT64_MAX, device);
  const std::span<const float> start = fresh.whole(0);
  return {start.begin(), start.end()};
}

constexpr OptimizerStateRule kStateRules[] = {OptimizerStateRule::kLocal, OptimizerStateRule::kReset,
                                              OptimizerStateRule::kAveraged};
constexpr OuterOptions kOuterOptions[] = {{OuterRule::kMean, 1, 0},
                                          {OuterRule::kSlowMomentum, 0.8, 0.6},
                                          {OuterRule::kNesterov, 0.7, 0.9},
                                          {OuterRule::kNesterov, 0.7, 0}};

// Trainers have 12, 7 and 9 batches: also intervals that end early, or in which one has no data.
TEST(Averaging, IsThePlainAlgorithmWithEveryOuterStepAndTreatmentOfMomentum) {
  for (const int64_t k_steps : {1, 3, 4, 100}) {
    for (const OptimizerStateRule state : kStateRules) {
      for (const OuterOptions& outer : kOuterOptions) {
        SCOPED_TRACE(cat(k_steps, ", ", static_cast<int>(state), ", ", static_cast<int>(outer.rule)));
        AveragingCase test{.options = every(k_steps)};
        test.options->optimizer_state = state;
        test.options->outer = outer;
        const std::vector<float> expected = train_plainly(test, first_weights());
        const auto found = train(test);
        for (const auto& weights : found) expect_near(weights, expected, 2e-5f);
        for (const auto& weights : found) expect_same(weights, found[0]);
      }
    }
  }
}

// Each trainer sets the statistic in every step; the mean has the weights of the examples.
TEST(Averaging, StatisticsAreAveragedAndNoOuterStepMovesThem) {
  AveragingCase test{.steps = {4, 2, 4}, .options = every(4)};
  test.options->outer = {OuterRule::kNesterov, 0.7, 0.9};
  const int64_t samples[] = {4 * 3, 2 * 4, 4 * 5};
  float expected[3] = {};
  for (int rank = 0; rank < 3; ++rank) {
    float values[3];
    fill_with_noise(values, rank, test.steps[static_cast<size_t>(rank)] - 1, 2);
    for (size_t i = 0; i < 3; ++i) expected[i] += static_cast<float>(samples[rank]) / 40.0f * values[i];
  }
  for (const auto& weights : train(test)) expect_near(std::span(weights).last(3), expected, 1e-6f);
}

TEST(Averaging, ATrainerThatTakesUpTheStateGoesOnWithTheSameBits) {
  for (const Json& optimizer : {kMomentumOptimizer, kAdamOptimizer}) {
    for (const OptimizerStateRule state : {OptimizerStateRule::kLocal, OptimizerStateRule::kAveraged}) {
      for (const OuterOptions& outer : kOuterOptions) {
        AveragingCase test{.options = every(3, /*begin_step=*/1), .optimizer = optimizer};
        test.options->optimizer_state = state;
        test.options->outer = outer;
        const auto expected = train(test);
        for (const int64_t save_at :
             {0, 3, 6}) {  // before the first interval, after the first and the second
          test.save_at = save_at;
          for (const auto& weights : train(test)) expect_same(weights, expected[0]);
        }
      }
    }
  }
}

TEST(Averaging, AnAdaptiveIntervalGoesOnWithTheSameBits) {
  AveragingCase test{.steps = {12, 12, 12}, .options = every(4)};
  test.options->interval.rule = IntervalRule::kAdacomm;
  const auto expected = train(test);  // the cost does not fall: intervals of 4, 4, 2, 1, and 1 steps
  test.options->interval.rule = IntervalRule::kFixed;
  EXPECT_NE(train(test)[0], expected[0]);
  test.options->interval.rule = IntervalRule::kAdacomm;
  for (const int64_t save_at : {3, 7, 9, 10}) {
    test.save_at = save_at;
    for (const auto& weights : train(test)) expect_same(weights, expected[0]);
  }
}

TEST(Averaging, AStateCutShortIsRefused) {
  run_trainers(1, [](int, Communicator& communicator) {
    const AveragingCase test{.trainers = 1, .options = every(2)};
    AveragingTrainer trainer(test, communicator);
    trainer.step(0, 0);
    trainer.step(0, 1);
    std::string state;
    trainer.averaging->save(state);
    for (size_t size = 0; size < state.size(); size += 1 + size / 3) {
      AveragingTrainer other(test, communicator);
      ByteReader in(std::string_view(state).substr(0, size));
      EXPECT_THROW(other.averaging->load(in), Error) << size;
    }
    AveragingTrainer other(test, communicator);
    ByteReader in(state);
    other.averaging->load(in);
  });
}

// ---- of which few values travel

AveragingCase sparse_case(const SparseMovesOptions& moves) {
  AveragingCase test{.options = every(3)};
  test.options->outer = {OuterRule::kNesterov, 0.8, 0};
  test.options->sparse = moves;
  return test;
}

TEST(Averaging, OfAllValuesInFullSparseMovesAreWholeOnes) {
  const AveragingCase sparse = sparse_case({.density = 1, .decay = 1, .encoding = SparseEncoding::kVarint});
  AveragingCase whole = sparse;
  whole.options->sparse = std::nullopt;
  const auto expected = train(whole);
  for (const auto& weights : train(sparse)) expect_same(weights, expected[0]);
}

TEST(Averaging, SparseMovesGiveAllTheSameBitsWhateverTheExchange) {
  for (const SparseEncoding encoding : kSparseEncodings) {
    AveragingCase test = sparse_case({.density = 0.1, .encoding = encoding});
    const auto expected = train(test);
    for (const auto& exchange :
         {SparseExchange::kAllGather, SparseExchange::kOwnerSplit, SparseExchange::kDense}) {
      test.options->sparse->exchange = exchange;
      for (const auto& weights : train(test)) expect_same(weights, expected[0]);
    }
  }
}

// e <- b e + d; sent: the `selected` largest of e; e <- e - sent; x <- x + a (sum of what is sent), for the matrix.
std::vector<float> train_sparsely(const AveragingCase& test, std::vector<float> x, size_t selected) {
  const AveragingOptions& options = *test.options;
  const size_t n = x.size();
  std::vector<PlainTrainer> trainers(test.steps.size(), {x, std::vector<float>(n)});
  std::vector<std::vector<float>> errors(trainers.size(), std::vector<float>(n));
  for (;;) {
    int64_t samples = 0;
    for (size_t r = 0; r < trainers.size(); ++r) {
      train_alone(trainers[r], static_cast<int>(r), options.interval.first, test.steps[r]);
      samples += trainers[r].samples;
    }
    if (samples == 0) return x;
    std::vector<float> sum(n);
    for (size_t r = 0; r < trainers.size(); ++r) {
      const float share = static_cast<float>(trainers[r].samples) / static_cast<float>(samples);
      std::vector<float>& e = errors[r];
      std::vector<size_t> order(n);
      for (size_t i = 0; i < n; ++i) {
        e[i] = static_cast<float>(options.sparse->decay) * e[i] + share * (trainers[r].w[i] - x[i]);
        order[i] = i;
      }
      std::ranges::stable_sort(order, [&](size_t a, size_t b) { return std::fabs(e[a]) > std::fabs(e[b]); });
      for (size_t k = 0; k < selected; ++k) {
        sum[order[k]] += e[order[k]];
        e[order[k]] = 0;
      }
    }
    for (size_t i = 0; i < n; ++i) x[i] += static_cast<float>(options.outer.learning_rate) * sum[i];
    for (PlainTrainer& trainer : trainers) trainer.w = x;
  }
}

TEST(Averaging, SparseMovesAreThePlainAlgorithm) {
  const AveragingCase test =
      sparse_case({.density = 0.25, .decay = 0.9, .encoding = SparseEncoding::kVarint});
  const std::vector<float> expected = train_sparsely(test, first_weights(), kRows * kCols / 4);
  for (const auto& weights : train(test)) expect_near(weights, expected, 2e-5f);
}

TEST(Averaging, ATrainerThatTakesUpTheRestOfSparseMovesGoesOnWithTheSameBits) {
  AveragingCase test = sparse_case({.density = 0.1});
  const auto expected = train(test);
  for (const int64_t save_at : {2, 5}) {
    test.save_at = save_at;
    for (const auto& weights : train(test)) expect_same(weights, expected[0]);
  }
}

// ---- what all trainers have in common

TEST(Averaging, TheScheduleCountsTheExamplesAndStepsOfAllTrainers) {
  const AveragingCase test{.options = every(4, /*begin_step=*/2)};
  run_trainers(3, [&](int rank, Communicator& communicator) {
    AveragingTrainer trainer(test, communicator);
    for (int64_t step = 0; step < test.steps[static_cast<size_t>(rank)]; ++step) trainer.step(rank, step);
    trainer.store->end_pass(0);
    EXPECT_EQ(trainer.local.schedule().samples(), 12 * 3 + 7 * 4 + 9 * 5);
    EXPECT_EQ(trainer.local.schedule().steps(), 12);
    const uint64_t values = kRows * kCols + 30 * 4 + 3 + 8;  // and those of the header
    EXPECT_EQ(trainer.averaging->whole_bytes(), 12 * (2 * 2 * values * sizeof(float) / 3));
  });
}

// Due at the third step, and taken at the end of its interval; trainer 1 asks for the end in the second interval.
TEST(Averaging, CheckpointsAndTheEndComeWhereAnIntervalEnds) {
  AveragingCase test{.steps = {12, 12, 12}, .options = every(4)};
  run_trainers(3, [&](int rank, Communicator& communicator) {
    AveragingTrainer trainer(test, communicator);
    std::vector<int64_t> taken;
    trainer.run.peer_checkpoints()->on_checkpoint([&] { return trainer.local.schedule().steps() + 1 == 3; },
                                                  [&] { taken.push_back(trainer.local.schedule().steps()); });
    int64_t step = 0;
    for (; step < 12 && !trainer.run.stops(rank == 1 && step == 5); ++step) trainer.step(rank, step);
    EXPECT_EQ(step, 8);
    EXPECT_EQ(taken, (std::vector<int64_t>{4, 8}));
  });
}

// Trainer 2 has no data, and waits in the pass that trainer 0 ends early.
TEST(Averaging, ATrainerWithoutDataEndsWithTheOthers) {
  const AveragingCase test{.options = every(4)};
  run_trainers(3, [&](int rank, Communicator& communicator) {
    AveragingTrainer trainer(test, communicator);
    if (rank == 2) {
      EXPECT_THROW(trainer.store->end_pass(0), WaitStopped);
    } else {
      int64_t step = 0;
      for (; step < 12 && !trainer.run.stops(rank == 0 && step == 5); ++step) trainer.step(rank, step);
      EXPECT_EQ(step, 8);
    }
    EXPECT_EQ(trainer.local.schedule().steps(), 8);
  });
}

// ---- what a job may say

std::string refusal(const Json& strategy, const Json& optimizer) {
  try {
    find_strategy(strategy).check(strategy, optimizer);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "accepted";
}

TEST(Averaging, JobsSayTheIntervalAndWhatBecomesOfMomentum) {
  const Json post = {{"type", "post_local_sgd"}, {"k_steps", 8}}, adaptive = {{"type", "adaptive_local_sgd"}};
  const Json slow = {{"type", "slow_momentum"}, {"k_steps", 8}},
             diloco = {{"type", "diloco"}, {"k_steps", 8}};
  const Json sparse = {{"type", "sparse_diloco"}, {"k_steps", 8}};
  for (const Json& strategy : {post, adaptive, slow, diloco, sparse}) {
    EXPECT_EQ(refusal(strategy, kAdamOptimizer), "accepted");
    EXPECT_THAT(refusal(strategy, {{"type", "ftrl"}}), HasSubstr("optimizer.type: ftrl"));
    Json averaging = kSgdOptimizer;
    averaging["average"] = Json::object();
    EXPECT_THAT(refusal(strategy, averaging), HasSubstr("optimizer.average: with train.strategy"));
    Json resets = strategy;
    resets["optimizer_state"] = "reset";
    EXPECT_EQ(refusal(resets, kMomentumOptimizer), "accepted");
    EXPECT_THAT(refusal(resets, kAdamOptimizer), HasSubstr("train.strategy.optimizer_state: reset"));
  }
  EXPECT_THAT(refusal({{"type", "post_local_sgd"}}, kSgdOptimizer),
              HasSubstr("train.strategy.k_steps: missing"));
  EXPECT_THAT(refusal({{"type", "adaptive_local_sgd"}, {"init_k_steps", 17}}, kSgdOptimizer),
              HasSubstr("train.strategy.init_k_steps: 17"));
  EXPECT_THAT(refusal({{"type", "slow_momentum"}, {"k_steps", 8}, {"slow_momentum", 1}}, kSgdOptimizer),
              HasSubstr("train.strategy.slow_momentum: 1"));
  EXPECT_THAT(refusal({{"type", "diloco"}, {"k_steps", 8}, {"outer_momentum", 1}}, kSgdOptimizer),
              HasSubstr("train.strategy.outer_momentum: 1"));
  EXPECT_THAT(refusal({{"type", "adaptive_local_sgd"}, {"rule", "none"}}, kSgdOptimizer),
              HasSubstr("train.strategy.rule"));
}

}  // namespace
}  // namespace ps::averaging_test
