// Costs that read labels of their own: several tasks of one model.
#include "model/own_labels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "config/json.h"
#include "network_bench.h"

namespace ps::own_labels_test {
namespace {

const char* const kModel = R"({
  "layers": [{"type": "fc", "name": "body", "input": "x", "size": 3, "activation": "tanh"},
             {"type": "fc", "name": "a", "input": "body", "size": 1},
             {"type": "fc", "name": "b", "input": "body", "size": 3, "activation": "softmax"}],
  "cost": {"type": "binary_cross_entropy", "input": "a", "label": "click"},
  "auxiliary_costs": [{"type": "cross_entropy", "input": "b", "label": "kind", "factor": 0.5}],
  "evaluators": ["log_loss", {"type": "accuracy", "label": "click"}, {"type": "accuracy", "label": "kind"},
                 {"type": "log_loss", "label": "kind"}]})";

DataSchema schema() {
  return {{{.name = "x", .dense = true, .dim = 2},
           {.name = "click", .dense = true, .dim = 1},
           {.name = "kind", .dim = 1}}};
}

// Four examples; the third has no kind.  Labels of the batch itself are no labels of any cost.
Batch examples() {
  Batch batch;
  batch.clear(schema());
  batch.labels = {9, 9, 9, 9};
  batch.weights = {1, 2, 1, 0.5};
  batch.slots[0].values = {1, 0, 0, 1, 1, 1, -1, 2};
  batch.slots[1].values = {1, 0, 0, 1};
  batch.slots[2].offsets = {0, 1, 2, 2, 3};
  batch.slots[2].keys = {0, 0, 0};
  batch.slots[2].values = {2, 0, 1};
  return batch;
}

Batch without_third() {
  const Batch all = examples();
  Batch batch;
  batch.clear(schema());
  for (int64_t b : {0, 1, 3}) batch.append(schema(), all, b);
  return batch;
}

double log_loss(std::span<const double> losses, std::span<const double> weights) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < losses.size(); ++i) sum += losses[i] * weights[i], weight += weights[i];
  return sum / weight;
}

TEST(OwnLabels, GiveEachCostItsLabelsItsPredictionsAndItsMeasures) {
  NetworkBench<float> bench(Json::parse(kModel), schema());
  const Batch batch = examples();
  bench.load(batch);
  const double cost = bench.forward();
  const Matrix<const float> all = bench.network().predictions();
  ASSERT_EQ(all.cols, 4);
  ASSERT_EQ(bench.network().prediction_cols(), 4);
  auto evaluators = bench.network().make_evaluators();
  std::vector<std::pair<std::string, double>> values;
  for (const auto& evaluator : evaluators) {
    if (evaluator->wants_log_losses()) {
      evaluator->add_log_losses(bench.network().log_losses(), batch);
    } else {
      evaluator->add(all, batch);
    }
    values.push_back(evaluator->values()[0]);
  }
  const auto p = [&](int64_t b, int64_t c) { return static_cast<double>(all.row(b)[c]); };
  const std::vector<double> clicks = {-std::log(p(0, 0)), -std::log(1 - p(1, 0)), -std::log(1 - p(2, 0)),
                                      -std::log(p(3, 0))};
  const std::vector<double> kinds = {-std::log(p(0, 3)), -std::log(p(1, 1)), -std::log(p(3, 2))};
  const std::vector<double> weights = {1, 2, 1, 0.5}, of_kinds = {1, 2, 0.5};
  EXPECT_EQ(values[0].first, "log_loss");
  EXPECT_NEAR(values[0].second, log_loss(clicks, weights), 1e-6);
  EXPECT_EQ(values[1].first, "click.accuracy");
  EXPECT_NEAR(values[1].second,
              ((p(0, 0) > 0.5) + 2 * (p(1, 0) <= 0.5) + (p(2, 0) <= 0.5) + 0.5 * (p(3, 0) > 0.5)) / 4.5,
              1e-6);
  EXPECT_EQ(values[2].first, "kind.accuracy");
  const auto best = [&](int64_t b, int64_t c) {
    return p(b, c) >= p(b, 1) && p(b, c) >= p(b, 2) && p(b, c) >= p(b, 3);
  };
  EXPECT_NEAR(values[2].second, (best(0, 3) + 2 * best(1, 1) + 0.5 * best(3, 2)) / 3.5, 1e-6);
  EXPECT_EQ(values[3].first, "kind.log_loss");
  EXPECT_NEAR(values[3].second, log_loss(kinds, of_kinds), 1e-6);
  EXPECT_NEAR(cost, 4.5 * values[0].second + 0.5 * 3.5 * values[3].second, 1e-5);
}

