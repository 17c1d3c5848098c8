// Networks on a device: costs, predictions, gradients and statistics are those of the processor, for every layer of the
// catalogue and every cost, in training and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../property/gradient_check.h"
#include "../property/layer_cases.h"
#include "model/cuda/gpu_kernels.h"
#include "support/bits.h"
#include "test_device.h"

namespace ps {

namespace {

std::shared_ptr<ModelDevice> device_kernels(uint64_t seed) {
  return make_gpu_kernels(std::make_unique<gpu::Device>(test_device::by_seed(seed)));
}

// Only products of matrices differ, in the order of their sums: by some 2^-24 of the sum of the absolute products, of at
// most 60 terms here.  Three layers carry that on, with factors of a few; 2e-5 of the largest value has room for it, and
// none for a wrong value.  Where exp and tanh differ, too, probabilities do by 2^-22, and so do their differences, whatever
// is left of them.
void expect_close(std::span<const float> there, std::span<const float> here, const std::string& what) {
  constexpr float kBound = 2e-5f;
  ASSERT_EQ(there.size(), here.size()) << what;
  float largest = test_device::kSameFunctions ? 1e-2f : 1e-1f;
  for (float value : here) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < here.size(); ++i)
    ASSERT_NEAR(there[i], here[i], kBound * largest) << what << " [" << i << "]";
}

std::span<const float> values_of(Matrix<const float> matrix) {
  return {matrix.data, static_cast<size_t>(matrix.size())};
}

// Computes batches on the processor and on a device, one after the other: buffers shrink and grow.
void expect_same(const Json& model, BatchShape shape = {}) {
  const DataSchema schema = gradient_schema();
  NetworkBench<float> here(model, schema), there(model, schema);
  there.compute_on(device_kernels(model.dump().size()));
  for (uint64_t variant = 0; variant < 6; ++variant) {
    SCOPED_TRACE(testing::Message() << "variant " << variant << " of " << model.dump());
    shape.valued = variant == 1 || variant == 3;
    shape.weighted = variant == 2 || variant == 3;
    shape.examples = variant == 4 ? 1 : 7;
    const bool training = variant != 5;
    const Batch batch = gradient_batch(schema, shape, 100 + variant);
    for (NetworkBench<float>* bench : {&here, &there})
      bench->load(batch, training, static_cast<int64_t>(variant));
    const float costs[2] = {static_cast<float>(there.forward()), static_cast<float>(here.forward())};
    expect_close({&costs[0], 1}, {&costs[1], 1}, "cost");
    expect_close(values_of(there.network().predictions()), values_of(here.network().predictions()),
                 "predictions");
    expect_close(there.network().log_losses(), here.network().log_losses(), "log losses");
    if (training) {
      here.backward();
      there.backward();
    }
    for (size_t p = 0; p < here.network().parameters().size(); ++p) {
      const ParameterSpec& spec = here.network().parameters()[p];
      if (training && spec.kind != ParameterKind::kStatistic) {
        expect_close(there.gradient(p), here.gradient(p), "gradient of " + spec.name);
      }
      expect_close(there.weights(p), here.weights(p), spec.name);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

class LayersOnDevice : public testing::TestWithParam<LayerCase> {};

TEST_P(LayersOnDevice, GiveWhatTheProcessorGives) {
  expect_same(model_of(GetParam().layers));
}

// Four times the same batch: the work of the last is started as graphs alone, and gives the gradients of the first, which
// was started piece by piece.
TEST_P(LayersOnDevice, StartTheWorkOfEqualBatchesAsGraphs) {
  const DataSchema schema = gradient_schema();
  const std::shared_ptr<ModelDevice> kernels = device_kernels(3);
  NetworkBench<float> there(model_of(GetParam().layers), schema);
  there.compute_on(kernels);
  const Batch batch = gradient_batch(schema, {.valued = true}, 7);
  std::vector<std::vector<float>> first;
  for (int time = 0; time < 4; ++time) {
    const StartedWork before = kernels->started_work();
    there.load(batch, /*training=*/true, 5);
    there.forward();
    there.backward();
    const StartedWork after = kernels->started_work();
    EXPECT_GT(after.started, before.started);
    if (time == 0) {
      EXPECT_EQ(after.graphs, 0u);
    }
    if (time == 3) {
      EXPECT_EQ(after.graphs - before.graphs, after.started - before.started);
      EXPECT_GE(after.in_graphs - before.in_graphs, 2 * (after.graphs - before.graphs));
    }
    for (size_t p = 0; p < there.network().parameters().size(); ++p) {
      if (time == 0) first.push_back(there.gradient(p));
      if (there.network().parameters()[p].kind == ParameterKind::kStatistic) continue;
      EXPECT_EQ(bits_of(there.gradient(p)), bits_of(first[p])) << there.network().parameters()[p].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayersOnDevice, testing::ValuesIn(kLayerCases),
                         [](const auto& test) { return cat(test.param.layer, "_", test.index); });

Json model_with_cost(const std::string& cost, int64_t size, const std::string& activation) {
  return {
      {"layers",
       {{{"type", "fc"}, {"name", "below"}, {"input", {"ids", "x"}}, {"size", 4}, {"activation", "tanh"}},
        {{"type", "fc"}, {"name", "out"}, {"input", "below"}, {"size", size}, {"activation", activation}}}},
      {"cost", {{"type", cost}, {"input", "out"}}},
      {"evaluators", {"log_loss"}}};
}

TEST(CostsOnDevice, GiveWhatTheProcessorGives) {
  expect_same(model_with_cost("cross_entropy", 3, "softmax"), {.classes = 3});
  expect_same(model_with_cost("cross_entropy", 3, "sigmoid"), {.classes = 3});
  expect_same(model_with_cost("binary_cross_entropy", 1, "linear"));
  expect_same(model_with_cost("binary_cross_entropy", 1, "sigmoid"));
  for (const char* cost : {"squared_error", "absolute_error", "huber"})
    expect_same(model_with_cost(cost, 1, "linear"), {.classes = 0});
  for (const char* cost : {"ranking", "bpr", "listwise_softmax"}) {
    expect_same(model_with_cost(cost, 1, "linear"), {.grouped = true});
    expect_same(model_with_cost(cost, 1, "linear"));  // one group
  }
  for (const char* activation : {"softmax", "sigmoid"}) {
    Json classes = model_with_cost("cross_entropy", 3, activation);
    classes["cost"]["class_weights"] = {0.5, 1, 4};
    expect_same(classes, {.classes = 3});
  }
  for (const char* activation : {"linear", "sigmoid"}) {
    Json sets = model_with_cost("multi_label_cross_entropy", 7, activation);
    sets["cost"]["labels"] = "words";
    expect_same(sets);
    sets["cost"]["pos_weight"] = 3;
    expect_same(sets);
  }
  Json weighed = model_with_cost("binary_cross_entropy", 1, "linear");
  weighed["cost"]["pos_weight"] = 3;
  expect_same(weighed);
}

// A layer that is divided over trainers exchanges what it computes, and runs on the processor.
TEST(NetworksOnDevice, SayWhichLayersRunOnTheProcessor) {
  const Json model = Json::parse(R"({
    "layers": [{"type": "fc", "name": "below", "input": ["ids", "x"], "size": 4},
               {"type": "fc", "name": "wide", "input": "below", "size": 4, "parallel": "model"},
               {"type": "fc", "name": "out", "input": "wide", "size": 2, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "out"}})");
  NetworkBench<float> bench(model, gradient_schema());
  Network<float>& network = bench.network();
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    const std::string& name = network.parameters()[p].name;
    EXPECT_EQ(network.on_devices()[p], !name.starts_with("wide.")) << name;
  }
  EXPECT_EQ(network.layers_without_device(), std::vector<std::string>{"wide (fc)"});
  expect_same(model);
}

// The parts of a batch that is computed piece by piece have other weights here, so that their gradients differ.
TEST(NetworksOnDevice, AddGradientsToThoseOfAnotherPart) {
  const Json model = Json::parse(R"({
    "layers": [{"type": "embedding", "name": "side", "input": "ids", "size": 3},
               {"type": "fc", "name": "below", "input": ["ids", "x"], "size": 4, "activation": "tanh"},
               {"type": "fc", "name": "out", "input": ["side", "below"], "size": 1}],
    "cost": {"type": "binary_cross_entropy", "input": "out"}})");
  const DataSchema schema = gradient_schema();
  NetworkBench<float> here(model, schema), there(model, schema), last_alone(model, schema);
  there.compute_on(device_kernels(1));
  const Batch batch = gradient_batch(schema, {}, 1);
  for (NetworkBench<float>* bench : {&here, &there, &last_alone}) {
    bench->load(batch);
    bench->forward();
    bench->backward();
    for (size_t p = 0; p < bench->network().parameters().size(); ++p) {
      for (float& weight : bench->weights(p)) weight *= 1.5f;
    }
    bench->forward();
    bench->network().backward(nullptr, bench == &last_alone ? Gradients::kSet : Gradients::kAdd);
  }
  for (size_t p = 0; p < here.network().parameters().size(); ++p) {
    const std::string& name = here.network().parameters()[p].name;
    expect_close(there.gradient(p), here.gradient(p), "sum of gradients of " + name);
    EXPECT_NE(there.gradient(p), last_alone.gradient(p)) << name;
  }
}

// A batch that fails halfway leaves nothing behind that refers to it.
TEST(NetworksOnDevice, GoOnAfterABatchThatFailed) {
  const Json model = Json::parse(R"({
    "layers": [{"type": "embedding", "name": "side", "input": "ids", "size": 3, "pooling": "concat",
                "ids_per_example": 3},
               {"type": "fc", "name": "out", "input": ["side", "x"], "size": 1}],
    "cost": {"type": "binary_cross_entropy", "input": "out"}})");
  const DataSchema schema = gradient_schema();
  NetworkBench<float> here(model, schema), there(model, schema);
  there.compute_on(device_kernels(1));
  Batch bad = gradient_batch(schema, {.examples = 3}, 1);
  bad.slots[0].keys.insert(bad.slots[0].keys.end(), 4, 1);
  bad.slots[0].offsets.back() += 4;
  there.load(bad);
  EXPECT_THROW(there.forward(), Error);
  const Batch good = gradient_batch(schema, {.examples = 2}, 2);
  for (NetworkBench<float>* bench : {&here, &there}) {
    bench->load(good);
    bench->forward();
    bench->backward();
  }
  expect_close(there.gradient(0), here.gradient(0), "gradient");
}

}  // namespace

}  // namespace ps
