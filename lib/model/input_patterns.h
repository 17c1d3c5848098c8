// Patterns among the inputs of layers: "slot*" stands for slots of the data.  Used by make_graph.
#ifndef PS_MODEL_INPUT_PATTERNS_H_
#define PS_MODEL_INPUT_PATTERNS_H_

#include <vector>

#include "data/batch.h"
#include "model/layer_node.h"

namespace ps {

// Replaces the patterns of each layer by the slots that they match, in the order of the data, each slot once.
// After "sparse:" and "dense:" a pattern matches slots of that type alone, and may match none: then it is left out,
// and so is a layer that has no input left, wherever it is mentioned.  A layer of patterns with sparse_update that
// reads no sparse slot has no table.  Throws kUsage "model.layers.2.input: …" when any other pattern matches nothing.
void expand_inputs(const DataSchema& schema, std::vector<LayerNode>& nodes);

}  // namespace ps

#endif  // PS_MODEL_INPUT_PATTERNS_H_
