// Log losses from logits that saturate: probabilities that round to 0 or 1 in float tell them no more.
#include <gtest/gtest.h>

#include <cmath>

#include "config/json.h"
#include "model/evaluator.h"
#include "network_bench.h"

namespace ps::log_losses_test {
namespace {

// An fc layer over a dense slot, whose weights are the unit matrix: its logits are the values of the examples.
class LogLosses {
 public:
  LogLosses(int64_t classes, const std::string& activation, Json cost)
      : schema_{{{.name = "x", .dense = true, .dim = classes}}}, classes_(classes) {
    cost["input"] = "out";
    bench_ = std::make_unique<NetworkBench<float>>(Json{{"layers",
                                                         {{{"name", "out"},
                                                           {"type", "fc"},
                                                           {"input", "x"},
                                                           {"size", classes},
                                                           {"bias", false},
                                                           {"activation", activation}}}},
                                                        {"cost", cost},
                                                        {"evaluators", {"log_loss"}}},
                                                   schema_);
  }

  // The measure of these examples, as a trainer takes it; [B, classes] logits.
  double measure(const std::vector<float>& labels, const std::vector<float>& logits,
                 const std::vector<float>& weights = {}) {
    Batch batch;
    batch.clear(schema_);
    batch.labels = labels;
    batch.weights = weights;
    batch.slots[0].values = logits;
    bench_->load(batch);
    std::vector<float>& matrix = bench_->weights(0);
    for (size_t i = 0; i < matrix.size(); ++i)
      matrix[i] = i % static_cast<size_t>(classes_ + 1) == 0 ? 1.0f : 0.0f;
    bench_->forward();
    const auto evaluators = bench_->network().make_evaluators();
    EXPECT_TRUE(evaluators[0]->wants_log_losses());
    EXPECT_EQ(bench_->network().log_losses().size(), labels.size());
    evaluators[0]->add_log_losses(bench_->network().log_losses(), batch);
    return evaluators[0]->values()[0].second;
  }

 private:
  const DataSchema schema_;
  const int64_t classes_;
  std::unique_ptr<NetworkBench<float>> bench_;
};

// log(1 + e^x), exact in double for every x.
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

// log of the sum of e^s, less s[label].
double softmax_loss(const std::vector<float>& scores, size_t label) {
  double largest = -INFINITY, sum = 0;
  for (float s : scores) largest = std::max<double>(largest, s);
  for (float s : scores) sum += std::exp(static_cast<double>(s) - largest);
  return std::log(sum) + largest - static_cast<double>(scores[label]);
}

// With 17 and more, the probability rounds to 1; with 104 and more below 0, to 0: -log of a clamped one would be 34.5.
TEST(LogLosses, OfASigmoidAreThoseOfItsLogits) {
  const std::vector<float> logits = {40, 20, -120, 17.5f, -200, 3, -0.25f};
  const std::vector<float> labels = {0, -1, 1, 0, 1, 1, 0}, weights = {1, 2, 0.5f, 0, 1, 3, 1};
  double expected = 0, sum = 0;
  for (size_t b = 0; b < logits.size(); ++b) {
    const double s = logits[b];
    expected += weights[b] * softplus(labels[b] > 0 ? -s : s);
    sum += weights[b];
  }
  const Json weighed = {{"type", "binary_cross_entropy"}, {"pos_weight", 7}, {"label_smoothing", 0.25}};
  for (const char* activation : {"sigmoid", "linear"}) {
    for (const Json& cost : {Json{{"type", "binary_cross_entropy"}}, weighed, Json{{"type", "focal"}}}) {
      LogLosses losses(1, activation, cost);
      EXPECT_NEAR(losses.measure(labels, logits, weights), expected / sum, 1e-6 * expected / sum)
          << activation << cost;
    }
  }
}

// A right example with a logit of 20 costs 2e-9, which 1 less a probability in float does not tell from 0.
TEST(LogLosses, OfASigmoidAreSmallWhereItIsRight) {
  LogLosses losses(1, "sigmoid", {{"type", "binary_cross_entropy"}});
  EXPECT_NEAR(losses.measure({1, 0}, {20, -20}), softplus(-20), 1e-6 * softplus(-20));
}

TEST(LogLosses, OfASoftmaxAreThoseOfItsLogits) {
  const std::vector<std::vector<float>> scores = {
      {0, 150, -50}, {90, 10, -90}, {1, 2, 3}, {-200, 0, 0.5f}, {5, -5, 5}};
  const std::vector<float> labels = {0, 2, 1, 0, 1};
  std::vector<float> logits;
  double expected = 0;
  for (size_t b = 0; b < scores.size(); ++b) {
    logits.insert(logits.end(), scores[b].begin(), scores[b].end());
    expected += softmax_loss(scores[b], static_cast<size_t>(labels[b])) / static_cast<double>(scores.size());
  }
  const Json weighed = {{"type", "cross_entropy"}, {"class_weights", {2, 0, 5}}, {"label_smoothing", 0.25}};
  for (const Json& cost : {Json{{"type", "cross_entropy"}}, weighed}) {
    LogLosses losses(3, "softmax", cost);
    EXPECT_NEAR(losses.measure(labels, logits), expected, 1e-6 * expected) << cost;
  }
}

// The evaluator then takes the predictions, as it always did.
TEST(LogLosses, OfACostWithoutLogitsAreNone) {
  const DataSchema schema{{{.name = "x", .dense = true, .dim = 2}}};
  NetworkBench<float> bench(Json::parse(R"({
    "layers": [{"name": "out", "type": "fc", "input": "x", "size": 2, "activation": "sigmoid"}],
    "cost": {"type": "cross_entropy", "input": "out"}, "evaluators": ["log_loss"]})"),
                            schema);
  Batch batch;
  batch.clear(schema);
  batch.labels = {1};
  batch.slots[0].values = {0.5f, 2};
  bench.load(batch);
  bench.forward();
  EXPECT_TRUE(bench.network().log_losses().empty());
}

}  // namespace
}  // namespace ps::log_losses_test
