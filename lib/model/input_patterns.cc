#include "model/input_patterns.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/pattern.h"
#include "base/text.h"

namespace ps {

namespace {

constexpr std::string_view kSparse = "sparse:", kDense = "dense:";

struct Pattern {
  std::string_view text;      // the pattern without the type
  std::optional<bool> dense;  // the type that it asks for

  explicit Pattern(std::string_view whole) : text(whole) {
    if (text.starts_with(kSparse)) {
      dense = false;
      text.remove_prefix(kSparse.size());
    } else if (text.starts_with(kDense)) {
      dense = true;
      text.remove_prefix(kDense.size());
    }
  }

  bool matches(const SlotSchema& slot) const {
    return dense.value_or(slot.dense) == slot.dense && matches_pattern(text, slot.name);
  }
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Appends the slots that match, except those in `listed`, which the layer names itself.
void append_matches(const DataSchema& schema, const LayerNode& node, const std::string& pattern,
                    const std::vector<std::string>& listed, std::vector<std::string>& out) {
  const Pattern wanted(pattern);
  bool any = false;
  for (const SlotSchema& slot : schema.slots) {
    if (!wanted.matches(slot)) continue;
    any = true;
    if (!contains(listed, slot.name) && !contains(out, slot.name)) out.push_back(slot.name);
  }
  if (any || wanted.dense) return;
  std::vector<std::string> names;
  for (const SlotSchema& slot : schema.slots) names.push_back(slot.name);
  fail(Code::kUsage, node.path, ".input: no slot of the data matches ", quote(pattern), "; there are ",
       join(names, ", "));
}

// Names that are no pattern stay as they are, also a slot whose own name looks like one.  If the layer has
// patterns and none of its inputs is a sparse slot, it has no table, and sparse_update would be an error:
// so it is switched off.
void expand_node(const DataSchema& schema, LayerNode& node) {
  std::vector<std::string> names;
  bool any_pattern = false, any_sparse = false;
  for (const std::string& name : node.input_names) {
    if (!is_pattern(name) || schema.find(name) >= 0) {
      names.push_back(name);
      continue;
    }
    any_pattern = true;
    append_matches(schema, node, name, node.input_names, names);
  }
  for (const std::string& name : names) {
    const int slot = schema.find(name);
    any_sparse |= slot >= 0 && !schema.slots[static_cast<size_t>(slot)].dense;
  }
  node.input_names = std::move(names);
  if (any_pattern && !any_sparse && node.object.contains("sparse_update"))
    node.object["sparse_update"] = false;
}

// Removes one layer without inputs, and its name wherever it is an input.  Returns false if all layers have
// inputs.  The caller repeats it, since a layer that read only the removed one has no input then.
bool drop_layer(std::vector<LayerNode>& nodes) {
  const auto empty = std::find_if(nodes.begin(), nodes.end(),
                                  [](const LayerNode& node) { return node.input_names.empty(); });
  if (empty == nodes.end()) return false;
  const std::string name = empty->name;
  nodes.erase(empty);
  for (LayerNode& node : nodes) std::erase(node.input_names, name);
  return true;
}

}  // namespace

void expand_inputs(const DataSchema& schema, std::vector<LayerNode>& nodes) {
  for (LayerNode& node : nodes) expand_node(schema, node);
  while (drop_layer(nodes)) {
  }
}

}  // namespace ps
