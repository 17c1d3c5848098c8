// Deep Gradient Compression as trainers run it, in threads: beside all_reduce, beside a plain reference, and from a
// state that was saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/model_devices.h"
#include "exchange_trainer.h"
#include "model/model_device.h"
#include "store/dgc_exchange.h"
#include "strategy/strategy.h"
#include "support/environment.h"

namespace ps::dgc_test {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = kExchangeRows, kCols = kExchangeCols;
constexpr double kMomentum = 0.9, kRate = kExchangeRate;  // of kExchangeMomentum

using DgcCase = ExchangeCase<DgcExchangeOptions>;
using DgcTrainer = ExchangeTrainer<DgcExchange, DgcExchangeOptions>;

std::vector<std::vector<float>> train(const DgcCase& test, std::vector<uint64_t>* bytes = nullptr) {
  return train_exchange<DgcExchange>(test, bytes);
}

// So many steps of each trainer.
std::vector<int64_t> twelve_steps(int trainers) {
  return std::vector<int64_t>(static_cast<size_t>(trainers), 12);
}

DgcExchangeOptions dgc_options(std::vector<double> sparsity, int64_t begin = 0) {
  DgcExchangeOptions options;
  options.dgc.momentum = kMomentum;
  options.dgc.sparsity = std::move(sparsity);
  options.dgc.rampup_begin_step = begin;
  options.dgc.rampup_step = 8;
  options.dgc.selection = "exact";
  return options;
}

TEST(DgcStrategy, WithoutCompressionItIsAllReduceBitForBit) {
  Json clipped = kExchangeMomentum;
  clipped["nesterov"] = true, clipped["l2"] = 0.01, clipped["clip_norm"] = 2;
  for (int trainers : {1, 2, 3}) {
    for (const Json& optimizer : {kExchangeMomentum, clipped}) {
      DgcCase test{.steps = twelve_steps(trainers), .optimizer = optimizer};
      const auto whole = train(test);
      test.options = dgc_options({0});
      for (const auto& weights : train(test)) expect_same_bits(weights, whole[0]);
      test.options = dgc_options({0.9}, /*begin=*/12);
      for (const auto& weights : train(test)) expect_same_bits(weights, whole[0]);
      test.options = dgc_options({0.9}, /*begin=*/11);
      for (const auto& weights : train(test)) EXPECT_NE(weights, whole[0]);
    }
  }
}

TEST(DgcStrategy, AllTrainersHaveTheSameBitsWhateverTheExchange) {
  for (const char* encoding : {"index32", "run16", "varint", "varint_f16", "varint_int8"}) {
    DgcCase test{.steps = {12, 7, 9}, .options = dgc_options({0.75, 0.9375}, 2)};
    test.options->dgc.encoding = encoding;
    test.options->exchange = SparseExchange::kAllGather;
    const auto gathered = train(test);
    for (const auto& exchange :
         {std::optional<SparseExchange>(), std::optional(SparseExchange::kAllGather),
          std::optional(SparseExchange::kOwnerSplit), std::optional(SparseExchange::kDense)}) {
      test.options->exchange = exchange;
      for (const auto& weights : train(test)) expect_same_bits(weights, gathered[0]);
    }
  }
}

// The formulas of codec/dgc.h, one after the other, for the matrix alone.
std::vector<float> train_plainly(int trainers, int64_t steps, int64_t begin, uint64_t selected,
                                 std::vector<float> w) {
  const size_t n = w.size();
  const float m = static_cast<float>(kMomentum), rate = static_cast<float>(kRate);
  std::vector<float> whole_u(n);
  std::vector<std::vector<float>> u(static_cast<size_t>(trainers)), v(u.size(), std::vector<float>(n));
  for (int64_t step = 0; step < steps; ++step) {
    float samples = 0;
    for (int rank = 0; rank < trainers; ++rank) samples += static_cast<float>(3 + rank);
    std::vector<float> sum(n, -0.0f), own(n);
    if (step == begin) std::ranges::fill(u, whole_u);
    for (int rank = 0; rank < trainers; ++rank) {
      fill_with_noise(own, rank, step, 0);
      const size_t r = static_cast<size_t>(rank);
      if (step < begin) {
        for (size_t i = 0; i < n; ++i) sum[i] += own[i];
        continue;
      }
      const float scale = 1.0f / samples * static_cast<float>(trainers);
      for (size_t i = 0; i < n; ++i) {
        u[r][i] = m * u[r][i] + -rate * (own[i] * scale);
        v[r][i] += u[r][i];
      }
      std::vector<size_t> order(n);
      for (size_t i = 0; i < n; ++i) order[i] = i;
      std::ranges::stable_sort(order,
                               [&](size_t a, size_t b) { return std::fabs(v[r][a]) > std::fabs(v[r][b]); });
      for (size_t k = 0; k < selected; ++k) {
        sum[order[k]] += v[r][order[k]];
        v[r][order[k]] = u[r][order[k]] = 0;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      if (step < begin) whole_u[i] = m * whole_u[i] + -rate * (sum[i] * (1.0f / samples));
      w[i] += step < begin ? whole_u[i] : 1.0f / static_cast<float>(trainers) * sum[i];
    }
  }
  return w;
}

TEST(DgcStrategy, IsThePlainAlgorithmAndBeginsWithTheMomentumOfTheStepsBefore) {
  for (int trainers : {2, 3}) {
    const DgcCase test{.steps = twelve_steps(trainers), .options = dgc_options({0.95}, 4)};
    Device device(1, best_cpu_level());
    LocalStore fresh(test.specs, make_optimizer_plan(kExchangeMomentum, "mean"), UINT64_MAX, device);
    const std::span<const float> start = fresh.whole(0);
    const std::vector<float> expected = train_plainly(
        trainers, 12, 4, static_cast<uint64_t>(kRows * kCols) / 20, {start.begin(), start.end()});
    for (const auto& weights : train(test)) {
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(weights[i], expected[i], 2e-5) << i;
    }
  }
}

TEST(DgcStrategy, ATrainerThatTakesUpTheStateGoesOnWithTheSameBits) {
  for (int64_t save_at : {1, 5, 10}) {  // before compression begins, soon after, and late
    DgcCase test{.steps = twelve_steps(3), .options = dgc_options({0.75, 0.99}, 3)};
    const auto expected = train(test);
    test.save_at = save_at;
    for (const auto& weights : train(test)) expect_same_bits(weights, expected[0]);
  }
}

// Each trainer has a device, on which its gradient of the matrix is made.  Some have no data in the last steps.
TEST(DgcStrategy, OnADeviceItSelectsWhatTheProcessorSelectsBitForBit) {
  const auto place = [](DgcExchangeOptions& options, Device&) {
    std::shared_ptr<ModelDevice> model = make_emulated_model_device();
    options.device = dgc_device_of(model);
    options.on_device = {true, true, true, true};
    return model;
  };
  Json decayed = kExchangeMomentum;
  decayed["nesterov"] = true, decayed["l2"] = 0.01;
  const int64_t every = try_every(3);
  int64_t number = 0;
  for (const char* encoding : {"run16", "varint_f16", "varint_int8", "varint_int2"}) {
    for (const char* selection : {"exact", "sampled"}) {
      for (const Json& optimizer : {kExchangeMomentum, decayed}) {
        for (int64_t save_at : {-1, 3}) {
          if (number++ % every != 0) continue;
          SCOPED_TRACE(std::string(encoding) + " " + selection + " " + optimizer.dump());
          DgcCase test{.steps = {9, 5, 7}, .options = dgc_options({0.75, 0.99}, 2), .optimizer = optimizer};
          test.options->dgc.encoding = encoding, test.options->dgc.selection = selection;
          test.options->dgc.factor_masking = save_at < 0;
          test.options->dgc.nesterov = optimizer.contains("nesterov");
          test.options->dgc.l2 = optimizer.value("l2", 0.0);
          std::vector<uint64_t> bytes, bytes_there;
          const auto expected = train(test, &bytes);
          test.place = place, test.save_at = save_at;
          for (const auto& weights : train(test, &bytes_there)) expect_same_bits(weights, expected[0]);
          EXPECT_EQ(bytes_there, bytes);
        }
      }
    }
  }
}

TEST(DgcStrategy, OnADeviceAGradientThatIsNoNumberIsRefused) {
  auto communicators = make_thread_communicators({.size = 1});
  DgcCase test{.steps = {1}, .options = dgc_options({0.75})};
  test.place = [](DgcExchangeOptions& options, Device&) {
    std::shared_ptr<ModelDevice> model = make_emulated_model_device();
    options.device = dgc_device_of(model);
    options.on_device = {true, false, false, false};
    return model;
  };
  test.fill = [](std::span<float> values, int64_t, int, int64_t, size_t parameter) {
    std::ranges::fill(values, 1.0f);
    if (parameter == 0) values[17] = NAN;
  };
  DgcTrainer trainer(test, *communicators[0]);
  try {
    trainer.step(0, 0);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("value 17 of a gradient makes a move that is "));
  }
}

TEST(DgcStrategy, AStateOfAnotherStepOrCutShortIsRefused) {
  auto communicators = make_thread_communicators({.size = 1});
  DgcCase test{.steps = {1}, .options = dgc_options({0.75})};
  DgcTrainer trainer(test, *communicators[0]);
  trainer.step(0, 0);
  std::string state;
  trainer.exchange->save(state);
  ASSERT_FALSE(state.empty());
  for (size_t size = 0; size <= state.size(); size += 1 + size / 3) {
    DgcTrainer other(test, *communicators[0]);
    if (size > 0) {
      ByteReader in(std::string_view(state).substr(0, size));
      EXPECT_THROW(other.exchange->load(in), Error) << size;  // also the whole: this trainer has no steps
    }
    other.step(0, 0);
  }
  DgcTrainer after(test, *communicators[0]);
  std::string schedule;
  trainer.local.schedule().save(schedule);
  ByteReader in(schedule), nothing("");
  after.local.schedule().advance(in);
  EXPECT_THROW(after.exchange->load(nothing), Error);
}

// A bias is whole, and a header: at 99 % of a larger matrix most bytes are saved.
TEST(DgcStrategy, SendsAsManyBytesAsTheFormulaSays) {
  DgcCase test{.steps = twelve_steps(2)};
  std::vector<uint64_t> whole, sparse;
  train(test, &whole);
  test.options = dgc_options({0.98});
  test.options->exchange = SparseExchange::kAllGather;
  train(test, &sparse);
  // 12 steps of 1000 + 120 + 25 floats; of these the first two are 20 and 2 values of 6 bytes, and 4 bytes for each
  // part.  The rows' flags and what frames cost are in `whole` alone, or in both.
  EXPECT_GT(whole[0], 12u * 1145 * 4);
  EXPECT_LT(sparse[0], 12u * ((20 + 2) * 6 + 2 * 4 + (25 + 3 + 9) * 4 + 200));
}

TEST(DgcStrategy, TheOptimizerMustBeMomentumWithoutWhatMovesCannotHave) {
  auto refusal = [](const Json& strategy, const Json& optimizer) -> std::string {
    try {
      find_strategy(strategy).check(strategy, optimizer);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      return error.message();
    }
    return "accepted";
  };
  const Json dgc = {{"type", "dgc"}};
  EXPECT_EQ(refusal(dgc, kExchangeMomentum), "accepted");
  EXPECT_THAT(refusal(dgc, {{"type", "adam"}}), HasSubstr("optimizer.type: adam, but"));
  for (const char* key : {"l1", "clip_value", "clip_global_norm"}) {
    Json optimizer = kExchangeMomentum;
    optimizer[key] = 1;
    EXPECT_THAT(refusal(dgc, optimizer), HasSubstr(cat("optimizer.", key, ": with train.strategy dgc")));
  }
  Json decoupled = kExchangeMomentum;
  decoupled["l2_mode"] = "decoupled";
  EXPECT_THAT(refusal(dgc, decoupled), HasSubstr("optimizer.l2_mode: with train.strategy dgc"));
  Json averaging = kExchangeMomentum;
  averaging["average"] = Json::object();
  EXPECT_THAT(refusal(dgc, averaging), HasSubstr("optimizer.average: with train.strategy dgc"));
  EXPECT_THAT(refusal({{"type", "dgc"}, {"exchange", "balanced"}}, kExchangeMomentum),
              HasSubstr("train.strategy.exchange"));
  EXPECT_THAT(refusal({{"type", "dgc"}, {"sparsity", {1}}}, kExchangeMomentum),
              HasSubstr("train.strategy.sparsity"));
  EXPECT_THAT(refusal({{"type", "dgc"}, {"momentum", 0.5}}, kExchangeMomentum),
              HasSubstr("train.strategy.momentum: unknown key"));
}

TEST(DgcStrategy, AParameterThatTunesWhatMovesCannotHaveIsRefused) {
  auto communicators = make_thread_communicators({.size = 1});
  DgcCase test{.steps = {1}, .options = dgc_options({0.75})};
  test.specs[1].tuning.l1 = 0.5;  // a bias, which is sent whole
  DgcTrainer accepted(test, *communicators[0]);
  test.specs[0].tuning.l1 = 0.5;
  EXPECT_THROW(DgcTrainer(test, *communicators[0]), Error);
}

}  // namespace
}  // namespace ps::dgc_test
