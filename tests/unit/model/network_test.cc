// Networks made from the model of a job file: errors, parameters, initial weights, sharing.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "config/spec.h"
#include "network_bench.h"

namespace ps::network_test {
namespace {

const DataSchema kSchema = {
    {{.name = "ids", .dim = 100}, {.name = "words"}, {.name = "x", .dense = true, .dim = 3}}};

Json model_of(const char* layers, const char* cost = R"({"type": "cross_entropy", "input": "out"})") {
  return {{"layers", Json::parse(layers)}, {"cost", Json::parse(cost)}};
}

// Returns the error for a model that the network refuses.
std::string refusal(const Json& model) {
  try {
    Network<float> network(ModelOptions::spec().parse(model, "model"), kSchema, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "accepted";
}

Network<float> network_of(const char* layers, uint64_t seed = 1) {
  return Network<float>(ModelOptions::spec().parse(model_of(layers), "model"), kSchema, seed);
}

TEST(Network, TakesLayersInAnyOrder) {
  EXPECT_EQ(refusal(model_of(
                R"([{"name": "out", "type": "fc", "input": ["b", "a"], "size": 2, "activation": "softmax"},
                                 {"name": "b", "type": "fc", "input": "a", "size": 4},
                                 {"name": "a", "type": "fc", "input": ["ids", "x"], "size": 4}])")),
            "accepted");
}

TEST(Network, NamesThePlaceOfAWrongName) {
  EXPECT_EQ(refusal(model_of(R"([{"name": "hidden", "type": "fc", "input": "ids", "size": 4},
                                 {"name": "out", "type": "fc", "input": "hiden", "size": 2}])")),
            "model.layers.1.input: unknown layer or slot 'hiden' (did you mean 'hidden'?)");
  EXPECT_EQ(
      refusal(model_of(R"([{"name": "out", "type": "fcc", "input": "ids", "size": 2}])")),
      "model.layers.0.type: unknown layer 'fcc' (did you mean 'fc'?); expected one of fc, embedding, "
      "concat, add, dropout, batch_norm, fm, ffm, bi_interaction, cross, nce, hsigmoid, conv2d, max_pool, "
      "average_pool, global_average_pool, local_response_norm, gru, lstm, attention, position_encoding, "
      "sequence_pool, multiply, dot, cosine, in_batch_softmax, bilinear, translation");
  EXPECT_EQ(refusal(model_of(
                R"([{"name": "out", "type": "fc", "input": "ids", "size": 2, "activation": "tahn"}])")),
            "model.layers.0.activation: unknown value 'tahn' (did you mean 'tanh'?); expected one of linear, "
            "sigmoid, tanh, stanh, relu, brelu, softplus, softmax, exponential");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2}])",
                             R"({"type": "cross_entropy", "input": "oat"})")),
            "model.cost.input: unknown layer 'oat' (did you mean 'out'?)");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2}])",
                             R"({"type": "cross_entropy", "input": "ids"})")),
            "model.cost.input: 'ids' is a slot of the data, expected a layer");
}

// A model whose first layer reads the dense slot x, of three values.
std::string refusal_of_first(const std::string& first) {
  return refusal(
      model_of(cat("[", first, R"(, {"name": "out", "type": "fc", "input": "a", "size": 2}])").c_str()));
}

