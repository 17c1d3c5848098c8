// Costs of several tasks: each is a mean over the examples that have its label.
#include "train/measures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../model/network_bench.h"
#include "base/error.h"
#include "config/json.h"

namespace ps::measures_test {
namespace {

DataSchema schema() {
  return {{{.name = "x", .dense = true, .dim = 2}, {.name = "click", .dim = 1}, {.name = "kind", .dim = 1}}};
}

// Three costs of two tasks.
Json model() {
  return Json::parse(R"({
    "layers": [{"type": "fc", "name": "a", "input": "x", "size": 1},
               {"type": "fc", "name": "b", "input": "x", "size": 3, "activation": "softmax"}],
    "cost": {"type": "binary_cross_entropy", "input": "a", "label": "click"},
    "auxiliary_costs": [{"type": "cross_entropy", "input": "b", "label": "kind", "factor": 0.5},
                        {"type": "binary_cross_entropy", "input": "a", "label": "click", "factor": 2}]})");
}

struct Example {
  float x0, x1;
  int click, kind;  // -1: it has none
  float weight;
};
const std::vector<Example> kExamples = {
    {1, 0, 1, 2, 1}, {0, 1, 0, 0, 2}, {1, 1, 0, -1, 1}, {-1, 2, 1, -1, 4}, {2, 2, -1, 1, 0.5F}};

Batch batch_of(std::span<const Example> examples, bool weighted) {
  Batch batch;
  batch.clear(schema());
  for (const Example& example : examples) {
    batch.labels.push_back(9);
    if (weighted) batch.weights.push_back(example.weight);
    batch.slots[0].values.insert(batch.slots[0].values.end(), {example.x0, example.x1});
    for (const auto& [slot, label] : {std::pair(1, example.click), std::pair(2, example.kind)}) {
      SlotData& data = batch.slots[static_cast<size_t>(slot)];
      if (label >= 0) data.keys.push_back(0), data.values.push_back(static_cast<float>(label));
      data.offsets.push_back(static_cast<uint32_t>(data.keys.size()));
    }
  }
  return batch;
}

class MeasuresTest : public testing::TestWithParam<bool> {
 protected:
  // Adds examples to `measures`, as training or as a test does, and to the sums by hand.
  void add(Measures& measures, size_t begin, size_t end, bool training) {
    const std::span<const Example> examples(kExamples.data() + begin, end - begin);
    const Batch batch = batch_of(examples, GetParam());
    bench_.load(batch, training);
    const double sum = bench_.forward();
    double of_tasks = 0;
    for (double cost : bench_.network().figures().task_costs) of_tasks += cost;
    EXPECT_EQ(sum, of_tasks);
    measures.add(bench_.network().figures(), batch);
    const Matrix<const float> predicted = bench_.network().predictions();
    for (size_t b = 0; b < examples.size(); ++b) {
      const Example& example = examples[b];
      const double weight = GetParam() ? static_cast<double>(example.weight) : 1;
      const float* row = predicted.row(static_cast<int64_t>(b));
      const double p = static_cast<double>(row[0]), click_factor = training ? 3 : 1;
      if (example.click >= 0) {
        click_.weight += weight;
        click_.cost -= click_factor * weight * std::log(example.click == 1 ? p : 1 - p);
      }
      if (example.kind < 0) continue;
      kind_.weight += weight;
      kind_.cost -= 0.5 * weight * std::log(static_cast<double>(row[1 + example.kind]));
    }
  }

  void expect_by_hand(const Measures& measures) {
    const Json values = measures.json();
    EXPECT_NEAR(values["click.cost"].get<double>(), click_.cost / click_.weight, 1e-6);
    EXPECT_NEAR(values["kind.cost"].get<double>(), kind_.cost / kind_.weight, 1e-6);
    EXPECT_NEAR(measures.average_cost(), click_.cost / click_.weight + kind_.cost / kind_.weight, 1e-6);
  }

