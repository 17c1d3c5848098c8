// Models whose examples have any number of labels, which are the ids of a slot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "config/json.h"
#include "network_bench.h"
#include "support/thrown_error.h"

namespace ps::label_sets_test {
namespace {

using testing::HasSubstr;

DataSchema schema() {
  return {{{.name = "words", .dim = 9},
           {.name = "labels", .dense = false, .dim = 0},
           {.name = "x", .dense = true, .dim = 3}}};
}

Json model(const char* input, const Json& evaluators = Json::array()) {
  return {{"layers", {{{"name", "out"}, {"type", "fc"}, {"input", input}, {"size", 3}}}},
          {"cost", {{"type", "multi_label_cross_entropy"}, {"input", "out"}}},
          {"evaluators", evaluators}};
}

std::string refusal(const Json& model) {
  return error_of([&] { NetworkBench<float>(model, schema()); }, Code::kUsage);
}

TEST(LabelSets, AreNoFeatures) {
  NetworkBench<float> all(model("*"), schema());
  std::vector<std::string> names;
  for (const ParameterSpec& spec : all.network().parameters()) names.push_back(spec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"out.weight0", "out.weight1", "out.bias"}));
  EXPECT_THAT(refusal(model("labels")),
              HasSubstr("model.layers.0.input: 'labels' has the labels of the cost"));
}

TEST(LabelSets, AreMeasuredByWhatTakesThem) {
  for (const char* name : {"precision_at_k", "micro_f1", "log_loss", "sum"})
    EXPECT_NO_THROW(NetworkBench<float>(model("x", {name}), schema())) << name;
  EXPECT_THAT(refusal(model("x", {"sum", "classification_error"})),
              HasSubstr("model.evaluators.1: classification_error is of one label an example"));
}

// Logits of 30 and more have probabilities that round to 0 and 1 in float.
TEST(LabelSets, HaveTheLogLossesOfLogits) {
  Json dense = model("x", {"log_loss"});
  dense["layers"][0]["bias"] = false;
  NetworkBench<float> bench(dense, schema());
  Batch batch;
  batch.clear(schema());
  batch.labels = {0, 0};
  batch.weights = {1, 3};
  batch.slots[0].offsets = {0, 0, 0};
  batch.slots[1].offsets = {0, 2, 2};
  batch.slots[1].keys = {2, 1};
  batch.slots[2].values = {30, -120, 40, 0.5f, -30, 200};
  bench.load(batch);
  std::vector<float>& matrix = bench.weights(0);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = i % 4 == 0 ? 1.0f : 0.0f;
  bench.forward();
  const auto loss = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
  const double first = loss(30) + loss(120) + loss(-40), second = loss(0.5) + loss(-30) + loss(200);
  const auto evaluators = bench.network().make_evaluators();
  ASSERT_EQ(bench.network().log_losses().size(), 2u);
  evaluators[0]->add_log_losses(bench.network().log_losses(), batch);
  const double expected = (first + 3 * second) / 4;
  EXPECT_NEAR(evaluators[0]->values()[0].second, expected, 1e-6 * expected);
}

}  // namespace
}  // namespace ps::label_sets_test
