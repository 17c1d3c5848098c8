// NetworkLayers: the layers and costs of a network, built and wired.  Made by Network, constant after; used by
// NetworkExecution.
#ifndef PS_MODEL_NETWORK_LAYERS_H_
#define PS_MODEL_NETWORK_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "model/activation.h"
#include "model/cost.h"
#include "model/graph.h"
#include "model/layer.h"
#include "model/options.h"
#include "model/own_labels.h"
#include "model/wiring.h"

namespace ps {

template <class T>
struct NetworkNode {
  std::unique_ptr<Layer<T>> layer;
  Activation activation = Activation::kLinear;
  uint64_t seed = 0;            // seed of its random numbers
  int64_t cols = 0;             // values per example that it gives
  bool wants_gradient = false;  // the layer, or one that it depends on, has parameters
  bool on_devices = false;      // its layer runs on devices with memory of their own; else on the processor
};

template <class T>
struct NetworkCost {
  std::unique_ptr<Cost<T>> cost;
  size_t input = 0;                 // node
  T factor = 1;                     // factor of the cost and its gradient
  std::optional<OwnLabels> labels;  // nullopt: the labels of the batch
  size_t task = 0;                  // in tasks
};

// A task of a network: the costs that read the same labels.
struct CostTask {
  std::string name;  // the slot of its labels; else "main" or "auxiliary", which no slot is called
  std::optional<OwnLabels> labels;  // nullopt: the labels of the batch

  // Returns the sum of the weights of the examples that have a label of this task.
  double weight_of(const Batch& batch) const;
};

template <class T>
struct NetworkLayers {
  // Throws kUsage "model.layers.2.input: …".  `seed` is the job's.
  NetworkLayers(const ModelOptions& options, const DataSchema& data_schema, uint64_t seed);

  const NetworkCost<T>& main_cost() const { return costs.front(); }

  // The columns of predictions of a cost, and of all.
  int64_t cols_of(size_t cost) const { return nodes[costs[cost].input].cols; }
  int64_t prediction_cols() const;

  const DataSchema schema;
  Graph graph;
  Wiring wiring;
  std::vector<NetworkNode<T>> nodes;  // as in graph
  std::vector<NetworkCost<T>> costs;  // as in graph
  std::vector<CostTask> tasks;        // in the order of their first costs
  // The costs of which there are predictions: the main one, and those with labels of their own, in the order of
  // their columns.
  std::vector<size_t> predicted;
  std::vector<bool> on_devices;  // by parameter: its layers run on devices with memory of their own
  std::vector<std::vector<size_t>>
      final_after;  // by node: parameters to whose gradients its backward adds last
};

extern template struct NetworkLayers<float>;
extern template struct NetworkLayers<double>;

}  // namespace ps

#endif  // PS_MODEL_NETWORK_LAYERS_H_