TEST(Network, SaysWhichSizeOfAnImageIsWrong) {
  EXPECT_EQ(
      refusal_of_first(R"({"name": "a", "type": "conv2d", "input": "x", "filters": 2, "kernel": 1})"),
      "model.layers.0.channels: missing, since input 'x' is no image (give channels, height and width)");
  EXPECT_EQ(refusal_of_first(R"({"name": "a", "type": "conv2d", "input": "x", "filters": 2, "kernel": 1,
                                 "channels": 3})"),
            "model.layers.0.height: missing, since the image's other sizes are given");
  EXPECT_EQ(refusal_of_first(R"({"name": "a", "type": "max_pool", "input": "x", "kernel": 1, "channels": 3,
                                 "height": 2, "width": 1})"),
            "model.layers.0.channels: an image of 3x2x1 has 6 values, found 'x' with 3");
  EXPECT_EQ(
      refusal_of_first(R"({"name": "a", "type": "global_average_pool", "input": "ids"})"),
      "model.layers.0.input: global_average_pool takes layers and dense slots, found 'ids', a sparse slot "
      "(an fc or embedding layer makes a layer of it)");
  const std::string image = R"("channels": 3, "height": 1, "width": 1, "input": "x")";
  EXPECT_EQ(
      refusal_of_first(cat(R"({"name": "a", "type": "conv2d", "filters": 2, "kernel": 2, )", image, "}")),
      "model.layers.0.kernel: 2 is larger than the image, 3x1x1, with a padding of 0");
  EXPECT_EQ(refusal_of_first(cat(
                R"({"name": "a", "type": "conv2d", "filters": 2, "kernel": 1, "padding": 1, )", image, "}")),
            "model.layers.0.padding: 1 is too large, expected below kernel, 1");
  EXPECT_EQ(refusal_of_first(cat(
                R"({"name": "a", "type": "conv2d", "filters": 2, "kernel": 1, "groups": 3, )", image, "}")),
            "model.layers.0.groups: 3 does not divide the 2 filters");
  EXPECT_EQ(
      refusal_of_first(cat(R"({"name": "b", "type": "conv2d", "filters": 2, "kernel": 1, )", image,
                           R"(}, {"name": "a", "type": "batch_norm", "input": "b", "channels": 1, "height": 2,
                                        "width": 1})")),
      "model.layers.1.channels: 1x2x1 is not the image that layer 'b' gives, 2x1x1 (leave channels, "
      "height and width out)");
}

TEST(Network, KeepsTheShapeOfAnImageOnTheWay) {
  Network<float> network = network_of(
      R"([{"name": "a", "type": "conv2d", "filters": 4, "kernel": 3, "padding": 1, "input": "x", "channels": 1,
           "height": 3, "width": 1},
          {"name": "b", "type": "dropout", "input": "a"}, {"name": "c", "type": "add", "input": ["a", "b"]},
          {"name": "d", "type": "concat", "input": ["a", "c"]}, {"name": "e", "type": "batch_norm", "input": "d"},
          {"name": "f", "type": "conv2d", "filters": 2, "kernel": 1, "groups": 2, "input": "e"},
          {"name": "out", "type": "fc", "input": "f", "size": 2}])");
  EXPECT_EQ(network.describe(),
            "a: conv2d 3 -> 4x3x1, 40 weights\n"
            "b: dropout 4x3x1 -> 4x3x1\n"
            "c: add 4x3x1 + 4x3x1 -> 4x3x1\n"
            "d: concat 4x3x1 + 4x3x1 -> 8x3x1\n"
            "e: batch_norm 8x3x1 -> 8x3x1, 32 weights\n"
            "f: conv2d 8x3x1 -> 2x3x1, 10 weights\n"
            "out: fc 2x3x1 -> 2, 14 weights\n");
  const std::vector<LayerSize> sizes = network.layer_sizes();
  ASSERT_EQ(sizes.size(), 7u);
  EXPECT_EQ(sizes[0].multiply_adds, 120);
  EXPECT_EQ(sizes[3].inputs, 24);
  EXPECT_EQ(sizes[4].weights, 16) << "running statistics are no weights";
  EXPECT_EQ(sizes[5].weights, 10);
  EXPECT_EQ(sizes[5].biases, 2);
  EXPECT_EQ(sizes[6].inputs, 6);
}

