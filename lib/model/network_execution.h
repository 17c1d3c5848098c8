// NetworkExecution: computes batches by the layers of a network, forward and backward.  Owns activations and their
// gradients, which keep their memory from batch to batch.  Used by Network; all by its owner thread.
#ifndef PS_MODEL_NETWORK_EXECUTION_H_
#define PS_MODEL_NETWORK_EXECUTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "math/device_buffer.h"
#include "math/device_kernels.h"
#include "math/matrix.h"
#include "model/calibration.h"
#include "model/computation.h"
#include "model/device_parameters.h"
#include "model/network_layers.h"
#include "model/prepared_batch.h"

namespace ps {

// The seed of (job seed, layer, step).
inline uint64_t layer_seed(uint64_t node_seed, int64_t step) {
  return hash_key(node_seed ^ hash_key(static_cast<uint64_t>(step)));
}

// The arrays of one node.
template <class T>
struct NodeState {
  DeviceBuffer<T> output;    // [B, cols]
  DeviceBuffer<T> gradient;  // [B, cols], of output; before the activation once backward reached the node

  // On a device with memory of its own.
  std::vector<T> output_here, gradient_here;  // copies for layers that run on the processor
  bool output_is_here = false;                // true: output_here is up to date
};

// The arrays of one cost.
template <class T>
struct CostState {
  DeviceBuffer<T> logits;    // [B, C] of the input, before its activation, when the cost takes them
  DeviceBuffer<T> costs;     // [B]
  DeviceBuffer<T> gradient;  // [B, C]

  // For evaluators: of the main cost alone, [B].
  DeviceBuffer<T> losses;
  std::vector<T> losses_here;

  Batch labelled;  // the examples with the labels of a cost that has its own
};

// One owner thread.  Methods with the names of Network's do the same.
template <class T>
class NetworkExecution {
 public:
  // `layers` outlive this.
  explicit NetworkExecution(const NetworkLayers<T>& layers);

  double forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  void predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  void backward(const OnFinalGradient& on_final, Gradients gradients);
  void divide_over(Communicator* trainers) { trainers_ = trainers; }
  void compute_for_others(std::span<const ParameterView<T>> views, Device& device);

  // For evaluators, which then all run on devices, figures leaves predictions and log losses on a device.
  BatchFigures figures(FiguresFor reader);

  void calibrate(const std::optional<Calibration>& calibration) { calibration_ = calibration; }

  // From now on, forward computes log losses too.
  void want_log_losses() { wants_log_losses_ = true; }

 private:
  class Run;

  void tell_final_gradients(size_t index, const OnFinalGradient& on_final) const;
  void convert_dense_slots();
  void resize_outputs();
  void forward_nodes(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  template <class Work>
  void run_work(BatchPart part, Device& device, const Work& work);
  void forward_node(size_t index);
  void backward_node(size_t index);
  void evaluate_costs();
  double evaluate(size_t cost);
  void fetch_output(size_t node);
  void fetch_inputs(size_t node);
  void forward_here(size_t node);
  void backward_here(size_t node);
  void add_cost_gradients(size_t node, bool before_activation);
  const Batch& batch_of(size_t cost);
  void make_predictions();
  void make_log_losses();
  FiguresThere figures_there() const;
  void fetch_figures();
  bool calibrates() const { return calibration_ && !prepared_->training; }
  void zero_gradients();
  void zero_node_gradients();

  // there returns true if the device has memory of its own. runs_here returns true if the processor runs this
  // node's layer nevertheless.
  bool there() const { return device_->kernels() != nullptr; }
  bool runs_here(size_t node) const { return there() && !layers_.nodes[node].on_devices; }

  Matrix<T> output_here(size_t node) {
    return {nodes_[node].output_here.data(), num_rows(node), layers_.nodes[node].cols};
  }
  Matrix<T> gradient_here(size_t node) {
    return {nodes_[node].gradient_here.data(), num_rows(node), layers_.nodes[node].cols};
  }
  Matrix<T> output(size_t node) {
    return {nodes_[node].output.data(), num_rows(node), layers_.nodes[node].cols};
  }
  Matrix<T> gradient(size_t node) {
    return {nodes_[node].gradient.data(), num_rows(node), layers_.nodes[node].cols};
  }
  int64_t num_rows(size_t node) const {
    const std::optional<size_t>& slot = layers_.wiring.sequences[node];
    return slot ? static_cast<int64_t>(prepared_->batch.slots[*slot].keys.size()) : batch_size();
  }
  Matrix<const T> dense_slot(size_t slot, Device& device) const;
  int64_t batch_size() const { return prepared_->batch.size(); }

  const NetworkLayers<T>& layers_;
  std::vector<NodeState<T>> nodes_;          // as in layers_
  std::vector<CostState<T>> costs_;          // as in layers_
  std::vector<std::vector<T>> dense_slots_;  // by slot; empty if the batch's own floats are used
  DeviceBuffer<float> predictions_;          // [B, C], C columns of each cost in layers_.predicted
  DeviceBuffer<float> cost_predictions_;     // of one cost, if there are several
  std::vector<float> predictions_here_;      // the same as predictions_, from a device
  std::vector<float> log_losses_;            // [B] of the main cost, or empty
  bool has_log_losses_ = false;              // the main cost has them, where they are computed
  bool figures_are_here_ = false;            // predictions and log losses of the last batch
  std::vector<double> task_costs_;           // sums, by task
  bool wants_log_losses_ = false;
  std::optional<Calibration> calibration_;  // of the predictions of the main cost
  DeviceParameters<T> device_parameters_;
  const PreparedBatch* prepared_ = nullptr;  // arguments of the last forward, as the next two
  std::span<const ParameterView<T>> views_;  // in the memory of the device that runs their layers
  Device* device_ = nullptr;
  Communicator* trainers_ = nullptr;  // the trainers over which layers are divided
  PreparedBatch nothing_;             // the empty batch of compute_for_others
};

// The view that the layer of one node has of the running batch.
template <class T>
class NetworkExecution<T>::Run final : public LayerRun<T> {
 public:
  Run(NetworkExecution& execution, size_t node)
      : execution_(execution), node_(node), here_(execution.runs_here(node)) {}

