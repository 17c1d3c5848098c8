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
#include "model/layer_node.h"
#include "model/options.h"

namespace ps {

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