TEST(Network, InitHeHasTwiceTheVarianceOfSmart) {
  Network<float> network = network_of(
      R"([{"name": "a", "type": "conv2d", "filters": 1, "kernel": 1, "input": "x", "channels": 3, "height": 1,
           "width": 1, "weight": {"init": {"type": "he"}}},
          {"name": "out", "type": "fc", "input": "a", "size": 2}])");
  EXPECT_DOUBLE_EQ(network.parameters()[0].initializer.deviation, std::sqrt(2.0 / 3));
}

TEST(Network, NamesThePlaceOfAWrongAuxiliaryCost) {
  Json model = model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2}])");
  model["auxiliary_costs"] = Json::array({{{"type", "cross_entropy"}, {"input", "oat"}}});
  EXPECT_EQ(refusal(model), "model.auxiliary_costs.0.input: unknown layer 'oat' (did you mean 'out'?)");
  model["auxiliary_costs"][0] = {{"type", "huber"}, {"input", "out"}};
  EXPECT_EQ(refusal(model), "model.auxiliary_costs.0: huber takes one value per example, found 2");
}

TEST(Network, RefusesNamesThatMeanTwoThings) {
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 4},
                                 {"name": "out", "type": "fc", "input": "ids", "size": 2}])")),
            "model.layers.1.name: 'out' is the name of model.layers.0 too");
  EXPECT_EQ(refusal(model_of(R"([{"name": "ids", "type": "fc", "input": "ids", "size": 4}])")),
            "model.layers.0.name: 'ids' is the name of a slot of the data");
}

TEST(Network, RefusesCirclesAndLayersThatLeadNowhere) {
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "b", "size": 2},
                                 {"name": "b", "type": "fc", "input": ["ids", "c"], "size": 4},
                                 {"name": "c", "type": "fc", "input": "b", "size": 4}])")),
            "model.layers.1.input: the layers go round in a circle: 'b' reads 'c' reads 'b'");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2},
                                 {"name": "b", "type": "fc", "input": "out", "size": 4}])")),
            "model.layers.1: layer 'b' does not lead to the cost's input 'out'");
}

TEST(Network, RefusesInputsThatALayerCannotTake) {
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "embedding", "input": "x", "size": 2}])")),
            "model.layers.0.input: embedding takes sparse slots, found 'x', a dense slot");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "dropout", "input": "ids"}])")),
            "model.layers.0.input: dropout takes layers and dense slots, found 'ids', a sparse slot (an fc "
            "or embedding layer makes a layer of it)");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "add", "input": ["x", "a"]},
                                 {"name": "a", "type": "fc", "input": "ids", "size": 2}])")),
            "model.layers.0.input: add takes inputs of one width, found 'x' with 3 and 'a' with 2");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "words", "size": 2}])")),
            "model.layers.0.sparse_update: must be true, since the ids of the input have no dim");
  EXPECT_EQ(
      refusal(model_of(R"([{"name": "out", "type": "fc", "input": "x", "size": 2, "sparse_update": true}])")),
      "model.layers.0.sparse_update: no input is a sparse slot, whose rows could be updated sparsely");
  EXPECT_EQ(
      refusal(model_of(R"([{"name": "out", "type": "fc", "input": "words", "size": 2, "sparse_update": true,
                                  "weight": {"init": {"type": "smart"}}}])")),
      "model.layers.0.weight.init.type: 'smart' needs a known number of inputs (give the slot a dim)");
}

TEST(Network, PutsThePathBeforeWhatCostsAndEvaluatorsRefuse) {
  Json model = model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2}])",
                        R"({"type": "squared_error", "input": "out"})");
  EXPECT_EQ(refusal(model), "model.cost: squared_error takes one value per example, found 2");
  model = model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2, "activation": "softmax"}])");
  model["evaluators"] = Json::array({"auc", "acu"});
  EXPECT_THAT(refusal(model),
              testing::StartsWith("model.evaluators.1.type: unknown evaluator 'acu' (did you mean 'auc'?)"));
  model = model_of(R"([{"name": "out", "type": "nce", "input": "x", "num_classes": 9}])",
                   R"({"type": "squared_error", "input": "out"})");
  EXPECT_EQ(refusal(model),
            "model.cost.type: layer 'out' (nce) gives costs already, which the cost 'sum' takes, found "
            "'squared_error'");
}

