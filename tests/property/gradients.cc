// Every layer of the catalogue, and every activation, against finite differences.
#include "config/json.h"
#include "gradient_check.h"
#include "layer_cases.h"
#include "model/activation.h"

namespace ps {
namespace {

TEST(Gradients, EveryLayerOfTheCatalogueHasACase) {
  for (const LayerEntry* entry : layer_catalog()) {
    EXPECT_TRUE(std::any_of(std::begin(kLayerCases), std::end(kLayerCases), [&](const LayerCase& c) {
      return c.layer == entry->name;
    })) << entry->name;
  }
}

class LayerGradients : public testing::TestWithParam<LayerCase> {};

TEST_P(LayerGradients, AreFiniteDifferences) {
  expect_gradients_match(model_of(GetParam().layers));
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerGradients, testing::ValuesIn(kLayerCases),
                         [](const auto& test) { return cat(test.param.layer, "_", test.index); });

class ActivationGradients : public testing::TestWithParam<std::string> {};

TEST_P(ActivationGradients, AreFiniteDifferences) {
  Json model = model_of(R"([{"type": "fc", "name": "out", "input": "below", "size": 5}])");
  model["layers"][0]["activation"] = GetParam();
  expect_gradients_match(model);
}

// A cost that takes logits leaves the activation out; one that does not goes through it.
TEST_P(ActivationGradients, AreFiniteDifferencesUnderACost) {
  Json model = model_of(R"([{"type": "fc", "name": "out", "input": "below", "size": 1}])");
  model["layers"].erase(model["layers"].size() - 1);
  model["layers"][0]["activation"] = GetParam();
  model["cost"] = {{"type", "squared_error"}, {"input", "out"}};
  if (GetParam() == "softmax") model["layers"][0]["size"] = 2, model["cost"]["type"] = "cross_entropy";
  expect_gradients_match(model, {.classes = GetParam() == "softmax" ? 2 : 0});
}

INSTANTIATE_TEST_SUITE_P(Activations, ActivationGradients, testing::ValuesIn(activation_names()),
                         [](const auto& test) { return test.param; });

// The cost's input may feed other layers as well.
TEST(Gradients, OfALayerThatIsReadTwiceAddUp) {
  expect_gradients_match(Json::parse(R"({
    "layers": [{"type": "fc", "name": "a", "input": "ids", "size": 2, "activation": "softmax"},
               {"type": "fc", "name": "b", "input": ["a", "a"], "size": 2, "activation": "tanh"},
               {"type": "add", "name": "c", "input": ["a", "b"], "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "c"}})"));
}

// One auxiliary cost takes logits, the other does not, and both read layers that the main cost reads too.
TEST(Gradients, OfAuxiliaryCostsJoinThoseOfTheMainOne) {
  expect_gradients_match(Json::parse(R"({
    "layers": [{"type": "fc", "name": "a", "input": "ids", "size": 3, "activation": "tanh"},
               {"type": "fc", "name": "side", "input": "a", "size": 2, "activation": "softmax"},
               {"type": "fc", "name": "value", "input": "a", "size": 1, "activation": "tanh"},
               {"type": "fc", "name": "out", "input": ["a", "side"], "size": 2, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "out"},
    "auxiliary_costs": [{"type": "cross_entropy", "input": "side", "factor": 0.3},
                        {"type": "squared_error", "input": "value", "factor": 2}]})"));
}

// Each cost has labels of its own, some of which are missing; the labels of the batch are none of either.
TEST(Gradients, OfCostsWithLabelsOfTheirOwnJoin) {
  DataSchema schema = gradient_schema();
  Batch batch = gradient_batch(schema, {.weighted = true}, 3);
  std::fill(batch.labels.begin(), batch.labels.end(), 9.0f);
  schema.slots.push_back({.name = "kind", .dim = 1});
  batch.slots.push_back({{0, 1, 1, 2, 3, 4, 4, 5}, {0, 0, 0, 0, 0}, {2, 0, 1, 2, 1}});
  schema.slots.push_back({.name = "price", .dense = true, .dim = 1});
  batch.slots.push_back({{}, {}, {0.5f, -1, 2, 0, 0.25f, 3, -2}});
  const Json model = Json::parse(R"({
    "layers": [{"type": "fc", "name": "body", "input": ["ids", "x"], "size": 3, "activation": "tanh"},
               {"type": "fc", "name": "kinds", "input": "body", "size": 3, "activation": "softmax"},
               {"type": "fc", "name": "value", "input": "body", "size": 1}],
    "cost": {"type": "squared_error", "input": "value", "label": "price"},
    "auxiliary_costs": [{"type": "cross_entropy", "input": "kinds", "label": "kind", "factor": 0.3}]})");
  expect_gradients_match(model, schema, batch);
}

}  // namespace
}  // namespace ps