// Weight 2 for the main cost would remain if the example without a label were one of label 0.
TEST(OwnLabels, AnExampleWithoutALabelHasNoPartInTheCost) {
  Json model = Json::parse(kModel);
  std::swap(model["cost"], model["auxiliary_costs"][0]);
  model["auxiliary_costs"] = Json::array();
  model["layers"].erase(1);
  model["evaluators"] = Json::array();
  for (const char* weighted : {"weighted", ""}) {
    Batch all = examples(), rest = without_third();
    if (*weighted == 0) all.weights.clear(), rest.weights.clear();
    NetworkBench<float> with(model, schema()), without(model, schema());
    with.load(all);
    without.load(rest);
    EXPECT_NEAR(with.forward(), without.forward(), 1e-6);
    with.backward();
    without.backward();
    for (size_t p = 0; p < with.network().parameters().size(); ++p) {
      for (size_t i = 0; i < with.gradient(p).size(); ++i)
        EXPECT_NEAR(with.gradient(p)[i], without.gradient(p)[i], 1e-6) << weighted;
    }
  }
}

// Pairs of a group are compared, and the label 0 of an example without one would be compared too.
TEST(OwnLabels, AnExampleWithoutALabelIsComparedWithNoOther) {
  const Json model = Json::parse(R"({
    "layers": [{"type": "fc", "name": "a", "input": "x", "size": 1}],
    "cost": {"type": "ranking", "input": "a", "label": "kind"}})");
  for (bool grouped : {false, true}) {
    Batch all = examples(), rest = without_third();
    all.weights.clear(), rest.weights.clear();
    if (grouped) all.groups = {5, 5, 5, 5}, rest.groups = {5, 5, 5};
    NetworkBench<double> with(model, schema()), without(model, schema());
    with.load(all);
    without.load(rest);
    EXPECT_DOUBLE_EQ(with.forward(), without.forward());
  }
}

TEST(OwnLabels, OfASparseSlotAreItsIds) {
  const DataSchema ids{{{.name = "kind", .dim = 7}}};
  Batch batch;
  batch.clear(ids);
  batch.labels = {0, 0};
  batch.slots[0].offsets = {0, 1, 1};
  batch.slots[0].keys = {6};
  const OwnLabels labels("kind", ids);
  EXPECT_EQ(labels.label(batch, 0), 6.0F);
  EXPECT_EQ(labels.label(batch, 1), std::nullopt);
  batch.slots[0].offsets = {0, 0, 2};
  batch.slots[0].keys = {6, 6};
  try {
    labels.label(batch, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "example 1 has 2 labels in slot 'kind': expected one");
  }
}

std::string error_of(const Json& changes) {
  Json model = Json::parse(kModel);
  model.merge_patch(changes);
  try {
    NetworkBench<float> bench(model, schema());
  } catch (const Error& error) {
    return error.message();
  }
  return "none";
}

TEST(OwnLabels, AreRefusedWhereTheyMakeNoSense) {
  EXPECT_TRUE(error_of({{"cost", {{"label", "clicks"}}}})
                  .starts_with("model.cost: label: the data have no slot 'clicks' (did you mean 'click'?)"));
  EXPECT_EQ(error_of({{"cost", {{"label", "x"}}}}), "model.layers.0.input: 'x' has the labels of the cost");
  EXPECT_EQ(error_of({{"evaluators", {{{"type", "auc"}, {"label", "kinds"}}}}}),
            "model.evaluators.0: label: no cost reads the label 'kinds' (did you mean 'kind'?)");
  EXPECT_EQ(error_of({{"cost", {{"type", "sum"}, {"input", "a"}}}}),
            "model.cost: label: 'click', and sum reads no such labels");
}

}  // namespace
}  // namespace ps::own_labels_test
