// The inside of Network, and what its layers see of it.  Included by the sources of Network alone.
#ifndef PS_MODEL_NETWORK_IMPL_H_
#define PS_MODEL_NETWORK_IMPL_H_

#include "base/hash.h"
#include "config/json.h"
#include "math/device_buffer.h"
#include "model/activation.h"
#include "model/device_parameters.h"
#include "model/network.h"
#include "model/wiring.h"

namespace ps {

// One node at work.  Buffers keep their memory from batch to batch.
template <class T>
struct NodeState {
  std::unique_ptr<Layer<T>> layer;
  Activation activation = Activation::kLinear;
  uint64_t seed = 0;            // of its random numbers
  bool wants_gradient = false;  // it, or what it reads, has parameters
  int64_t cols = 0;
  DeviceBuffer<T> output;    // [B, cols]
  DeviceBuffer<T> gradient;  // [B, cols], of output; before the activation once backward reached the node

  // On a device with memory of its own.
  bool on_devices = false;                    // its layer runs there; else on the processor
  std::vector<T> output_here, gradient_here;  // copies for layers that run on the processor
  bool output_is_here = false;                // output_here is up to date
};

// One cost at work.
template <class T>
struct CostState {
  std::unique_ptr<Cost<T>> cost;
  size_t input;              // node
  T factor;                  // of the cost and its gradient
  DeviceBuffer<T> logits;    // [B, C] of the input, before its activation, when the cost takes them
  DeviceBuffer<T> costs;     // [B]
  DeviceBuffer<T> gradient;  // [B, C]

  // On a device with memory of its own, when the cost is computed on the processor: copies of these, and of the scores.
  std::vector<T> scores_here, costs_here, gradient_here;
};

// Stream of the numbers that sample_keys draws; layers use small streams.
inline constexpr uint64_t kSampleStream = ~uint64_t{0};

// The seed of (job seed, layer, step).
inline uint64_t layer_seed(uint64_t node_seed, int64_t step) {
  return hash_key(node_seed ^ hash_key(static_cast<uint64_t>(step)));
}

template <class T>
class Network<T>::Impl {
 public:
  Impl(const ModelOptions& options, const DataSchema& schema, uint64_t seed);

  Planners make_planners(KeyOrder order) const {
    return Planners(wiring_.parameters.size(), KeyPlanner(order));
  }
  void prepare(Planners& planners, PreparedBatch& prepared) const;
  void prepare_for_devices() { for_devices_ = true; }
  const std::vector<bool>& on_devices() const { return on_devices_; }
  std::vector<std::string> layers_without_device() const;
  bool plans_repeat() const;
  void adopt_plans(PreparedBatch& prepared) const;
  void adopt_received(Planners& planners, PreparedBatch& prepared) const;
  double forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  void predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  bool predicts_costs() const { return nodes_[main_cost().input].layer->is_cost(); }
  void check_label(float label) const;
  void backward(const OnFinalGradient& on_final);
  void divide_over(Communicator* trainers) { trainers_ = trainers; }
  void compute_for_others(std::span<const ParameterView<T>> views, Device& device);
  Matrix<const float> predictions() const;
  std::vector<std::unique_ptr<Evaluator>> make_evaluators() const;
  std::vector<LayerSize> layer_sizes(int64_t ids) const {
    return ps::layer_sizes(graph_, schema_, wiring_, ids);
  }
  std::string describe() const { return ps::describe(graph_, schema_, wiring_); }
  const std::vector<ParameterSpec>& parameters() const { return wiring_.parameters; }
  const DataSchema& schema() const { return schema_; }
  size_t num_uses(size_t parameter) const { return wiring_.lookups_of[parameter].size(); }
  const std::vector<size_t>& row_slots(size_t parameter) const { return wiring_.row_slots[parameter]; }
  int64_t prediction_cols() const { return nodes_[main_cost().input].cols; }

 private:
  class Run;

  void make_node(size_t index, uint64_t seed);
  void place_nodes();
  void find_final_gradients();
  void tell_final_gradients(size_t index, const OnFinalGradient& on_final) const;
  void draw_samples(PreparedBatch& prepared) const;
  std::vector<KeyList> key_lists(size_t parameter, const PreparedBatch& prepared) const;
  KeyList key_list(int use, const PreparedBatch& prepared) const;
  void make_cost(const CostNode& cost);
  void read_evaluators(const Json& evaluators);
  std::unique_ptr<Evaluator> make_evaluator(size_t index) const;
  void convert_dense_slots();
  void resize_outputs();
  void forward_nodes(const PreparedBatch& prepared, std::span<const ParameterView<T>> views, Device& device);
  template <class Work>
  void run_work(Device& device, const Work& work);
  static void settle(Device& device) noexcept;
  void forward_node(size_t index);
  void backward_node(size_t index);
  double evaluate(CostState<T>& state);
  double evaluate_here(CostState<T>& state);
  void fetch_output(size_t node);
  void fetch_inputs(size_t node);
  void forward_here(size_t node);
  void backward_here(size_t node);
  void add_cost_gradients(size_t node, bool before_activation);
  void make_predictions();
  void zero_gradients();

  // True when the device has memory of its own; and when the processor runs this node's layer all the same.
  bool there() const { return device_->kernels() != nullptr; }
  bool runs_here(size_t node) const { return there() && !nodes_[node].on_devices; }

