// Network: the graph of layers that a job file describes.  Built once; used by the training loop with float,
// by gradient tests with double.  NetworkLayers is what it consists of, NetworkExecution computes a batch: it owns
// activations, not weights.
#ifndef PS_MODEL_NETWORK_H_
#define PS_MODEL_NETWORK_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/calibration.h"
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

  // Returns the number of uses that the plan of this parameter has in every prepared batch. prediction_cols
  // returns the number of columns of predictions.
  size_t num_uses(size_t parameter) const { return layers_.wiring.lookups_of[parameter].size(); }
  int64_t prediction_cols() const { return layers_.prediction_cols(); }

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

  // From now on, batches are prepared such that a device with memory of its own can compute them too.
  void prepare_for_devices() { for_devices_ = true; }

  // Returns, by parameter, true if all its layers run on such a device, so that a store may keep the parameter
  // there.  A layer without kernels for devices, and the layers that share its parameters, run on the processor
  // with copies.
  const std::vector<bool>& on_devices() const { return layers_.on_devices; }

  // Returns names and types of the layers that run on the processor nevertheless: "pool (pool2d)".
  std::vector<std::string> layers_without_device() const;

  // Owner thread.  views[p] says where the weights of parameters()[p] are.  forward returns the sum of the
  // costs of the batch. backward follows it, and sets the gradients of that sum, or adds to them.  It calls on_final for each
  // parameter when its gradient is complete, those of the last layers first. prepared, views and device must
  // stay valid until it has ended.  For a device with memory of its own, parameters are copied there unless they
  // are there already; gradients are copied back at the end of backward, and on_final is called then.
  double forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  void backward(const OnFinalGradient& on_final = nullptr, Gradients gradients = Gradients::kSet);

  // Divides the layers with is_divided over these trainers, which outlive this and train the same layers.  With
  // null, and whenever nothing is trained, this trainer computes every layer.  When layers are divided, forward
  // and backward exchange data with the other trainers.  A trainer without a batch takes part in their step by
  // compute_for_others, which only sets the gradients of the divided parameters.
  void divide_over(Communicator* trainers);
  void compute_for_others(std::span<const ParameterView<T>> views, Device& device);

  // Computes predictions without a cost, and without labels.  Not for networks whose predictions are costs.
  void predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);

  // Returns true if predictions are costs, which need labels (nce, hsigmoid).
  bool predicts_costs() const { return main_node().layer->is_cost(); }

  // Throws kData "label 7.5 is not a class of 10".  Any thread.
  void check_label(float label) const;

  // Returns the predictions of the last forward or predict: [B, C].  Behind the columns of the main cost are those of
  // each auxiliary cost that has labels of its own.
  Matrix<const float> predictions() const;

  // Owner thread.  From now on predictions of the main cost go through this calibration, and there are no log losses, since
  // its probabilities are not those of the logits.  A new network has the calibration of its options.  Throws kUsage unless
  // the main cost predicts the probability of label 1.
  void calibrate(const std::optional<Calibration>& calibration);

  // Returns true if the main cost predicts the probability of label 1.
  bool predicts_probability() const { return layers_.main_cost().cost->predicts_probability(); }

  // Returns the label of an example for the main cost, or nothing if it has none.
  std::optional<float> main_label(const Batch& batch, int64_t example) const;

  // Returns the tasks, one at least: that of the main cost first.
  const std::vector<CostTask>& tasks() const { return layers_.tasks; }

  // Returns the log losses of the main cost in the last forward: [B].  They are empty if the cost has none, or
  // if no evaluator wants them.
  std::span<const float> log_losses() const;

  // Returns all of these of the last forward, with the sums of the costs of each task, which are together what it has
  // returned.
  BatchFigures figures(FiguresFor reader = FiguresFor::kAll) const;

  // Returns new evaluators, as the job file lists them.
  std::vector<std::unique_ptr<Evaluator>> make_evaluators() const;

  // Returns the slots that have labels of costs, which no layer reads.
  std::vector<size_t> label_slots() const;

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
  size_t cost_of_evaluator(const Json& evaluator) const;
  void draw_samples(PreparedBatch& prepared) const;
  std::vector<KeyList> key_lists(size_t parameter, const PreparedBatch& prepared) const;
  KeyList key_list(int use, const PreparedBatch& prepared) const;

  // Constant once the first batch is prepared.
  const NetworkLayers<T> layers_;
  std::vector<std::pair<const EvaluatorEntry*, Json>> evaluators_;
  bool all_run_there_ = true;  // the evaluators run on devices with memory of their own
  bool for_devices_ = false;   // batches are prepared for devices with memory of their own, too

  const std::unique_ptr<NetworkExecution<T>> execution_;  // owner thread
};

template <class T>
FigureSizes figure_sizes(const Network<T>& network) {
  return {network.prediction_cols(), std::ssize(network.tasks())};
}

extern template class Network<float>;
extern template class Network<double>;

}  // namespace ps

#endif  // PS_MODEL_NETWORK_H_
