// Network: the graph of layers that a job file describes.  Built once; used by the training loop with float,
// by gradient tests with double.  NetworkLayers is what it consists of, NetworkExecution computes a batch: it owns
// activations, not weights.
#ifndef PS_MODEL_NETWORK_H_
#define PS_MODEL_NETWORK_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/computation.h"
#include "model/evaluator.h"
#include "model/network_layers.h"
#include "model/prepared_batch.h"

namespace ps {

template <class T>
class NetworkExecution;

template <class T>
class Network {
 public:
  // Throws kUsage "model.layers.2.input: …".  `seed` is the job's.
  Network(const ModelOptions& options, const DataSchema& schema, uint64_t seed);
  ~Network();

  const std::vector<ParameterSpec>& parameters() const { return layers_.wiring.parameters; }
  const DataSchema& schema() const { return layers_.schema; }

  // How many uses the plan of this parameter has in every prepared batch, and how many columns predictions have.
  size_t num_uses(size_t parameter) const { return layers_.wiring.lookups_of[parameter].size(); }
  int64_t prediction_cols() const { return main_node().cols; }

  // The slots, by their positions in schema(), to whose ids or values the rows of this parameter belong; empty when
  // the rows belong to something else, such as the outputs of a layer.
  const std::vector<size_t>& row_slots(size_t parameter) const { return layers_.wiring.row_slots[parameter]; }

  // Makes planners for one preparing thread.  prepare() fills in plans and samples from prepared.batch,
  // .training and .step.  Different threads may prepare different batches at once, each with its own
  // Planners.
  using Planners = std::vector<KeyPlanner>;
  Planners make_planners(KeyOrder order = KeyOrder::kFirstAppearance) const {
    return Planners(parameters().size(), KeyPlanner(order));
  }
  void prepare(Planners& planners, PreparedBatch& prepared) const;

  // Returns true if plans follow from the batch alone, so that the plans of one batch serve an equal one,
  // once adopt_plans has made them refer to it.
  bool plans_repeat() const;
  void adopt_plans(PreparedBatch& prepared) const;

  // Completes a batch that another process has prepared: it has .batch, .training, .step, and of each plan the
  // keys and the index of each use.  Draws the samples anew, and checks all else.  Throws kData for plans that
  // prepare() would not make of this batch, for a batch that is not of this schema, and as check_label does.
  void adopt_received(Planners& planners, PreparedBatch& prepared) const;

  // Batches that are prepared from now on can be computed on a device with memory of its own, too.
  void prepare_for_devices() { for_devices_ = true; }

  // The parameters whose layers all run on such a device: bits of parameters() that a store may keep there.  A layer
  // without kernels for it, and those that share its parameters, run on the processor with copies.
  const std::vector<bool>& on_devices() const { return layers_.on_devices; }

  // Names and types of the layers that run on the processor even so: "pool (pool2d)".
  std::vector<std::string> layers_without_device() const;

  // Owner thread.  views[p] says where the weights of parameters()[p] are.  forward gives the sum of the
  // costs of the batch; backward, after it, sets all gradients (of that sum), or adds to them, and tells each parameter whose gradient
  // nothing adds to any more: all of them, those of the last layers first.  Until then prepared, views and device must stay.
  // A device with memory of its own gets copies of what views say, unless that is there; gradients come back when
  // backward has ended, and are told then.
  double forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  void backward(const OnFinalGradient& on_final = nullptr, Gradients gradients = Gradients::kSet);

  // Layers that say so are divided over these trainers, which outlive this and all train with the same layers; null:
  // every layer is computed here, as it always is where nothing is trained.  Then forward and backward exchange
  // with the others, and a trainer without a batch takes part in a step of theirs by compute_for_others.  That sets the
  // gradients of the parameters that are divided, and no others.
  void divide_over(Communicator* trainers);
  void compute_for_others(std::span<const ParameterView<T>> views, Device& device);

  // The same without a cost: labels are not looked at.  Not for networks whose predictions are costs.
  void predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);

  // True when predictions are costs, which need labels (nce, hsigmoid).
  bool predicts_costs() const { return main_node().layer->is_cost(); }

  // Throws kData "label 7.5 is not a class of 10".  Any thread.
  void check_label(float label) const;

  // The predictions of the last forward or predict: [B, C].
  Matrix<const float> predictions() const;

  // The log losses of the last forward, of the main cost: [B].  Empty where it gives none, or no evaluator wants them.
  std::span<const float> log_losses() const;

  // Fresh evaluators, as the job file lists them.
  std::vector<std::unique_ptr<Evaluator>> make_evaluators() const;

  // In the order in which they run.  Sequences are taken to have `ids` ids each.
  std::vector<LayerSize> layer_sizes(int64_t ids = 1) const {
    return ps::layer_sizes(layers_.graph, layers_.schema, layers_.wiring, ids);
  }

  // "hidden1: fc 18182296 -> 256 tanh, sparse update, 4.65 G weights", a line a layer, for --dry-run.
  std::string describe() const { return ps::describe(layers_.graph, layers_.schema, layers_.wiring); }

 private:
  const NetworkNode<T>& main_node() const { return layers_.nodes[layers_.main_cost().input]; }
  void read_evaluators(const Json& evaluators);
  std::unique_ptr<Evaluator> make_evaluator(size_t index) const;
  void draw_samples(PreparedBatch& prepared) const;
  std::vector<KeyList> key_lists(size_t parameter, const PreparedBatch& prepared) const;
  KeyList key_list(int use, const PreparedBatch& prepared) const;

  // Constant once the first batch is prepared.
  const NetworkLayers<T> layers_;
  std::vector<std::pair<const EvaluatorEntry*, Json>> evaluators_;
  bool for_devices_ = false;  // batches are prepared for devices with memory of their own, too

  const std::unique_ptr<NetworkExecution<T>> execution_;  // owner thread
};

extern template class Network<float>;
extern template class Network<double>;

}  // namespace ps

#endif  // PS_MODEL_NETWORK_H_
