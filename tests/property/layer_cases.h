// Models that use each layer of the catalogue, for tests that all layers must pass.  A new layer needs a line
// here.
#ifndef PS_TESTS_PROPERTY_LAYER_CASES_H_
#define PS_TESTS_PROPERTY_LAYER_CASES_H_

#include <algorithm>
#include <string>

#include "config/json.h"
#include "model/layer.h"

namespace ps {

// Layers that end in "out", between what makes a layer of the slots ("below") and a classifier; or that end
// in "cost".
struct LayerCase {
  const char* layer;  // the entry it is for
  const char* layers;
};

inline const LayerCase kLayerCases[] = {
    {"fc", R"([{"type": "fc", "name": "out", "input": "below", "size": 3}])"},
    {"fc",
     R"([{"type": "fc", "name": "out", "input": ["below", "x", "ids", "words"], "size": 3, "sparse_update": true}])"},
    {"fc", R"([{"type": "fc", "name": "out", "input": ["below", "ids"], "size": 5, "bias": false}])"},
    {"fc", R"([{"type": "fc", "name": "a", "input": "ids", "size": 4, "activation": "tanh"},
               {"type": "fc", "name": "b", "input": "ids", "size": 4, "share_with": "a", "activation": "sigmoid"},
               {"type": "concat", "name": "out", "input": ["a", "b", "below"]}])"},
    {"fc", R"([{"type": "fc", "name": "a", "input": "below", "size": 4, "activation": "tanh"},
               {"type": "fc", "name": "out", "input": "a", "size": 4, "share_with": "a"}])"},
    {"embedding", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 4},
                      {"type": "add", "name": "out", "input": ["a", "below"]}])"},
    {"embedding",
     R"([{"type": "embedding", "name": "a", "input": ["ids", "words"], "size": 2, "pooling": "mean"},
                      {"type": "add", "name": "out", "input": ["a", "below"]}])"},
    {"embedding",
     R"([{"type": "embedding", "name": "a", "input": ["ids", "words"], "size": 3, "pooling": "concat",
                       "ids_per_example": 4, "sparse_update": true},
                      {"type": "concat", "name": "out", "input": ["a", "below"]}])"},
    {"concat", R"([{"type": "concat", "name": "out", "input": ["below", "x", "below"]}])"},
    {"add", R"([{"type": "add", "name": "out", "input": ["below", "below", "below"]}])"},
    {"dropout", R"([{"type": "dropout", "name": "out", "input": "below", "rate": 0.4}])"},
    {"batch_norm", R"([{"type": "batch_norm", "name": "out", "input": "below", "epsilon": 0.01}])"},
    {"batch_norm", R"([{"type": "batch_norm", "name": "out", "input": "x", "bias": false},
                       {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"fm", R"([{"type": "fm", "name": "a", "input": "ids", "factors": 3},
               {"type": "concat", "name": "out", "input": ["a", "below"]}])"},
    {"fm", R"([{"type": "fm", "name": "a", "input": ["ids", "words"], "factors": 5, "sparse_update": true},
               {"type": "concat", "name": "out", "input": ["a", "below"]}])"},
    {"ffm", R"([{"type": "ffm", "name": "a", "input": ["ids", "words"], "factors": 3},
                {"type": "concat", "name": "out", "input": ["a", "below"]}])"},
    {"ffm",
     R"([{"type": "ffm", "name": "a", "input": ["ids", "words", "ids"], "factors": 1, "sparse_update": true},
                {"type": "concat", "name": "out", "input": ["a", "below"]}])"},
    {"bi_interaction", R"([{"type": "embedding", "name": "a", "input": ["ids", "words", "ids"], "size": 4},
                           {"type": "bi_interaction", "name": "b", "input": "a", "size": 4},
                           {"type": "add", "name": "out", "input": ["b", "below"]}])"},
    {"bi_interaction", R"([{"type": "bi_interaction", "name": "out", "input": "below", "size": 2}])"},
    {"multiply", R"([{"type": "fc", "name": "a", "input": "words", "size": 4},
                     {"type": "multiply", "name": "out", "input": ["a", "below", "a"]}])"},
    {"dot", R"([{"type": "fc", "name": "a", "input": "words", "size": 4},
                {"type": "dot", "name": "out", "input": ["a", "below"], "activation": "tanh"}])"},
    {"dot", R"([{"type": "dot", "name": "a", "input": ["below", "below"]},
                {"type": "concat", "name": "out", "input": ["a", "below"]}])"},
    {"cosine", R"([{"type": "fc", "name": "a", "input": ["words", "x"], "size": 4},
                   {"type": "cosine", "name": "out", "input": ["a", "below"], "scale": 3}])"},
    {"cosine", R"([{"type": "fc", "name": "a", "input": "below", "size": 3},
                   {"type": "cosine", "name": "out", "input": ["x", "a"]}])"},
    {"bilinear", R"([{"type": "fc", "name": "a", "input": "words", "size": 4},
                     {"type": "fc", "name": "b", "input": "x", "size": 4, "activation": "tanh"},
                     {"type": "bilinear", "name": "out", "input": ["a", "b", "below"]}])"},
    {"translation", R"([{"type": "fc", "name": "a", "input": "words", "size": 4},
                        {"type": "fc", "name": "b", "input": "x", "size": 4, "activation": "tanh"},
                        {"type": "translation", "name": "out", "input": ["a", "b", "below"]}])"},
    {"translation", R"([{"type": "fc", "name": "a", "input": "words", "size": 4},
                        {"type": "fc", "name": "b", "input": "x", "size": 4, "activation": "tanh"},
                        {"type": "translation", "name": "out", "input": ["a", "b", "below"], "norm": "l1"}])"},
    {"in_batch_softmax", R"([{"type": "fc", "name": "a", "input": ["words", "x"], "size": 4},
                             {"type": "in_batch_softmax", "name": "cost", "input": ["a", "below"]}])"},
    {"in_batch_softmax", R"([{"type": "fc", "name": "a", "input": ["words", "x"], "size": 4},
                             {"type": "in_batch_softmax", "name": "cost", "input": ["below", "a", "words"],
                              "similarity": "cosine", "scale": 4}])"},
    {"cross", R"([{"type": "cross", "name": "out", "input": "below", "depth": 1}])"},
    {"cross", R"([{"type": "cross", "name": "out", "input": "below", "depth": 3, "bias": false}])"},
    {"cross", R"([{"type": "cross", "name": "out", "input": "below", "depth": 2, "activation": "tanh"}])"},
    {"nce", R"([{"type": "nce", "name": "cost", "input": "below", "num_classes": 5, "num_neg_samples": 3}])"},
    {"nce", R"([{"type": "nce", "name": "cost", "input": "below", "num_classes": 5, "num_neg_samples": 6,
                 "noise": "log_uniform", "bias": false, "sparse_update": true}])"},
    {"nce",
     R"([{"type": "nce", "name": "cost", "input": ["below", "words"], "num_classes": 7, "num_neg_samples": 3}])"},
    {"hsigmoid", R"([{"type": "hsigmoid", "name": "cost", "input": "below", "num_classes": 5}])"},
    {"conv2d",
     R"([{"type": "conv2d", "name": "out", "input": "below", "filters": 3, "kernel": 2, "padding": 1,
                    "channels": 1, "height": 2, "width": 2}])"},
    {"conv2d", R"([{"type": "fc", "name": "a", "input": "below", "size": 40},
                   {"type": "conv2d", "name": "b", "input": "a", "filters": 4, "kernel": 3, "padding": 1,
                    "groups": 2, "channels": 2, "height": 5, "width": 4, "activation": "tanh"},
                   {"type": "conv2d", "name": "out", "input": "b", "filters": 2, "kernel": 3, "stride": 2,
                    "padding": 1, "bias": false}])"},
    {"conv2d", R"([{"type": "conv2d", "name": "a", "input": "below", "filters": 3, "kernel": 1, "channels": 1,
                    "height": 2, "width": 2},
                   {"type": "conv2d", "name": "out", "input": "b", "filters": 3, "kernel": 1, "share_with": "b"},
                   {"type": "conv2d", "name": "b", "input": "a", "filters": 3, "kernel": 1}])"},
    {"max_pool", R"([{"type": "fc", "name": "a", "input": "below", "size": 40},
                     {"type": "max_pool", "name": "out", "input": "a", "kernel": 3, "stride": 2, "padding": 1,
                      "ceil_mode": true, "channels": 2, "height": 5, "width": 4}])"},
    {"average_pool", R"([{"type": "fc", "name": "a", "input": "below", "size": 40},
                         {"type": "average_pool", "name": "out", "input": "a", "kernel": 3, "stride": 2,
                          "padding": 1, "ceil_mode": true, "channels": 2, "height": 5, "width": 4}])"},
    {"global_average_pool", R"([{"type": "fc", "name": "a", "input": "below", "size": 54},
                                {"type": "global_average_pool", "name": "out", "input": "a", "channels": 3,
                                 "height": 6, "width": 3}])"},
    {"local_response_norm", R"([{"type": "fc", "name": "a", "input": "below", "size": 30},
                                {"type": "local_response_norm", "name": "out", "input": "a", "size": 3,
                                 "alpha": 0.5, "channels": 5, "height": 3, "width": 2}])"},
    {"batch_norm", R"([{"type": "fc", "name": "a", "input": "below", "size": 54},
                       {"type": "batch_norm", "name": "out", "input": "a", "epsilon": 0.01, "channels": 3,
                        "height": 6, "width": 3}])"},
    {"concat", R"([{"type": "conv2d", "name": "a", "input": "below", "filters": 2, "kernel": 1, "channels": 1,
                    "height": 2, "width": 2},
                   {"type": "dropout", "name": "b", "input": "a", "rate": 0.3},
                   {"type": "concat", "name": "c", "input": ["a", "b"]},
                   {"type": "add", "name": "d", "input": ["c", "c"]},
                   {"type": "conv2d", "name": "out", "input": "d", "filters": 2, "kernel": 2}])"},
    {"hsigmoid",
     R"([{"type": "hsigmoid", "name": "cost", "input": "below", "num_classes": 2, "bias": false}])"},
    {"embedding", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none"},
                      {"type": "sequence_pool", "name": "b", "input": "a", "pooling": "sum"},
                      {"type": "add", "name": "out", "input": ["b", "b"]},
                      {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"fc",
     R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none", "sparse_update": true},
               {"type": "embedding", "name": "b", "input": "ids", "size": 2, "pooling": "none"},
               {"type": "concat", "name": "c", "input": ["a", "b"]},
               {"type": "fc", "name": "d", "input": ["c", "b"], "size": 5, "activation": "tanh"},
               {"type": "dropout", "name": "e", "input": "d", "rate": 0.4},
               {"type": "add", "name": "f", "input": ["e", "c"]},
               {"type": "sequence_pool", "name": "out", "input": "f", "pooling": "mean"},
               {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"gru", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none"},
                {"type": "gru", "name": "out", "input": "a", "size": 4},
                {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"gru", R"([{"type": "embedding", "name": "a", "input": "words", "size": 3, "pooling": "none"},
                {"type": "gru", "name": "b", "input": "a", "size": 2, "direction": "both", "output": "all"},
                {"type": "gru", "name": "c", "input": "b", "size": 3, "direction": "reverse", "bias": false,
                 "activation": "tanh"},
                {"type": "gru", "name": "d", "input": "b", "size": 3, "direction": "reverse", "bias": false,
                 "share_with": "c"},
                {"type": "concat", "name": "out", "input": ["c", "d", "below"]}])"},
    {"lstm", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none"},
                 {"type": "lstm", "name": "out", "input": "a", "size": 4},
                 {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"lstm", R"([{"type": "embedding", "name": "a", "input": "words", "size": 3, "pooling": "none"},
                 {"type": "lstm", "name": "b", "input": "a", "size": 2, "direction": "both", "output": "all"},
                 {"type": "lstm", "name": "out", "input": "b", "size": 3, "direction": "both", "bias": false},
                 {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"attention", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none"},
                      {"type": "attention", "name": "b", "input": "a", "size": 6, "heads": 3},
                      {"type": "sequence_pool", "name": "out", "input": "b"},
                      {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"attention", R"([{"type": "embedding", "name": "a", "input": "words", "size": 4, "pooling": "none"},
                      {"type": "position_encoding", "name": "b", "input": "a"},
                      {"type": "attention", "name": "c", "input": "b", "size": 4, "causal": true, "bias": false},
                      {"type": "add", "name": "d", "input": ["b", "c"]},
                      {"type": "sequence_pool", "name": "out", "input": "d", "pooling": "max"},
                      {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"position_encoding",
     R"([{"type": "embedding", "name": "a", "input": "ids", "size": 5, "pooling": "none"},
                              {"type": "position_encoding", "name": "b", "input": "a"},
                              {"type": "sequence_pool", "name": "out", "input": "b", "pooling": "max"},
                              {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"sequence_pool", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none"},
                          {"type": "sequence_pool", "name": "out", "input": "a", "pooling": "attention"},
                          {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
    {"sequence_pool", R"([{"type": "embedding", "name": "a", "input": "ids", "size": 3, "pooling": "none"},
                          {"type": "fc", "name": "b", "input": "a", "size": 2, "activation": "tanh"},
                          {"type": "sequence_pool", "name": "out", "input": ["a", "b"], "pooling": "attention"},
                          {"type": "add", "name": "skip", "input": ["below", "below"]}])"},
};

inline bool has_layer(const Json& layers, const std::string& name) {
  return std::any_of(layers.begin(), layers.end(), [&](const Json& layer) { return layer["name"] == name; });
}

inline Json model_of(const char* case_layers) {
  Json layers = Json::parse(case_layers);
  layers.push_back(Json::parse(
      R"({"type": "fc", "name": "below", "input": ["ids", "x"], "size": 4, "activation": "tanh"})"));
  if (has_layer(layers, "cost")) return {{"layers", layers}, {"cost", {{"type", "sum"}, {"input", "cost"}}}};
  Json top = Json::array({"out"});
  if (has_layer(layers, "skip")) top.push_back("skip");
  layers.push_back({{"type", "fc"}, {"name", "top"}, {"input", top}, {"size", 2}, {"activation", "softmax"}});
  return {{"layers", layers}, {"cost", {{"type", "cross_entropy"}, {"input", "top"}}}};
}

}  // namespace ps

#endif  // PS_TESTS_PROPERTY_LAYER_CASES_H_