  const Batch& batch() const override { return execution_.prepared_->batch; }
  bool training() const override { return execution_.prepared_->training; }
  Device& device() const override { return here_ ? execution_.device_->host() : *execution_.device_; }
  Device& product_device() const override { return *execution_.device_; }
  uint64_t random_seed() const override {
    return layer_seed(layers().nodes[node_].seed, execution_.prepared_->step);
  }

  Communicator* trainers() const override { return training() ? execution_.trainers_ : nullptr; }

  Matrix<const T> input(int i) const override {
    const InputRef& ref = input_ref(i);
    if (ref.kind != InputKind::kLayer) return execution_.dense_slot(ref.index, device());
    return here_ ? execution_.output_here(ref.index) : execution_.output(ref.index);
  }
  Matrix<T> input_gradient(int i) const override {
    const InputRef& ref = input_ref(i);
    if (ref.kind != InputKind::kLayer || !layers().nodes[ref.index].wants_gradient) return {};
    return here_ ? execution_.gradient_here(ref.index) : execution_.gradient(ref.index);
  }
  const SlotData& slot(int i) const override { return batch().slots[input_ref(i).index]; }
  std::span<const uint32_t> sequence(int i) const override {
    return batch().slots[*layers().wiring.sequences[input_ref(i).index]].offsets;
  }
  Matrix<T> output() const override {
    return here_ ? execution_.output_here(node_) : execution_.output(node_);
  }
  Matrix<const T> output_gradient() const override {
    return here_ ? execution_.gradient_here(node_) : execution_.gradient(node_);
  }

  Matrix<T> value(int parameter) const override { return matrix(parameter, view(parameter).value); }
  Matrix<T> gradient(int parameter) const override { return matrix(parameter, view(parameter).gradient); }
  T* const* rows(int parameter) const override { return view(parameter).rows; }
  T* row_gradients(int parameter) const override { return view(parameter).row_gradients; }
  const KeyUse& use(int use) const override {
    const Lookup& lookup = layers().wiring.lookups[static_cast<size_t>(use)];
    return execution_.prepared_->plans[static_cast<size_t>(lookup.parameter)].uses[lookup.position];
  }
  const SampledKeys& samples(int use) const override {
    return execution_.prepared_->samples[layers().wiring.lookups[static_cast<size_t>(use)].samples];
  }

 private:
  const NetworkLayers<T>& layers() const { return execution_.layers_; }
  const InputRef& input_ref(int i) const {
    return layers().graph.nodes[node_].inputs[static_cast<size_t>(i)];
  }
  const ParameterView<T>& view(int parameter) const {
    return execution_.views_[static_cast<size_t>(parameter)];
  }
  Matrix<T> matrix(int parameter, T* data) const {
    const ParameterSpec& spec = layers().wiring.parameters[static_cast<size_t>(parameter)];
    return {data, spec.rows, spec.cols};
  }

  NetworkExecution& execution_;
  const size_t node_;
  const bool here_;  // the processor runs the layer, with copies of the device's arrays
};

extern template class NetworkExecution<float>;
extern template class NetworkExecution<double>;

}  // namespace ps

#endif  // PS_MODEL_NETWORK_EXECUTION_H_
