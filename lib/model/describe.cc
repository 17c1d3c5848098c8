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

std::string widths_of_inputs(const LayerNode& node, const DataSchema& schema, const Wiring& wiring) {
  std::string widths;
  for (const InputRef& input : node.inputs) {
    int64_t cols = input.kind == InputKind::kLayer ? wiring.cols[input.index] : schema.slots[input.index].dim;
    append(widths, cat(widths.empty() ? "" : " + ", cols == 0 ? "any id" : std::to_string(cols)));
  }
  return widths;
}

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

}  // namespace

std::string describe(const Graph& graph, const DataSchema& schema, const Wiring& wiring) {
  std::string out;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerNode& node = graph.nodes[i];
    append(out, cat(node.name, ": ", node.entry->name, " ", widths_of_inputs(node, schema, wiring), " -> ",
                    wiring.cols[i]));
    if (node.activation != "linear") append(out, " " + node.activation);
    append(out, describe_parameters(node, wiring, i));
    if (node.share_with) append(out, cat(", shares with ", graph.nodes[*node.share_with].name));
    append(out, '\n');
  }
  return out;
}

}  // namespace ps
