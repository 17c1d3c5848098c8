#include "model/graph.h"

#include <algorithm>
#include <map>

#include "config/catalog.h"
#include "model/input_patterns.h"

namespace ps {

namespace {

// Returns a layer with its keys checked and the defaults filled in; its inputs are names still.  weight_set
// and bias_set tell if these keys differ from their defaults, which cannot be told from keys that the user
// has given once `complete` has filled them in.
LayerNode read_layer(const Json& given, const std::string& path) {
  LayerNode node;
  node.path = path;
  node.entry = &find_entry(layer_catalog(), given, path, "layer");
  node.object = node.entry->spec().complete(without_type(given), path);
  node.name = node.object["name"].get<std::string>();
  node.activation = node.object["activation"].get<std::string>();
  node.input_names = node.object["input"].get<std::vector<std::string>>();
  node.device = node.object.value("device", node.device);
  const Json standard = ParameterOptions::spec().to_json({});
  node.weight_set = node.object.contains("weight") && node.object["weight"] != standard;
  node.bias_set = node.object.contains("bias") && node.object["bias"] != standard;
  return node;
}

CostNode read_cost(const Json& given, const std::string& path) {
  const CostEntry& entry = find_entry(cost_catalog(), given, path, "cost");
  return {path, &entry, entry.spec().complete(without_type(given), path)};
}

// Returns the name in share_with, or an empty name.
std::string shared_name(const LayerNode& node) {
  auto found = node.object.find("share_with");
  return found == node.object.end() ? "" : found->get<std::string>();
}

// Makes a Graph in these steps: it reads layers and costs, expands patterns of inputs, resolves names to
// indices, sorts the layers so that each comes after those it reads, and checks that all are used.  Indices
// count in the order of the job file until reorder() changes them to the sorted order.  One owner thread.
class GraphBuilder {
 public:
  GraphBuilder(const ModelOptions& options, const DataSchema& schema) : schema_(schema) {
    spec_internal::expect_array(options.layers, "model.layers");
    if (options.layers.empty()) fail(Code::kUsage, "model.layers: empty, expected at least one layer");
    for (const Json& layer : options.layers)
      graph_.nodes.push_back(read_layer(layer, cat("model.layers.", graph_.nodes.size())));
    read_costs(options);
    expand_inputs(features(), graph_.nodes);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) add_name(i);
  }

  Graph build() {
    for (LayerNode& node : graph_.nodes) resolve(node);
    for (CostNode& cost : graph_.costs)
      cost.input = find_layer(cost.object["input"].get<std::string>(), cost.path + ".input");
    marks_.resize(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) visit(i);
    reorder();
    check_all_used();
    return std::move(graph_);
  }

 private:
  void read_costs(const ModelOptions& options) {
    graph_.costs.push_back(read_cost(options.cost, "model.cost"));
    spec_internal::expect_array(options.auxiliary_costs, "model.auxiliary_costs");
    for (const Json& cost : options.auxiliary_costs)
      graph_.costs.push_back(read_cost(cost, cat("model.auxiliary_costs.", graph_.costs.size() - 1)));
  }

  // Returns true for the slot that has the labels of a cost.
  bool is_labels(const std::string& slot) const {
    return std::any_of(graph_.costs.begin(), graph_.costs.end(), [&](const CostNode& cost) {
      return cost.object.value("labels", "") == slot || cost.object.value("label", "") == slot;
    });
  }

  // Returns the slots that layers may read.
  DataSchema features() const {
    DataSchema out = schema_;
    std::erase_if(out.slots, [this](const SlotSchema& slot) { return is_labels(slot.name); });
    return out;
  }

  void add_name(size_t index) {
    const LayerNode& node = graph_.nodes[index];
    if (schema_.find(node.name) >= 0) {
      fail(Code::kUsage, node.path, ".name: ", quote(node.name), " is the name of a slot of the data");
    }
    auto [other, added] = names_.emplace(node.name, index);
    if (!added) {
      fail(Code::kUsage, node.path, ".name: ", quote(node.name), " is the name of ",
           graph_.nodes[other->second].path, " too");
    }
  }

  std::vector<std::string> layer_names() const {
    std::vector<std::string> names;
    for (const LayerNode& node : graph_.nodes) names.push_back(node.name);
    return names;
  }

