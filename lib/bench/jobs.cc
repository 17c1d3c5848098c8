#include "bench/jobs.h"

#include "config/spec.h"

namespace ps {

namespace {

// The models and optimizers below are those of a job file, ps-job(5).
constexpr const char* kLogistic = R"({
  "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true,
              "weight": {"init": {"type": "zero"}}}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kFactorization = R"({
  "layers": [{"name": "linear", "type": "fc", "input": "features", "size": 1, "sparse_update": true,
              "weight": {"init": {"type": "zero"}}},
             {"name": "pairs", "type": "fm", "input": "features", "factors": 8, "sparse_update": true},
             {"name": "score", "type": "add", "input": ["linear", "pairs"]}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kEmbedding = R"({
  "layers": [{"name": "vectors", "type": "embedding", "input": "features", "size": 16, "sparse_update": true},
             {"name": "score", "type": "fc", "input": "vectors", "size": 1}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kDemo = R"({
  "layers": [{"name": "hidden1", "type": "fc", "input": "features", "size": 256, "activation": "tanh",
              "sparse_update": true},
             {"name": "hidden2", "type": "fc", "input": "hidden1", "size": 32, "activation": "tanh"},
             {"name": "output", "type": "fc", "input": "hidden2", "size": 2, "activation": "softmax"}],
  "cost": {"type": "cross_entropy", "input": "output"}})";

constexpr const char* kWideDeep = R"({
  "layers": [{"name": "numbers", "type": "batch_norm", "input": "integers"},
             {"name": "wide", "type": "fc", "input": "numbers", "size": 1},
             {"name": "vectors", "type": "embedding", "size": 10, "sparse_update": true, "input": []},
             {"name": "features", "type": "concat", "input": ["numbers", "vectors"]},
             {"name": "deep1", "type": "fc", "input": "features", "size": 400, "activation": "relu"},
             {"name": "deep2", "type": "fc", "input": "deep1", "size": 400, "activation": "relu"},
             {"name": "deep3", "type": "fc", "input": "deep2", "size": 400, "activation": "relu"},
             {"name": "deep", "type": "fc", "input": "deep3", "size": 1},
             {"name": "score", "type": "add", "input": ["wide", "deep"]}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

}  // namespace

Json logistic_model() {
  return Json::parse(kLogistic);
}

Json factorization_model() {
  return Json::parse(kFactorization);
}

Json embedding_model(int width) {
  Json model = Json::parse(kEmbedding);
  model["layers"][0]["size"] = width;
  return model;
}

Json demo_model() {
  return Json::parse(kDemo);
}

Json wide_deep_model() {
  Json model = Json::parse(kWideDeep);
  for (int slot = 1; slot <= 26; ++slot) model["layers"][2]["input"].push_back(cat("C", slot));
  return model;
}

Json adagrad(double learning_rate, double epsilon) {
  return {{"type", "adagrad"}, {"learning_rate", learning_rate}, {"epsilon", epsilon}};
}

Json demo_optimizer() {
  return {{"type", "sparse_momentum"}, {"momentum", 0.9}, {"learning_rate", 0.001}};
}

ModelAndOptimizer demo_job() {
  Json model = demo_model();
  model["evaluators"] = {"classification_error", "auc"};
  return {std::move(model), demo_optimizer()};
}

SynthOptions demo_ids() {
  SynthOptions options;
  options.dim = 18182296;
  options.nnz = {11, 190};
  options.zipf = 1.1;
  options.positive_rate = 0.002;
  return options;
}

// The gradient is the sum over a batch, as PlainLogistic and the peers add it, and not its mean.
Job memory_job(const std::string& name, const ModelAndOptimizer& what, const Json& strategy) {
  Json document = {
      {"model", what.model},
      {"optimizer", what.optimizer},
      {"train", {{"gradient", "sum"}, {"log_period", 0}, {"save_dir", ""}, {"strategy", strategy}}}};
  return Job::spec().parse(document, name);
}

Json process_job(const ModelAndOptimizer& what, const std::string& format, int batch_size) {
  return {{"data", {{"format", format}, {"batch_size", batch_size}}},
          {"model", what.model},
          {"optimizer", what.optimizer},
          {"train", {{"passes", 1}, {"gradient", "sum"}, {"log_period", 0}, {"saving_period", 1}}}};
}

}  // namespace ps