  Matrix<T> output_here(size_t node) {
    return {nodes_[node].output_here.data(), num_rows(node), nodes_[node].cols};
  }
  Matrix<T> gradient_here(size_t node) {
    return {nodes_[node].gradient_here.data(), num_rows(node), nodes_[node].cols};
  }
  Matrix<T> output(size_t node) { return {nodes_[node].output.data(), num_rows(node), nodes_[node].cols}; }
  Matrix<T> gradient(size_t node) {
    return {nodes_[node].gradient.data(), num_rows(node), nodes_[node].cols};
  }
  int64_t num_rows(size_t node) const {
    const std::optional<size_t>& slot = wiring_.sequences[node];
    return slot ? static_cast<int64_t>(prepared_->batch.slots[*slot].keys.size()) : batch_size();
  }
  Matrix<const T> dense_slot(size_t slot, Device& device) const;
  int64_t batch_size() const { return prepared_->batch.size(); }
  const CostState<T>& main_cost() const { return costs_.front(); }

  // Constant after construction.
  const DataSchema schema_;
  Graph graph_;
  Wiring wiring_;
  std::vector<std::pair<const EvaluatorEntry*, Json>> evaluators_;
  std::vector<bool> on_devices_;  // by parameter: its layers run on devices with memory of their own
  bool for_devices_ = false;      // batches are prepared for these, too
  std::vector<std::vector<size_t>>
      final_after_;  // by node: parameters whose gradients its backward is the last to add to

  // Owner thread.
  std::vector<NodeState<T>> nodes_;
  std::vector<std::vector<T>> dense_slots_;  // by slot; empty when the batch's own floats serve
  std::vector<CostState<T>> costs_;          // as in graph_
  std::vector<float> predictions_;           // [B, C] of the main cost's input
  DeviceBuffer<float> predictions_there_;    // the same, on the device
  DeviceParameters<T> device_parameters_;
  const PreparedBatch* prepared_ = nullptr;  // of the last forward, as are the next two
  std::span<const ParameterView<T>> views_;  // in the memory of the device that runs their layers
  Device* device_ = nullptr;
  Communicator* trainers_ = nullptr;  // over which layers are divided
  PreparedBatch nothing_;             // of compute_for_others
};

// The view that the layer of one node has of the running batch.
template <class T>
class Network<T>::Impl::Run final : public LayerRun<T> {
 public:
  Run(Impl& impl, size_t node) : impl_(impl), node_(node), here_(impl.runs_here(node)) {}

  const Batch& batch() const override { return impl_.prepared_->batch; }
  bool training() const override { return impl_.prepared_->training; }
  Device& device() const override { return here_ ? impl_.device_->host() : *impl_.device_; }
  uint64_t random_seed() const override {
    return layer_seed(impl_.nodes_[node_].seed, impl_.prepared_->step);
  }

  Communicator* trainers() const override { return training() ? impl_.trainers_ : nullptr; }

  Matrix<const T> input(int i) const override {
    const InputRef& ref = input_ref(i);
    if (ref.kind != InputKind::kLayer) return impl_.dense_slot(ref.index, device());
    return here_ ? impl_.output_here(ref.index) : impl_.output(ref.index);
  }
  Matrix<T> input_gradient(int i) const override {
    const InputRef& ref = input_ref(i);
    if (ref.kind != InputKind::kLayer || !impl_.nodes_[ref.index].wants_gradient) return {};
    return here_ ? impl_.gradient_here(ref.index) : impl_.gradient(ref.index);
  }
  const SlotData& slot(int i) const override { return batch().slots[input_ref(i).index]; }
  std::span<const uint32_t> sequence(int i) const override {
    return batch().slots[*impl_.wiring_.sequences[input_ref(i).index]].offsets;
  }
  Matrix<T> output() const override { return here_ ? impl_.output_here(node_) : impl_.output(node_); }
  Matrix<const T> output_gradient() const override {
    return here_ ? impl_.gradient_here(node_) : impl_.gradient(node_);
  }

  Matrix<T> value(int parameter) const override { return matrix(parameter, view(parameter).value); }
  Matrix<T> gradient(int parameter) const override { return matrix(parameter, view(parameter).gradient); }
  T* const* rows(int parameter) const override { return view(parameter).rows; }
  T* row_gradients(int parameter) const override { return view(parameter).row_gradients; }
  const KeyUse& use(int use) const override {
    const Lookup& lookup = impl_.wiring_.lookups[static_cast<size_t>(use)];
    return impl_.prepared_->plans[static_cast<size_t>(lookup.parameter)].uses[lookup.position];
  }
  const SampledKeys& samples(int use) const override {
    return impl_.prepared_->samples[impl_.wiring_.lookups[static_cast<size_t>(use)].samples];
  }

 private:
  const InputRef& input_ref(int i) const { return impl_.graph_.nodes[node_].inputs[static_cast<size_t>(i)]; }
  const ParameterView<T>& view(int parameter) const { return impl_.views_[static_cast<size_t>(parameter)]; }
  Matrix<T> matrix(int parameter, T* data) const {
    const ParameterSpec& spec = impl_.wiring_.parameters[static_cast<size_t>(parameter)];
    return {data, spec.rows, spec.cols};
  }

  Impl& impl_;
  const size_t node_;
  const bool here_;  // the processor runs the layer, with copies of what another device has
};

}  // namespace ps

#endif  // PS_MODEL_NETWORK_IMPL_H_