TEST(Network, MakesTheEvaluatorsOfTheJobFile) {
  Json model =
      model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2, "activation": "softmax"}])");
  model["evaluators"] = Json::array({"auc", Json{{"type", "classification_error"}}});
  Network<float> network(ModelOptions::spec().parse(model, "model"), kSchema, 1);
  EXPECT_EQ(network.make_evaluators().size(), 2u);
}

TEST(Network, StartsWeightsAsTheirInitSays) {
  Network<float> network = network_of(R"([
      {"name": "out", "type": "fc", "input": ["a", "b", "e"], "size": 2, "activation": "softmax",
       "weight": {"init": {"type": "uniform", "mean": 1, "deviation": 0.5}, "learning_rate": 3, "l2": 0.25}},
      {"name": "a", "type": "fc", "input": "ids", "size": 2},
      {"name": "b", "type": "fc", "input": "words", "size": 2, "sparse_update": true, "bias": false},
      {"name": "e", "type": "embedding", "input": "ids", "size": 2, "weight": {"init": {"type": "file", "path": "m"}}}])");
  std::map<std::string, ParameterSpec> specs;
  for (const ParameterSpec& spec : network.parameters()) specs[spec.name] = spec;
  ASSERT_EQ(specs.size(), 8u);
  const ParameterSpec& uniform = specs["out.weight1"];
  EXPECT_EQ(uniform.initializer.distribution, Distribution::kUniform);
  EXPECT_EQ(uniform.initializer.mean, 1);
  EXPECT_EQ(uniform.initializer.deviation, 0.5);
  EXPECT_EQ(uniform.tuning.learning_rate, 3);
  EXPECT_EQ(uniform.tuning.l2, 0.25);
  const ParameterSpec& smart = specs["a.weight"];
  EXPECT_EQ(smart.kind, ParameterKind::kRows);
  EXPECT_EQ(smart.rows, 100);
  EXPECT_EQ(smart.initializer.distribution, Distribution::kNormal);
  EXPECT_EQ(smart.initializer.deviation, 0.1) << "1 / sqrt(100)";
  EXPECT_EQ(specs["a.bias"].initializer.distribution, Distribution::kZero);
  EXPECT_EQ(specs["b.weight"].rows, 0);
  EXPECT_EQ(specs["b.weight"].initializer.deviation, 0.01) << "the number of ids is not known";
  EXPECT_EQ(specs["e.weight"].init_file, "m");
}

TEST(Network, GivesEachParameterAndEachJobItsOwnSeed) {
  const char* layers =
      R"([{"name": "out", "type": "fc", "input": ["x", "ids"], "size": 2, "activation": "softmax"}])";
  Network<float> first = network_of(layers, 1), again = network_of(layers, 1), other = network_of(layers, 2);
  EXPECT_EQ(first.parameters()[0].initializer.seed, again.parameters()[0].initializer.seed);
  EXPECT_NE(first.parameters()[0].initializer.seed, first.parameters()[1].initializer.seed);
  EXPECT_NE(first.parameters()[0].initializer.seed, other.parameters()[0].initializer.seed);
}

TEST(Network, SharesParametersOfTheSameName) {
  Network<float> network = network_of(R"([
      {"name": "out", "type": "fc", "input": ["a", "b"], "size": 2, "activation": "softmax"},
      {"name": "b", "type": "fc", "input": "ids", "size": 4, "share_with": "a"},
      {"name": "a", "type": "fc", "input": "ids", "size": 4, "bias": false}])");
  std::vector<std::string> names;
  for (const ParameterSpec& spec : network.parameters()) names.push_back(spec.name);
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("a.weight", "b.bias", "out.weight0", "out.weight1", "out.bias"));
}