  size_t find_layer(const std::string& name, std::string_view path) const {
    auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    if (schema_.find(name) >= 0)
      fail(Code::kUsage, path, ": ", quote(name), " is a slot of the data, expected a layer");
    fail(Code::kUsage, path, ": unknown layer ", quote(name), did_you_mean(name, layer_names()));
  }

  void resolve(LayerNode& node) {
    for (const std::string& name : node.input_names)
      node.inputs.push_back(find_input(name, node.path + ".input"));
    std::string shared = shared_name(node);
    if (!shared.empty()) node.share_with = find_layer(shared, node.path + ".share_with");
  }

  InputRef find_input(const std::string& name, std::string_view path) const {
    int slot = schema_.find(name);
    if (slot >= 0 && is_labels(name))
      fail(Code::kUsage, path, ": ", quote(name), " has the labels of the cost");
    if (slot >= 0) {
      size_t index = static_cast<size_t>(slot);
      return {schema_.slots[index].dense ? InputKind::kDenseSlot : InputKind::kSparseSlot, index};
    }
    auto found = names_.find(name);
    if (found != names_.end()) return {InputKind::kLayer, found->second};
    std::vector<std::string> candidates = layer_names();
    for (const SlotSchema& known : schema_.slots) candidates.push_back(known.name);
    fail(Code::kUsage, path, ": unknown layer or slot ", quote(name), did_you_mean(name, candidates));
  }

  static std::vector<size_t> dependencies(const LayerNode& node) {
    std::vector<size_t> layers;
    for (const InputRef& input : node.inputs) {
      if (input.kind == InputKind::kLayer) layers.push_back(input.index);
    }
    if (node.share_with) layers.push_back(*node.share_with);
    return layers;
  }

  // Searches depth first: a layer is put into order_ after all layers that it depends on. trail_ has the layers
  // from the first call down to this one; a layer that is met again on it closes a cycle.
  void visit(size_t index) {
    if (marks_[index] == Mark::kDone) return;
    if (marks_[index] == Mark::kOnTrail) fail_cycle(index);
    marks_[index] = Mark::kOnTrail;
    trail_.push_back(index);
    for (size_t layer : dependencies(graph_.nodes[index])) visit(layer);
    trail_.pop_back();
    marks_[index] = Mark::kDone;
    order_.push_back(index);
  }

  [[noreturn]] void fail_cycle(size_t index) const {
    std::string cycle;
    for (auto layer = std::find(trail_.begin(), trail_.end(), index); layer != trail_.end(); ++layer) {
      append(cycle, cat(quote(graph_.nodes[*layer].name), " reads "));
    }
    const LayerNode& first = graph_.nodes[index];
    fail(Code::kUsage, first.path, ".input: the layers go round in a circle: ", cycle, quote(first.name));
  }

  // Moves the layers into the order of order_, and changes all indices of layers, which were positions in
  // the job file, into positions in that order.
  void reorder() {
    std::vector<size_t> position(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    std::vector<LayerNode> ordered;
    for (size_t index : order_) ordered.push_back(std::move(graph_.nodes[index]));
    for (LayerNode& node : ordered) {
      for (InputRef& input : node.inputs) {
        if (input.kind == InputKind::kLayer) input.index = position[input.index];
      }
      if (node.share_with) node.share_with = position[*node.share_with];
    }
    for (CostNode& cost : graph_.costs) cost.input = position[cost.input];
    graph_.nodes = std::move(ordered);
  }

  // Goes from the last layer to the first, so that all layers that read layer i come before it: then
  // used[i] is final.
  void check_all_used() const {
    std::vector<bool> used(graph_.nodes.size());
    for (const CostNode& cost : graph_.costs) used[cost.input] = true;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const LayerNode& node = graph_.nodes[i];
      if (!used[i]) {
        fail(Code::kUsage, node.path, ": layer ", quote(node.name), " does not lead to the cost's input ",
             quote(graph_.nodes[graph_.costs.front().input].name));
      }
      for (const InputRef& input : node.inputs) {
        if (input.kind == InputKind::kLayer) used[input.index] = true;
      }
    }
  }

  enum class Mark { kNew, kOnTrail, kDone };

  const DataSchema& schema_;
  Graph graph_;
  std::map<std::string, size_t> names_;
  std::vector<Mark> marks_;
  std::vector<size_t> trail_, order_;
};

}  // namespace

Graph make_graph(const ModelOptions& options, const DataSchema& schema) {
  return GraphBuilder(options, schema).build();
}

}  // namespace ps
