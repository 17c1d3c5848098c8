// Layers whose weights are divided over trainers ("parallel": "model"), in threads: beside the same layers with gradients
// that are added up, which they equal to rounding, and in bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "config/spec.h"
#include "model/network.h"
#include "model/split_product.h"
#include "optim/optimizer_plan.h"
#include "store/all_reduce_store.h"
#include "support/thread_communicator.h"

namespace ps::divided_layers_test {
namespace {

const Json kMomentum = {
    {"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", 0.1}, {"clip_global_norm", 0.5}};
const Json kAdam = {{"type", "adam"}, {"learning_rate", 0.05}, {"l2", 0.001}};

constexpr int64_t kWidth = 3;  // of the examples
const DataSchema kSchema = {{{.name = "x", .dense = true, .dim = kWidth}}};

Json model_of(const char* parallel, int64_t size) {
  const Json layers = {
      {{"name", "whole"}, {"type", "fc"}, {"input", "x"}, {"size", 5}, {"activation", "tanh"}},
      {{"name", "first"},
       {"type", "fc"},
       {"input", {"whole", "x"}},
       {"size", size},
       {"activation", "tanh"},
       {"parallel", parallel}},
      {{"name", "again"},
       {"type", "fc"},
       {"input", "first"},
       {"size", size},
       {"activation", "tanh"},
       {"parallel", parallel}},
      {{"name", "out"},
       {"type", "fc"},
       {"input", {"again", "whole"}},
       {"size", 2},
       {"activation", "softmax"},
       {"parallel", parallel}}};
  return {{"layers", layers}, {"cost", {{"type", "cross_entropy"}, {"input", "out"}}}};
}

struct Case {
  std::vector<int64_t> steps;  // by trainer
  const char* parallel = "model";
  Json optimizer = kMomentum;
  int64_t size = 7;  // columns of the divided layers
};

struct Trained {
  std::vector<float> weights;  // of all parameters, with the optimizer's state
  std::vector<double> costs;
  uint64_t bytes = 0;  // sent
};

// A batch of trainer `rank`: its size differs from trainer to trainer.
Batch batch_of(int rank, int64_t step) {
  Batch batch;
  batch.clear(kSchema);
  Random random(5, static_cast<uint64_t>(rank * 100 + step));
  for (int example = 0; example < 4 + 3 * rank; ++example) {
    float sum = 0;
    for (int64_t i = 0; i < kWidth; ++i) {
      batch.slots[0].values.push_back(unit_float(random.next32()) * 4 - 2);
      sum += batch.slots[0].values.back();
    }
    batch.labels.push_back(sum > 0 ? 1.0f : 0.0f);
  }
  return batch;
}

Trained train_one(const Case& test, Communicator& communicator) {
  const int rank = communicator.rank();
  Network<float> network(ModelOptions::spec().parse(model_of(test.parallel, test.size), "model"), kSchema, 1);
  Device device(1, best_cpu_level());
  LocalStore local(network.parameters(), make_optimizer_plan(test.optimizer, "mean"), UINT64_MAX, device);
  CollectiveRun run(rank, [] {});
  AllReduceStore store(network.parameters(), local, communicator, run);
  network.divide_over(&communicator);
  store.on_step_without_data([&](auto views) { network.compute_for_others(views, device); });
  auto planners = network.make_planners();
  std::vector<ParameterView<float>> views;
  Trained trained;
  for (int64_t step = 0; step < test.steps[static_cast<size_t>(rank)]; ++step) {
    PreparedBatch prepared;
    prepared.batch = batch_of(rank, step);
    prepared.training = true;
    prepared.step = step;
    network.prepare(planners, prepared);
    store.pull(prepared.plans, PullMode::kTrain, views);
    trained.costs.push_back(network.forward(prepared, views, device));
    network.backward();
    store.push(prepared.plans, views, {.samples = prepared.batch.size(), .pass = 0});
  }
  store.end_pass(0);
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    std::vector<float> floats;
    local.copy_stored(static_cast<int>(p), floats);
    trained.weights.insert(trained.weights.end(), floats.begin(), floats.end());
  }
  for (int to = 0; to < communicator.size(); ++to) trained.bytes += communicator.bytes_sent(to);
  return trained;
}

std::vector<Trained> train(const Case& test) {
  auto communicators =
      make_thread_communicators({.size = static_cast<int>(test.steps.size()), .algorithm = "direct"});
  std::vector<Trained> trained(test.steps.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < test.steps.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto own = std::move(communicators[r]);
      trained[r] = train_one(test, *own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return trained;
}

void expect_near(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5) << i;
}

// By trainer; some have fewer batches than others, or none.
const std::vector<std::vector<int64_t>> kSteps = {{5, 5}, {5, 3, 4}, {0, 3, 1, 2}};

TEST(DividedLayers, TrainAsTheLayersWhoseGradientsAreAddedUpToRounding) {
  for (const Json& optimizer : {kMomentum, kAdam}) {
    for (const std::vector<int64_t>& steps : kSteps) {
      for (const int64_t size : {7, 2}) {  // columns of trainers differ; some have none
        SCOPED_TRACE(cat(optimizer.dump(), ", ", steps.size(), " trainers, ", size, " columns"));
        const auto whole = train({.steps = steps, .parallel = "data", .optimizer = optimizer, .size = size});
        const auto divided = train({.steps = steps, .optimizer = optimizer, .size = size});
        for (size_t r = 0; r < steps.size(); ++r) {
          expect_near(divided[r].weights, whole[0].weights);
          EXPECT_EQ(divided[r].weights, divided[0].weights) << "trainers differ after the pass";
          ASSERT_EQ(divided[r].costs.size(), whole[r].costs.size());
          for (size_t step = 0; step < whole[r].costs.size(); ++step)
            EXPECT_NEAR(divided[r].costs[step], whole[r].costs[step], 1e-4);
        }
      }
    }
  }
}

// Two layers of 5 + 3 and 400 inputs: weights of 160,000 floats and more, and activations of some thousands.
TEST(DividedLayers, ExchangeActivationsInPlaceOfGradients) {
  const Case divided{.steps = {3, 3}, .size = 400};
  Case whole = divided;
  whole.parallel = "data";
  const uint64_t gradients = train(whole)[0].bytes;
  EXPECT_GT(gradients, 3u * 160000 * sizeof(float));
  // At the end of the pass half of the weights and of the momentum go to the other trainer, once.
  const uint64_t gathered = 2 * (400 * 400 + 8 * 400) / 2 * sizeof(float);
  EXPECT_LT(train(divided)[0].bytes, gathered + gradients / 10);
}

// ---- mistakes

// Trainer 1 says a number of rows, for which trainer 0 then takes memory, and leaves.  Returns the error of trainer 0.
std::string refusal_of_rows(uint64_t rows) {
  auto communicators = make_thread_communicators({.size = 2});
  std::string said;
  put(said, rows);
  std::thread other([&] {
    const auto own = std::move(communicators[1]);
    own->gather(said);
  });
  Device device(1, best_cpu_level());
  const std::vector<float> in(8), weight(16);
  std::vector<float> out(8);
  std::string message = "accepted";
  try {
    SplitProduct().forward(*communicators[0], {device, device}, {in.data(), 2, 4}, {weight.data(), 4, 4},
                           {out.data(), 2, 4});
  } catch (const Error& error) {
    message = error.message();
  }
  other.join();
  return message;
}

TEST(DividedLayers, RowsOfOthersAreBoundedBeforeTheyCome) {
  const std::string refused =
      " rows for a divided layer, expected at most 16777216, which are 256 MiB: make batches smaller";
  EXPECT_EQ(refusal_of_rows((1 << 24) + 1), "trainer 1 has 16777217" + refused);
  EXPECT_EQ(refusal_of_rows(UINT64_MAX), "trainer 1 has 18446744073709551615" + refused);
  EXPECT_EQ(refusal_of_rows(3), "rank 1 has left before all-gather 2");
}

std::string refusal(const Json& layers) {
  try {
    const DataSchema schema = {{{.name = "ids", .dim = 9}, {.name = "x", .dense = true, .dim = 3}}};
    const Json model = {{"layers", layers}, {"cost", {{"type", "cross_entropy"}, {"input", "out"}}}};
    Network<float> network(ModelOptions::spec().parse(model, "model"), schema, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "accepted";
}

TEST(DividedLayers, NeedMatrices) {
  EXPECT_EQ(
      refusal(Json::parse(R"([{"name": "out", "type": "fc", "input": ["x", "ids"], "size": 2,
                                     "activation": "softmax", "parallel": "model"}])")),
      "model.layers.0.parallel: \"model\" divides matrices over trainers, but an input is a sparse slot, of "
      "whose weights a batch uses some rows alone");
  EXPECT_EQ(refusal(Json::parse(R"([{"name": "a", "type": "fc", "input": "x", "size": 3},
                                    {"name": "b", "type": "fc", "input": "a", "size": 3, "share_with": "a",
                                     "parallel": "model"},
                                    {"name": "out", "type": "fc", "input": "b", "size": 2}])")),
            "model.layers.1.share_with: weight is 3 x 3, divided over trainers, but that of 'a' is 3 x 3");
}

}  // namespace
}  // namespace ps::divided_layers_test
