// Trainers in threads whose gradients a compression exchanges.  Used by the tests of DgcExchange,
// PowerSgdExchange and CodecExchange.
#ifndef PS_TESTS_UNIT_STRATEGY_EXCHANGE_TRAINER_H_
#define PS_TESTS_UNIT_STRATEGY_EXCHANGE_TRAINER_H_

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "math/device_kernels.h"
#include "optim/optimizer_plan.h"
#include "store/all_reduce_store.h"
#include "store/collective_run.h"
#include "support/thread_communicator.h"
#include "synthetic_batches.h"

namespace ps {

inline constexpr int64_t kExchangeRows = 40, kExchangeCols = 25;  // of the matrix
inline constexpr double kExchangeRate = 0.1;

inline const Json kExchangeSgd = {{"type", "sgd"}, {"learning_rate", kExchangeRate}};
inline const Json kExchangeMomentum = {
    {"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", kExchangeRate}};

// Fills in the gradient of one parameter, with rows of `cols`, in one trainer's batch.
using FillGradient =
    std::function<void(std::span<float> values, int64_t cols, int rank, int64_t step, size_t parameter)>;

inline void fill_exchange_noise(std::span<float> values, int64_t, int rank, int64_t step, size_t parameter) {
  fill_with_noise(values, rank, step, parameter);
}

template <class Options>
struct ExchangeCase {
  std::vector<int64_t> steps = {9, 9, 9};         // by trainer
  std::optional<Options> options = std::nullopt;  // nothing: all_reduce
  Json optimizer = kExchangeMomentum;
  int64_t save_at = -1;  // the step after which all is saved, and loaded into new objects
  FillGradient fill = fill_exchange_noise;
  // Puts matrices on a device of each trainer.
  std::function<std::shared_ptr<DeviceKernels>(Options&, Device& host)> place = nullptr;
  bool all_have_some_there = true;  // gradients, then
  std::vector<ParameterSpec> specs = mixed_parameters(kExchangeRows, kExchangeCols);
};

// One trainer, which can be replaced by one that goes on from what this one has saved.  Exchange is made from
// (Options, specs, LocalStore, Communicator), and has save and load.
template <class Exchange, class Options>
struct ExchangeTrainer {
  ExchangeTrainer(const ExchangeCase<Options>& given, Communicator& communicator)
      : test(given),
        specs(test.specs),
        local(specs, make_optimizer_plan(test.optimizer, "mean"), UINT64_MAX, device),
        run(communicator.rank(), [] {}) {
    if (test.options) {
      Options options = *test.options;
      if (test.place) kernels = test.place(options, device);
      exchange = std::make_unique<Exchange>(options, specs, local, communicator);
    }
    store = std::make_unique<AllReduceStore>(specs, local, communicator, run, exchange.get());
  }

  void take(ExchangeTrainer& other) {
    other.put_back();
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
    const size_t matrix = kExchangeRows * kExchangeCols, row = kExchangeCols;
    fill_matrix(views[0], matrix, rank, number);
    test.fill({views[1].gradient, row}, kExchangeCols, rank, number, 1);
    test.fill({views[2].row_gradients, plans[2].keys.size() * 4}, 4, rank, number, 2);
    test.fill({views[3].value, 3}, 3, rank, number, 3);
    store->push(plans, views, {.samples = 3 + rank, .pass = 0});
  }

  // The gradient of a parameter on a device is made there, from nothing that the processor has.
  void fill_matrix(const ParameterView<float>& view, size_t values, int rank, int64_t number) {
    if (!view.there) return test.fill({view.gradient, values}, kExchangeCols, rank, number, 0);
    std::vector<float> there(values);
    test.fill(there, kExchangeCols, rank, number, 0);
    kernels->send(view.gradient, there.data(), values * sizeof(float));
    kernels->wait();
    ++gradients_there;
  }

  // Has the device put back what it trains, as all who read weights do.
  void put_back() {
    std::vector<float> read;
    for (size_t p = 0; p < specs.size(); ++p) {
      if (specs[p].kind != ParameterKind::kMatrix) continue;
      read.resize(static_cast<size_t>(specs[p].rows * specs[p].cols));
      local.read_all(static_cast<int>(p), read.data());
    }
  }

  std::vector<float> weights() {
    put_back();
    return whole_weights(local, specs.size());
  }

  const ExchangeCase<Options> test;
  const std::vector<ParameterSpec> specs;
  Device device{1, best_cpu_level()};
  LocalStore local;
  CollectiveRun run;
  // The kernels of the device that computes gradients; null: the processor computes them.
  std::shared_ptr<DeviceKernels> kernels = nullptr;
  int gradients_there = 0;
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<AllReduceStore> store;
};

// Trains, and returns the weights of each trainer.  `bytes` <- the bytes that each has sent.
template <class Exchange, class Options>
std::vector<std::vector<float>> train_exchange(const ExchangeCase<Options>& test,
                                               std::vector<uint64_t>* bytes = nullptr) {
  using Trainer = ExchangeTrainer<Exchange, Options>;
  const int size = static_cast<int>(test.steps.size());
  auto communicators = make_thread_communicators({.size = size, .algorithm = "direct"});
  std::vector<std::vector<float>> weights(test.steps.size());
  if (bytes != nullptr) bytes->resize(test.steps.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < test.steps.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto own = std::move(communicators[r]);
      auto trainer = std::make_unique<Trainer>(test, *own);
      for (int64_t step = 0; step < test.steps[r]; ++step) {
        trainer->step(static_cast<int>(r), step);
        if (step != test.save_at) continue;
        auto next = std::make_unique<Trainer>(test, *own);
        next->take(*trainer);
        trainer = std::move(next);
      }
      trainer->store->end_pass(0);
      if (test.place && test.all_have_some_there) {
        EXPECT_GT(trainer->gradients_there, 0);
      }
      weights[r] = trainer->weights();
      for (int to = 0; bytes != nullptr && to < size; ++to) (*bytes)[r] += own->bytes_sent(to);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return weights;
}

// The same bits, not only equal values.
inline void expect_same_bits(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size_bytes()), 0);
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_STRATEGY_EXCHANGE_TRAINER_H_
