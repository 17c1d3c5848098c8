#include "model/network_layers.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "base/hash.h"
#include "base/reals.h"
#include "base/text.h"
#include "config/json.h"

namespace ps {

namespace {

// Appends the node `index`, whose inputs come before it.  It needs a gradient if it has parameters, or if
// any layer below does: backward leaves out layers that no parameter depends on.
template <class T>
void make_node(size_t index, uint64_t seed, NetworkLayers<T>& layers) {
  const LayerNode& node = layers.graph.nodes[index];
  NetworkNode<T>& made = layers.nodes.emplace_back();
  made.layer = make_layer<T>(layers.graph, layers.schema, seed, index, layers.wiring);
  made.activation = find_activation(node.activation);
  made.seed = hash_bytes(node.name, seed);
  made.cols = layers.wiring.cols[index];
  made.wants_gradient = !layers.wiring.parameters_of[index].empty();
  for (const InputRef& input : node.inputs) {
    made.wants_gradient |= input.kind == InputKind::kLayer && layers.nodes[input.index].wants_gradient;
  }
}

// A layer runs on devices if it and all layers that share its parameters can, since a gradient is summed on
// one device.  A layer that cannot takes its parameters off the devices, these take the other layers that
// have them, and so on: the loop goes over all pairs until nothing changes.  Marks only go from true to
// false, so that it ends.
template <class T>
void assign_devices(NetworkLayers<T>& layers) {
  for (NetworkNode<T>& node : layers.nodes) node.on_devices = node.layer->runs_on_devices();
  layers.on_devices.assign(layers.wiring.parameters.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < layers.nodes.size(); ++i) {
      for (const auto& [suffix, parameter] : layers.wiring.parameters_of[i]) {
        const size_t p = static_cast<size_t>(parameter);
        if (layers.nodes[i].on_devices == layers.on_devices[p]) continue;
        layers.nodes[i].on_devices = layers.on_devices[p] = false;
        changed = true;
      }
    }
  }
}

// Backward runs from the last node to the first: a parameter is final after the first one that has it.
template <class T>
void find_final_gradients(NetworkLayers<T>& layers) {
  std::vector<bool> seen(layers.wiring.parameters.size());
  layers.final_after.resize(layers.nodes.size());
  for (size_t i = 0; i < layers.nodes.size(); ++i) {
    for (const auto& [suffix, parameter] : layers.wiring.parameters_of[i]) {
      const size_t p = static_cast<size_t>(parameter);
      if (!seen[p]) layers.final_after[i].push_back(p);
      seen[p] = true;
    }
  }
}

// Appends the cost that `cost` describes.  Refuses inputs that no cost can take: outputs that are costs
// already, for any cost but "sum", and sequences, which have no single row for the label of an example.
// Errors of the cost itself get its path.
template <class T>
void make_cost(const CostNode& cost, NetworkLayers<T>& layers) {
  const LayerNode& node = layers.graph.nodes[cost.input];
  if (layers.nodes[cost.input].layer->is_cost() && cost.entry->name != "sum") {
    fail(Code::kUsage, cost.path, ".type: layer ", quote(node.name), " (", node.entry->name,
         ") gives costs already, which the cost 'sum' takes, found ", quote(cost.entry->name));
  }
  if (layers.wiring.sequences[cost.input]) {
    fail(Code::kUsage, cost.path, ".input: ", quote(node.name),
         " has a row for each id, expected one an example (sequence_pool makes one row of them)");
  }
  NetworkCost<T>& state = layers.costs.emplace_back();
  state.input = cost.input;
  state.factor = static_cast<T>(cost.object["factor"].get<double>());
  CostInput input{layers.wiring.cols[cost.input], node.activation, layers.schema};
  try {
    if (const std::string label = cost.object.value("label", ""); !label.empty())
      state.labels.emplace(label, layers.schema);
    if constexpr (std::is_same_v<T, float>) {
      state.cost = cost.entry->make_float(cost.object, input);
    } else {
      state.cost = cost.entry->make_double(cost.object, input);
    }
  } catch (const Error& error) {
    throw error.within(cost.path);
  }
}

// Puts a cost into the task of its labels, which is a new one if no cost before it reads them.
template <class T>
void assign_task(size_t index, NetworkLayers<T>& layers) {
  NetworkCost<T>& cost = layers.costs[index];
  const auto slot = [](const auto& each) { return each.labels ? each.labels->slot() : SIZE_MAX; };
  const auto found = std::ranges::find_if(layers.tasks, [&](auto& task) { return slot(task) == slot(cost); });
  cost.task = static_cast<size_t>(found - layers.tasks.begin());
  if (found != layers.tasks.end()) return;
  std::string name = index == 0 ? "main" : "auxiliary";
  while (layers.schema.find(name) >= 0) name += '_';
  layers.tasks.push_back({cost.labels ? layers.schema.slots[slot(cost)].name : name, cost.labels});
}

}  // namespace

double CostTask::weight_of(const Batch& batch) const {
  double sum = 0;
  if (!labels && batch.weights.empty()) return static_cast<double>(batch.size());
  for (int64_t b = 0; b < batch.size(); ++b) {
    if (!labels || labels->label(batch, b)) sum += static_cast<double>(batch.weight(b));
  }
  return sum;
}

template <class T>
NetworkLayers<T>::NetworkLayers(const ModelOptions& options, const DataSchema& data_schema, uint64_t seed)
    : schema(data_schema), graph(make_graph(options, schema)) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) make_node(i, seed, *this);
  find_final_gradients(*this);
  for (const CostNode& cost : graph.costs) make_cost(cost, *this);
  for (size_t c = 0; c < costs.size(); ++c) {
    if (c == 0 || costs[c].labels) predicted.push_back(c);
    assign_task(c, *this);
  }
  assign_devices(*this);
}

template <class T>
int64_t NetworkLayers<T>::prediction_cols() const {
  int64_t cols = 0;
  for (size_t cost : predicted) cols += cols_of(cost);
  return cols;
}

#define PS_INSTANTIATE(T) template struct NetworkLayers<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
