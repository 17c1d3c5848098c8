// LayerNode: a layer of a job file as it was read, before it is made.  Used by Graph, and by the patterns among inputs.
#ifndef PS_MODEL_LAYER_NODE_H_
#define PS_MODEL_LAYER_NODE_H_

#include <optional>
#include <string>
#include <vector>

#include "config/json.h"
#include "model/layer.h"

namespace ps {

// One input of a layer.
struct InputRef {
  InputKind kind;
  size_t index;  // kLayer: in Graph::nodes; else in DataSchema::slots
};

struct LayerNode {
  std::string name;
  std::string path;  // in the job file: "model.layers.2"
  const LayerEntry* entry = nullptr;
  Json object;  // without "type", defaults filled in
  std::string activation;
  std::vector<std::string> input_names;
  std::vector<InputRef> inputs;
  std::optional<size_t> share_with;           // in Graph::nodes, before this one
  std::string device = "default";             // WeightedLayerOptions::device
  bool weight_set = false, bias_set = false;  // these keys differ from their defaults
};

}  // namespace ps

#endif  // PS_MODEL_LAYER_NODE_H_
