// Graph: the layers of a job file, checked and put in an order in which each comes after what it reads. Knows
// names and entries, not what layers compute.  Used by Network.
#ifndef PS_MODEL_GRAPH_H_
#define PS_MODEL_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "config/json.h"
#include "data/batch.h"
#include "model/cost.h"
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

struct CostNode {
  std::string path;  // in the job file: "model.cost"
  const CostEntry* entry = nullptr;
  Json object;       // without "type", defaults filled in
  size_t input = 0;  // in Graph::nodes
};

struct Graph {
  std::vector<LayerNode> nodes;
  std::vector<CostNode> costs;  // the main one, then auxiliary ones
};

// Throws kUsage "model.layers.2.input: …" for unknown names, names that are used twice or by a slot too,
// cycles, and layers that lead to no cost (an auxiliary one is enough).  A layer depends on its share_with as on
// its inputs, but does not lead to a cost by it.
Graph make_graph(const ModelOptions& options, const DataSchema& schema);

}  // namespace ps

#endif  // PS_MODEL_GRAPH_H_
