// Gradients that are made on a device and added up whole: weights and bytes are those of trainers without one, over many shapes,
// optimizers and algorithms.
#include <gtest/gtest.h>

#include <cstdlib>

#include "collective/algorithm.h"
#include "device/model_devices.h"
#include "exchange_trainer.h"
#include "model/model_device.h"

namespace ps::whole_there_test {
namespace {

// More by the environment.
uint64_t seeds() {
  const char* asked = std::getenv("PS_GPU_SEEDS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 200;
}

struct Case {
  std::vector<ParameterSpec> specs = {};
  std::vector<bool> on_device = {};
  Json optimizer = kExchangeSgd;
  std::string algorithm = {};
  std::vector<int64_t> steps = {};  // by trainer
  bool begins_ahead = false;        // as a trainer does whose backward makes gradients one after the other
};

Case draw_case(uint64_t seed) {
  Random random(91, seed);
  Case test;
  const uint64_t num = 1 + random.below(3);
  for (uint64_t p = 0; p < num; ++p) {
    test.specs.push_back(synthetic_parameter("matrix" + std::to_string(p), ParameterKind::kMatrix, false,
                                             1 + static_cast<int64_t>(random.below(40)),
                                             1 + static_cast<int64_t>(random.below(30))));
    test.on_device.push_back(p == 0 || random.below(3) > 0);
  }
  const Json optimizers[] = {kExchangeSgd, kExchangeMomentum, {{"type", "adam"}, {"learning_rate", 0.01}}};
  test.optimizer = optimizers[random.below(3)];
  if (random.below(2) == 0) test.optimizer["average"] = {{"begin_step", random.below(3)}};
  const auto algorithms = all_reduce_catalog();
  test.algorithm = algorithms[random.below(algorithms.size())]->name;
  for (uint64_t r = 0; r < 1 + random.below(3); ++r)
    test.steps.push_back(static_cast<int64_t>(random.below(5)));
  test.begins_ahead = random.below(2) == 0;
  return test;
}

void fill(const ParameterView<float>& view, size_t size, int rank, int64_t step, size_t parameter,
          ModelDevice* model) {
  std::vector<float> values(size);
  fill_with_noise(values, rank, step, parameter);
  if (!view.there) {
    std::ranges::copy(values, view.gradient);
    return;
  }
  model->send(view.gradient, values.data(), size * sizeof(float));
  model->wait();
}

struct Result {
  std::vector<float> weights = {};
  uint64_t bytes = 0;
  size_t there = 0;
};

// One trainer; without a model, on the processor.
Result train_one(const Case& test, int rank, Communicator& communicator, std::shared_ptr<ModelDevice> model) {
  Device host(1, best_cpu_level());
  LocalStore local(test.specs, make_optimizer_plan(test.optimizer, "mean"), UINT64_MAX, host);
  CollectiveRun run(rank, [] {});
  GradientPlacement placement;
  if (model != nullptr) placement = {compression_device_of(model, host), test.on_device};
  AllReduceStore store(test.specs, local, communicator, run, nullptr, placement);
  const std::vector<KeyPlan> plans(test.specs.size());
  for (int64_t step = 0; step < test.steps[static_cast<size_t>(rank)]; ++step) {
    std::vector<ParameterView<float>> views;
    store.pull(plans, PullMode::kTrain, views);
    const StepInfo info{.samples = 3 + rank, .pass = 0};
    if (test.begins_ahead) store.begin_push(plans, views, info);
    for (size_t p = test.specs.size(); p-- > 0;) {
      fill(views[p], static_cast<size_t>(test.specs[p].rows * test.specs[p].cols), rank, step, p,
           model.get());
      if (test.begins_ahead) store.final_gradient(p);
    }
    store.push(plans, views, info);
  }
  store.end_pass(0);
  local.put_back();
  Result result{.weights = whole_weights(local, test.specs.size()), .there = store.num_there()};
  EXPECT_FALSE(store.adds_there());
  for (int to = 0; to < communicator.size(); ++to) result.bytes += communicator.bytes_sent(to);
  return result;
}

std::vector<Result> train(const Case& test, bool there) {
  auto communicators =
      make_thread_communicators({.size = static_cast<int>(test.steps.size()), .algorithm = test.algorithm});
  std::vector<Result> results(test.steps.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < test.steps.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto own = std::move(communicators[r]);
      results[r] = train_one(test, static_cast<int>(r), *own, there ? make_emulated_model_device() : nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(WholeThere, WeightsAndBytesAreThoseOfTheProcessor) {
  for (uint64_t seed = 0; seed < seeds() && !HasFatalFailure(); ++seed) {
    const Case test = draw_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + test.algorithm + ", " + test.optimizer.dump());
    const std::vector<Result> expected = train(test, false), found = train(test, true);
    for (size_t r = 0; r < found.size(); ++r) {
      expect_same_bits(found[r].weights, expected[r].weights);
      EXPECT_EQ(found[r].bytes, expected[r].bytes);
      EXPECT_EQ(found[r].there, static_cast<size_t>(std::ranges::count(test.on_device, true)));
      EXPECT_EQ(expected[r].there, 0u);
    }
  }
}

// Norms that gradients are clipped to are of the processor's arrays.
TEST(WholeThere, AGradientThatIsClippedByNormStaysOnTheProcessor) {
  Case test = draw_case(0);
  test.steps = {3, 2};
  test.optimizer["clip_norm"] = 0.5;
  const std::vector<Result> expected = train(test, false), found = train(test, true);
  for (size_t r = 0; r < found.size(); ++r) {
    expect_same_bits(found[r].weights, expected[r].weights);
    EXPECT_EQ(found[r].there, 0u);
  }
}

}  // namespace
}  // namespace ps::whole_there_test
