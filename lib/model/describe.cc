// Describes a network, in words and in numbers.
#include <algorithm>

#include "model/network.h"
#include "model/wiring.h"

namespace ps {

namespace {

// "950", "8.22 K", "4.65 G".
std::string human_count(double count) {
  static constexpr const char* kUnits[] = {"", " K", " M", " G", " T", " P"};
  size_t unit = 0;
  while (count >= 1000 && unit + 1 < std::size(kUnits)) count /= 1000, ++unit;
  return significant(count, 3) + kUnits[unit];
}

std::string width_of_output(const Wiring& wiring, size_t node) {
  if (wiring.images[node]) return to_string(*wiring.images[node]);
  return cat(wiring.cols[node], wiring.sequences[node] ? " per id" : "");
}

std::string widths_of_inputs(const LayerNode& node, const DataSchema& schema, const Wiring& wiring) {
  std::string widths;
  for (const InputRef& input : node.inputs) {
    if (!widths.empty()) append(widths, " + ");
    if (input.kind == InputKind::kLayer) {
      append(widths, width_of_output(wiring, input.index));
    } else {
      const int64_t dim = schema.slots[input.index].dim;
      append(widths, dim == 0 ? "any id" : std::to_string(dim));
    }
  }
  return widths;
}

// Returns ", sparse update, 4.65 G weights": a table whose ids have no dim grows with the data and has no
// number.  Parameters that the layer shares belong to the layer whose name they have, and are counted
// there; the sparse update is said of both.
std::string describe_parameters(const LayerNode& node, const Wiring& wiring, size_t index) {
  double weights = 0;
  bool sparse = false, endless = false;
  for (const auto& [suffix, parameter] : wiring.parameters_of[index]) {
    const ParameterSpec& spec = wiring.parameters[static_cast<size_t>(parameter)];
    sparse |= spec.sparse;
    if (spec.name != cat(node.name, ".", suffix)) continue;  // another layer's
    endless |= spec.rows == 0;
    weights += static_cast<double>(spec.rows) * static_cast<double>(spec.cols);
  }
  std::string out = sparse ? ", sparse update" : "";
  if (endless) {
    append(out, ", rows as they come");
  } else if (weights > 0) {
    append(out, cat(", ", human_count(weights), " weights"));
  }
  return out;
}

// Returns the number of rows that a layer has for an example.
int64_t rows_of(const Wiring& wiring, size_t node, int64_t ids) {
  return wiring.sequences[node] ? ids : 1;
}

// Returns how often forward uses each weight of a layer for one example.
int64_t uses_of_weights(const LayerNode& node, const Wiring& wiring, size_t index, int64_t ids) {
  int64_t uses = wiring.images[index] ? wiring.images[index]->plane() : 1;
  for (const InputRef& input : node.inputs) {
    if (input.kind == InputKind::kLayer) uses = std::max(uses, rows_of(wiring, input.index, ids));
  }
  return uses;
}

// Multiply-adds are those of matrices, each weight times its uses, and the work on pairs of ids, which
// there are ids x ids of.  Tables add none: a batch only sums their rows.
LayerSize layer_size(const LayerNode& node, const DataSchema& schema, const Wiring& wiring, size_t index,
                     int64_t ids) {
  LayerSize size;
  size.name = node.name;
  size.type = node.entry->name;
  size.outputs = wiring.cols[index] * rows_of(wiring, index, ids);
  for (const InputRef& input : node.inputs) {
    if (input.kind == InputKind::kLayer)
      size.inputs += wiring.cols[input.index] * rows_of(wiring, input.index, ids);
    if (input.kind == InputKind::kDenseSlot) size.inputs += schema.slots[input.index].dim;
  }
  const int64_t uses = uses_of_weights(node, wiring, index, ids);
  size.multiply_adds = wiring.pair_work[index] * ids * ids;
  for (const auto& [suffix, parameter] : wiring.parameters_of[index]) {
    const ParameterSpec& spec = wiring.parameters[static_cast<size_t>(parameter)];
    const int64_t weights = spec.rows * spec.cols;
    if (spec.kind == ParameterKind::kMatrix) size.multiply_adds += weights * uses;
    size.sparse |= spec.sparse;
    if (spec.kind == ParameterKind::kStatistic || spec.sparse) continue;
    if (spec.name != cat(node.name, ".", suffix)) continue;  // another layer's
    size.weights += weights;
    if (spec.rows == 1) size.biases += weights;
  }
  return size;
}

}  // namespace

std::vector<LayerSize> layer_sizes(const Graph& graph, const DataSchema& schema, const Wiring& wiring,
                                   int64_t ids) {
  std::vector<LayerSize> sizes;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    sizes.push_back(layer_size(graph.nodes[i], schema, wiring, i, ids));
  return sizes;
}

std::string describe(const Graph& graph, const DataSchema& schema, const Wiring& wiring) {
  std::string out;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerNode& node = graph.nodes[i];
    append(out, cat(node.name, ": ", node.entry->name, " ", widths_of_inputs(node, schema, wiring), " -> ",
                    width_of_output(wiring, i)));
    if (node.activation != "linear") append(out, " " + node.activation);
    append(out, describe_parameters(node, wiring, i));
    if (node.share_with) append(out, cat(", shares with ", graph.nodes[*node.share_with].name));
    append(out, '\n');
  }
  return out;
}

}  // namespace ps