  NetworkBench<float> bench_{model(), schema()};
  TaskTotals click_, kind_;  // computed from predictions
};
INSTANTIATE_TEST_SUITE_P(Weights, MeasuresTest, testing::Bool());

TEST_P(MeasuresTest, ATasksCostIsTheMeanOverTheExamplesThatHaveItsLabel) {
  Measures measures(bench_.network());
  add(measures, 0, 3, /*training=*/true);
  add(measures, 3, 5, /*training=*/true);
  EXPECT_EQ(measures.samples(), 5);
  expect_by_hand(measures);
}

TEST_P(MeasuresTest, ATestHasTheFirstCostOfEachTask) {
  Measures measures(bench_.network());
  add(measures, 0, 5, /*training=*/false);
  expect_by_hand(measures);
}

TEST_P(MeasuresTest, MeasuresOfTrainersAreMergedAfterTheyWereSent) {
  Measures all(bench_.network()), part(bench_.network()), received(bench_.network());
  for (const auto& [begin, end] : {std::pair(0, 2), std::pair(2, 4), std::pair(4, 5)}) {
    part.reset();
    add(part, static_cast<size_t>(begin), static_cast<size_t>(end), /*training=*/true);
    std::string sent;
    part.save(sent);
    ByteReader in(sent);
    received.load(in);
    EXPECT_EQ(in.remaining(), 0u);
    all.merge(received);
    for (size_t size = 0; size < sent.size(); ++size) {
      ByteReader cut(std::string_view(sent).substr(0, size));
      EXPECT_THROW(Measures(bench_.network()).load(cut), Error) << size;
    }
  }
  EXPECT_EQ(all.samples(), 5);
  expect_by_hand(all);
}

TEST_P(MeasuresTest, ATaskWithoutLabelsIsUndefinedAndAddsNothing) {
  Measures measures(bench_.network());
  add(measures, 2, 4, /*training=*/false);
  EXPECT_TRUE(measures.json()["kind.cost"].is_null());
  EXPECT_NEAR(measures.average_cost(), click_.cost / click_.weight, 1e-6);
  EXPECT_TRUE(measures.text().starts_with("click.cost=")) << measures.text();
  EXPECT_TRUE(measures.text().ends_with(" kind.cost=undefined")) << measures.text();
}

TEST(MeasuresOfWeightZero, AreUndefined) {
  NetworkBench<float> bench(model(), schema());
  Measures measures(bench.network());
  EXPECT_EQ(measures.average_cost(), 0) << "without examples";
  std::vector<Example> examples(kExamples.begin(), kExamples.begin() + 2);
  for (Example& example : examples) example.weight = 0;
  const Batch batch = batch_of(examples, true);
  bench.load(batch, /*training=*/false);
  bench.forward();
  measures.add(bench.network().figures(), batch);
  EXPECT_TRUE(std::isnan(measures.average_cost())) << measures.average_cost();
  EXPECT_EQ(measures.text(), "click.cost=undefined kind.cost=undefined");
}

// The main cost and its helper read the labels of the batch, and have a name that is that of no slot.
TEST(TasksOfAModel, AreNamedByTheirLabels) {
  Json changed = model();
  changed["cost"].erase("label");
  DataSchema with_main = schema();
  with_main.slots.push_back({.name = "main", .dense = true, .dim = 1});
  const auto names = [](const Json& model, const DataSchema& schema) {
    NetworkBench<float> bench(model, schema);
    std::vector<std::string> found;
    for (const CostTask& task : bench.network().tasks()) found.push_back(task.name);
    return found;
  };
  EXPECT_EQ(names(model(), schema()), (std::vector<std::string>{"click", "kind"}));
  EXPECT_EQ(names(changed, schema()), (std::vector<std::string>{"main", "kind", "click"}));
  EXPECT_EQ(names(changed, with_main), (std::vector<std::string>{"main_", "kind", "click"}));
  changed = model();
  changed["auxiliary_costs"][1].erase("label");
  EXPECT_EQ(names(changed, schema()), (std::vector<std::string>{"click", "kind", "auxiliary"}));
  changed["auxiliary_costs"] = Json::array();
  changed["layers"].erase(1);
  NetworkBench<float> one(changed, schema());
  EXPECT_EQ(Measures(one.network()).text(), "") << "the cost of the only task is the cost";
}

}  // namespace
}  // namespace ps::measures_test