TEST(Network, RefusesToShareWhatDiffers) {
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": "a", "size": 2, "share_with": "a"},
                                 {"name": "a", "type": "fc", "input": "ids", "size": 4}])")),
            "model.layers.0.share_with: weight is 4 x 2, but that of 'a' is 100 x 4");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": ["a", "b"], "size": 2},
                                 {"name": "b", "type": "fc", "input": "x", "size": 4, "share_with": "a",
                                  "weight": {"l2": 1}},
                                 {"name": "a", "type": "fc", "input": "x", "size": 4}])")),
            "model.layers.1.weight: is that of 'a', which share_with names: set it there");
  EXPECT_EQ(
      refusal(model_of(R"([{"name": "out", "type": "fc", "input": ["x", "a"], "size": 2, "share_with": "a",
                                  "bias": false},
                                 {"name": "a", "type": "fc", "input": "x", "size": 4}])")),
      "model.layers.0.share_with: 'a' has no parameter of the same name");
}

TEST(Network, ALayerNamesWhoHasItsRowsInHeterogeneousTraining) {
  Network<float> network = network_of(R"([
      {"name": "out", "type": "fc", "input": ["a", "b", "c"], "size": 2, "device": "compute"},
      {"name": "a", "type": "fc", "input": "ids", "size": 4, "device": "compute"},
      {"name": "b", "type": "fc", "input": "ids", "size": 4, "device": "reader"},
      {"name": "c", "type": "fc", "input": "ids", "size": 4}])");
  std::vector<std::string> readers;
  for (const ParameterSpec& spec : network.parameters()) {
    if (with_readers(spec)) readers.push_back(spec.name);
  }
  EXPECT_THAT(readers, testing::UnorderedElementsAre("b.weight", "c.weight"));
}

TEST(Network, RefusesADeviceThatCannotHaveTheParametersOfALayer) {
  EXPECT_EQ(
      refusal(model_of(R"([{"name": "out", "type": "fc", "input": "a", "size": 2, "device": "reader"},
                                 {"name": "a", "type": "fc", "input": "ids", "size": 4}])")),
      "model.layers.0.device: a reader has rows that ids reach alone, and 'out' has none: leave it to the "
      "compute trainers");
  EXPECT_EQ(
      refusal(model_of(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2, "sparse_update": true,
                                  "device": "compute"}])")),
      "model.layers.0.device: a compute trainer has whole tables, and sparse_update makes one of single "
      "rows: "
      "leave out one of the two");
  EXPECT_EQ(refusal(model_of(R"([{"name": "out", "type": "fc", "input": ["a", "b"], "size": 2},
                                 {"name": "b", "type": "fc", "input": "ids", "size": 4, "share_with": "a",
                                  "device": "compute"},
                                 {"name": "a", "type": "fc", "input": "ids", "size": 4}])")),
            "model.layers.1.device: is that of 'a', which share_with names: set it there");
}

TEST(Network, LooksUpTheIdsOfASlotOnceForLayersThatShareATable) {
  Json model = model_of(R"([
      {"name": "out", "type": "fc", "input": ["a", "b", "c"], "size": 2, "activation": "softmax"},
      {"name": "a", "type": "embedding", "input": ["ids", "words"], "size": 4, "sparse_update": true},
      {"name": "b", "type": "embedding", "input": ["words", "ids"], "size": 4, "sparse_update": true, "share_with": "a"},
      {"name": "c", "type": "fc", "input": "ids", "size": 3}])");
  NetworkBench<float> bench(model, kSchema);
  Batch batch;
  batch.clear(kSchema);
  batch.labels = {1};
  batch.slots[0] = {{0, 2}, {5, 6}, {}};
  batch.slots[1] = {{0, 3}, {6, 7, uint64_t{1} << 60}, {}};
  batch.slots[2].values = {1, 2, 3};
  bench.load(batch);
  const KeyPlan& shared = bench.prepared().plans[bench.find("a.weight")];
  EXPECT_EQ(shared.uses.size(), 2u);
  EXPECT_THAT(shared.keys, testing::UnorderedElementsAre(5, 6, 7, uint64_t{1} << 60));
  EXPECT_EQ(bench.prepared().plans[bench.find("c.weight")].keys.size(), 2u);
  EXPECT_FALSE(shared.uses[0].touched.empty());
  bench.load(batch, /*training=*/false);
  EXPECT_EQ(bench.prepared().plans[bench.find("a.weight")].keys.size(), 4u);
}

TEST(Network, DescribesItsLayers) {
  DataSchema schema = {{{.name = "features", .dim = 18182296}, {.name = "words"}}};
  Json model = model_of(R"([
      {"name": "hidden1", "type": "fc", "input": "features", "size": 256, "activation": "tanh", "sparse_update": true},
      {"name": "tied", "type": "fc", "input": "features", "size": 256, "share_with": "hidden1", "sparse_update": true},
      {"name": "e", "type": "embedding", "input": "words", "size": 8, "sparse_update": true},
      {"name": "out", "type": "fc", "input": ["hidden1", "tied", "e"], "size": 2, "activation": "softmax"}])");
  Network<float> network(ModelOptions::spec().parse(model, "model"), schema, 1);
  EXPECT_EQ(network.describe(),
            "hidden1: fc 18182296 -> 256 tanh, sparse update, 4.65 G weights\n"
            "tied: fc 18182296 -> 256, sparse update, shares with hidden1\n"
            "e: embedding any id -> 8, sparse update, rows as they come\n"
            "out: fc 256 + 256 + 8 -> 2 softmax, 1.04 K weights\n");
}

// "a" gives its weights to "b", which is above it, and "c" has rows of ids.
TEST(Network, BackwardTellsOfEachGradientOnceItIsFinal) {
  NetworkBench<float> bench(model_of(R"([
      {"name": "a", "type": "fc", "input": "x", "size": 3, "activation": "tanh"},
      {"name": "c", "type": "embedding", "input": "words", "size": 2, "sparse_update": true},
      {"name": "b", "type": "fc", "input": "a", "size": 3, "share_with": "a"},
      {"name": "n", "type": "batch_norm", "input": "b"},
      {"name": "out", "type": "fc", "input": ["n", "c"], "size": 2, "activation": "softmax"}])"),
                            kSchema);
  Batch batch;
  batch.clear(kSchema);
  batch.labels = {1, 0};
  batch.slots[0].offsets = {0, 0, 0};
  batch.slots[1] = {{0, 1, 3}, {6, 7, 6}, {}};
  batch.slots[2].values = {1, 2, 3, -1, 4, 2};
  bench.load(batch);
  bench.forward();
  std::vector<std::string> order;
  std::map<size_t, std::vector<float>> told;
  bench.network().backward([&](size_t p) {
    order.push_back(bench.network().parameters()[p].name);
    told[p] = bench.gradient(p);
  });
  EXPECT_EQ(order.size(), bench.network().parameters().size());
  for (const auto& [p, gradient] : told) {
    SCOPED_TRACE(bench.network().parameters()[p].name);
    if (bench.network().parameters()[p].kind == ParameterKind::kStatistic) continue;  // it has none
    EXPECT_EQ(gradient, bench.gradient(p));
    EXPECT_TRUE(std::ranges::any_of(gradient, [](float value) { return value != 0; }));
  }
  auto place = [&](const char* name) { return std::ranges::find(order, name) - order.begin(); };
  EXPECT_LT(place("out.weight0"), place("n.weight"));
  EXPECT_LT(place("n.mean"), place("c.weight"));
  EXPECT_LT(place("c.weight"), place("a.weight"));
}

}  // namespace
}  // namespace ps::network_test
