#include "model/network_execution.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/reals.h"
#include "math/dense_kernels.h"
#include "math/device_kernels.h"

namespace ps {

// Waits for the work that a device may still do.
static void settle(Device& device) noexcept {
  if (device.kernels() == nullptr) return;
  try {
    device.kernels()->start_work();
  } catch (const Error&) {
    // The caller throws the first error; what was started is waited for all the same.
  }
  try {
    device.kernels()->wait();
  } catch (const Error&) {
    return;
  }
}

template <class T>
NetworkExecution<T>::NetworkExecution(const NetworkLayers<T>& layers)
    : layers_(layers),
      nodes_(layers.nodes.size()),
      costs_(layers.costs.size()),
      dense_slots_(layers.schema.slots.size()) {}

template <class T>
double NetworkExecution<T>::forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                                    Device& device) {
  run_work(BatchPart::kForward, device, [&] {
    forward_nodes(prepared, views, device);
    evaluate_costs();
    make_predictions();
    make_log_losses();
  });
  return std::accumulate(task_costs_.begin(), task_costs_.end(), 0.0);
}

// Tests have one cost of each task, the first: the others only help training.
template <class T>
void NetworkExecution<T>::evaluate_costs() {
  task_costs_.clear();
  for (size_t i = 0; i < costs_.size(); ++i) {
    const size_t task = layers_.costs[i].task;
    const bool first = task == task_costs_.size();
    if (first) task_costs_.push_back(0);
    if (first || prepared_->training) task_costs_[task] += evaluate(i);
  }
}

// Calls work(), which queues work of the device: it is held back, so that what is the same in each batch is started
// together.  If it throws, this waits for the queued work, which may refer to the batch, before the caller may free
// the batch.
template <class T>
template <class Work>
void NetworkExecution<T>::run_work(BatchPart part, Device& device, const Work& work) {
  DeviceKernels* const kernels = device.kernels().get();
  try {
    if (kernels != nullptr) kernels->hold_work(part);
    work();
    if (kernels != nullptr) kernels->start_work();
  } catch (...) {
    settle(device);
    throw;
  }
}

template <class T>
void NetworkExecution<T>::predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                                  Device& device) {
  run_work(BatchPart::kForward, device, [&] {
    forward_nodes(prepared, views, device);
    has_log_losses_ = false;
    make_predictions();
  });
}

// Runs all nodes in the order of the graph, so that each finds the outputs of its inputs complete.  The
// arguments are kept for backward.  On a device with memory of its own, views_ then points to the copies
// that device_parameters_ has sent there.  Statistics, such as the running means of batch_norm, are the
// parameters that forward itself changes: those are copied back after training batches, since no gradient
// carries them to the store.
template <class T>
void NetworkExecution<T>::forward_nodes(const PreparedBatch& prepared,
                                        std::span<const ParameterView<T>> views, Device& device) {
  PS_CHECK(views.size() == layers_.wiring.parameters.size());
  prepared_ = &prepared;
  views_ = views;
  device_ = &device;
  convert_dense_slots();
  if (there()) {
    device.kernels()->begin_batch();
    views_ =
        device_parameters_.send(layers_.wiring.parameters, layers_.on_devices, prepared.plans, views, device);
  }
  resize_outputs();
  for (size_t i = 0; i < nodes_.size(); ++i) forward_node(i);
  if (there() && prepared.training) device_parameters_.return_statistics();
}

// Batches hold floats.  A network of doubles gets a copy in its own type.
template <class T>
void NetworkExecution<T>::convert_dense_slots() {
  if constexpr (!std::is_same_v<T, float>) {
    for (size_t s = 0; s < layers_.schema.slots.size(); ++s) {
      const std::vector<float>& values = prepared_->batch.slots[s].values;
      if (layers_.schema.slots[s].dense) dense_slots_[s].assign(values.begin(), values.end());
    }
  }
}

template <class T>
Matrix<const T> NetworkExecution<T>::dense_slot(size_t slot, Device& device) const {
  int64_t cols = layers_.schema.slots[slot].dim;
  if constexpr (std::is_same_v<T, float>) {
    const std::vector<float>& values = prepared_->batch.slots[slot].values;
    return {mirror(device, values.data(), std::ssize(values)), batch_size(), cols};
  } else {
    return {dense_slots_[slot].data(), batch_size(), cols};
  }
}

template <class T>
void NetworkExecution<T>::resize_outputs() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    NodeState<T>& node = nodes_[i];
    node.output.resize(*device_, num_rows(i) * layers_.nodes[i].cols);
    node.output_is_here = false;
    if (prepared_->training) node.gradient.resize(*device_, node.output.size());
  }
}

// Computes a node: its layer, on the device or on the processor, and then its activation in place.  The values
// before the activation are copied for costs that need them.
template <class T>
void NetworkExecution<T>::forward_node(size_t index) {
  NodeState<T>& node = nodes_[index];
  if (runs_here(index)) {
    forward_here(index);
  } else {
    Run run(*this, index);
    layers_.nodes[index].layer->forward(run);
  }
  for (size_t c = 0; c < costs_.size(); ++c) {
    const NetworkCost<T>& cost = layers_.costs[c];
    if (cost.input != index || !cost.cost->uses_logits()) continue;
    costs_[c].logits.resize(*device_, node.output.size());
    copy_values(*device_, node.output.data(), node.output.size(), costs_[c].logits.data());
  }
  activate(*device_, layers_.nodes[index].activation, output(index));
}

// Returns the running batch with the labels of this cost.
template <class T>
const Batch& NetworkExecution<T>::batch_of(size_t index) {
  const NetworkCost<T>& cost = layers_.costs[index];
  if (!cost.labels) return prepared_->batch;
  cost.labels->for_cost(prepared_->batch, costs_[index].labelled);
  return costs_[index].labelled;
}

// Computes the cost of every example, costs [B], and in training the gradient [B, C] of their sum, by the
// logits or else by the output.  The gradient stays in state.gradient without cost.factor;
// add_cost_gradients multiplies by it.  Outside of training the matrix `gradient` is null, which tells the
// cost to compute none.  Returns factor x the sum of the costs.
template <class T>
double NetworkExecution<T>::evaluate(size_t index) {
  const NetworkCost<T>& cost = layers_.costs[index];
  CostState<T>& state = costs_[index];
  const Matrix<const T> outputs = output(cost.input);
  state.costs.resize(*device_, outputs.rows);
  Matrix<T> gradient;
  if (prepared_->training) {
    state.gradient.resize(*device_, outputs.size());
    gradient = {state.gradient.data(), outputs.rows, outputs.cols};
  }
  Matrix<const T> scores = outputs;
  if (cost.cost->uses_logits()) scores.data = state.logits.data();
  const std::span<T> costs(state.costs.data(), static_cast<size_t>(outputs.rows));
  cost.cost->evaluate(scores, batch_of(index), *device_, costs, gradient);
  return static_cast<double>(cost.factor) * total_cost(*device_, state.costs.data(), outputs.rows);
}

// predictions_ [B, C] <- the predictions of all costs in layers_.predicted, side by side: `first` is the
// column at which those of a cost begin.  A single cost, the usual case, writes to predictions_ without a
// copy.
template <class T>
void NetworkExecution<T>::make_predictions() {
  const int64_t all = layers_.prediction_cols();
  figures_are_here_ = false;
  predictions_.resize(*device_, batch_size() * all);
  int64_t first = 0;
  for (size_t c : layers_.predicted) {
    const NetworkCost<T>& cost = layers_.costs[c];
    const Matrix<const T> outputs = output(cost.input);
    const bool single = layers_.predicted.size() == 1;
    DeviceBuffer<float>& own = single ? predictions_ : cost_predictions_;
    own.resize(*device_, outputs.size());
    cost.cost->predict(outputs, *device_, {own.data(), static_cast<size_t>(outputs.size())});
    if (single) return;
    const Matrix<float> together{predictions_.data(), batch_size(), all};
    copy_columns(*device_, columns(Matrix<const float>{own.data(), batch_size(), outputs.cols}), batch_size(),
                 columns(together, first, outputs.cols));
    first += outputs.cols;
  }
}

// losses [B] <- -log of the probability that the logits of the main cost give to the label of each
// example, without factor and weight.  Computed from logits, the loss stays exact where the probability
// rounds to 0 or 1.  There are none if no evaluator asks for them, if the cost takes probabilities instead
// of logits, or if a calibration changes the probabilities afterwards.
template <class T>
void NetworkExecution<T>::make_log_losses() {
  has_log_losses_ = false;
  const NetworkCost<T>& cost = layers_.main_cost();
  CostState<T>& state = costs_.front();
  if (!wants_log_losses_ || !cost.cost->uses_logits() || calibrates()) return;
  Matrix<const T> scores = output(cost.input);
  scores.data = state.logits.data();
  state.losses.resize(*device_, scores.rows);
  const std::span<T> losses(state.losses.data(), static_cast<size_t>(scores.rows));
  has_log_losses_ = cost.cost->log_losses(scores, batch_of(0), *device_, losses);
}

// Brings predictions and log losses here.  The predictions of the main cost, which has the first column alone, are then
// calibrated.
template <class T>
void NetworkExecution<T>::fetch_figures() {
  if (std::exchange(figures_are_here_, true)) return;
  CostState<T>& state = costs_.front();
  const int64_t num_losses = has_log_losses_ ? state.losses.size() : 0;
  const T* losses = state.losses.data();
  float* predictions = predictions_.data();
  if (there()) {
    predictions_here_.resize(static_cast<size_t>(predictions_.size()));
    predictions = predictions_here_.data();
    device_->kernels()->receive(predictions, predictions_.data(), predictions_.bytes());
    state.losses_here.resize(static_cast<size_t>(num_losses));
    if (num_losses > 0) device_->kernels()->receive(state.losses_here.data(), losses, state.losses.bytes());
    losses = state.losses_here.data();
  }
  log_losses_.resize(static_cast<size_t>(num_losses));
  std::transform(losses, losses + num_losses, log_losses_.begin(),
                 [](T loss) { return static_cast<float>(loss); });
  for (int64_t b = 0; calibrates() && b < batch_size(); ++b) {
    float& prediction = predictions[b * layers_.prediction_cols()];
    prediction = calibration_->apply(prediction);
  }
}

// Announces the parameters to whose gradients this node was the last to add, so that the trainer can send
// them while backward goes on.
template <class T>
void NetworkExecution<T>::tell_final_gradients(size_t index, const OnFinalGradient& on_final) const {
  if (!on_final) return;
  for (size_t parameter : layers_.final_after[index]) on_final(parameter);
}

// Goes from the last node to the first, so that the gradient of a node's output is complete before the node is
// computed.  On the processor, gradients are announced as soon as they are final; from a device they are copied
// back together at the end.
template <class T>
void NetworkExecution<T>::backward(const OnFinalGradient& on_final, Gradients gradients) {
  PS_CHECK(prepared_ != nullptr && prepared_->training);
  run_work(BatchPart::kBackward, *device_, [&] {
    if (gradients == Gradients::kSet) zero_gradients();
    zero_node_gradients();
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (layers_.nodes[i].wants_gradient) backward_node(i);
      if (!there()) tell_final_gradients(i, on_final);
    }
    if (!there()) return;
    device_parameters_.return_gradients();
    device_->kernels()->wait();
    for (size_t i = nodes_.size(); i-- > 0;) tell_final_gradients(i, on_final);
  });
}

// Runs only the divided layers, with a batch of no examples, in the same order as the trainers that have a
// batch: each exchange of theirs needs all trainers.
template <class T>
void NetworkExecution<T>::compute_for_others(std::span<const ParameterView<T>> views, Device& device) {
  nothing_.batch.clear(layers_.schema);
  nothing_.training = true;
  prepared_ = &nothing_;
  views_ = views;
  device_ = &device.host();
  for (size_t p = 0; p < layers_.wiring.parameters.size(); ++p) {
    const ParameterSpec& spec = layers_.wiring.parameters[p];
    if (spec.split) fill_values(*device_, T(0), spec.rows * spec.cols, views[p].gradient);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (Run run(*this, i); layers_.nodes[i].layer->is_divided()) layers_.nodes[i].layer->forward(run);
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (Run run(*this, i); layers_.nodes[i].layer->is_divided()) layers_.nodes[i].layer->backward(run);
  }
}

// Sets the gradients of all parameters to zero, in the memory that backward writes to.  device_parameters_
// zeroes those of the parameters that it has sent, in one pass; all others lie where the store keeps them:
// on the device if their layers run there, else on the processor.  In a table, only the rows of the batch
// have a gradient, one for each key of the plan.  Statistics have none.
template <class T>
void NetworkExecution<T>::zero_gradients() {
  const auto zero = [](Device& device, T* data, int64_t size) { fill_values(device, T(0), size, data); };
  if (there()) device_parameters_.zero_gradients();
  for (size_t p = 0; p < layers_.wiring.parameters.size(); ++p) {
    if (there() && device_parameters_.was_sent(p)) continue;
    const ParameterSpec& spec = layers_.wiring.parameters[p];
    Device& device = layers_.on_devices[p] ? *device_ : device_->host();
    if (spec.kind == ParameterKind::kMatrix) zero(device, views_[p].gradient, spec.rows * spec.cols);
    if (spec.kind == ParameterKind::kRows) {
      zero(device, views_[p].row_gradients,
           static_cast<int64_t>(prepared_->plans[p].keys.size()) * spec.cols);
    }
  }
}

template <class T>
void NetworkExecution<T>::zero_node_gradients() {
  for (NodeState<T>& node : nodes_) fill_values(*device_, T(0), node.gradient.size(), node.gradient.data());
}

// Adds the gradients of costs to that of their input layer: before the activation for costs that use the
// logits, else after it.
template <class T>
void NetworkExecution<T>::add_cost_gradients(size_t index, bool before_activation) {
  DeviceBuffer<T>& gradient = nodes_[index].gradient;
  for (size_t c = 0; c < costs_.size(); ++c) {
    const NetworkCost<T>& cost = layers_.costs[c];
    if (cost.input != index || cost.cost->uses_logits() != before_activation) continue;
    add_scaled_values<T>(*device_, cost.factor, costs_[c].gradient.data(), gradient.size(), gradient.data());
  }
}

// nodes_[index].gradient has the sum of what all nodes behind it have added.  The steps have this order
// since a gradient by the output has to pass through the derivative of the activation, while a gradient by
// the logits is behind it already: first the costs of the output are added, then activation_backward turns
// the gradient into that before the activation, in place, and then the costs of the logits are added.  The
// layer takes the result as output_gradient.
template <class T>
void NetworkExecution<T>::backward_node(size_t index) {
  add_cost_gradients(index, /*before_activation=*/false);
  activation_backward(*device_, layers_.nodes[index].activation, Matrix<const T>(output(index)),
                      gradient(index));
  add_cost_gradients(index, /*before_activation=*/true);
  if (runs_here(index)) return backward_here(index);
  Run run(*this, index);
  layers_.nodes[index].layer->backward(run);
}

// Predictions that the processor calibrates are not there.  Devices compute in float.
template <class T>
FiguresThere NetworkExecution<T>::figures_there() const {
  if constexpr (std::is_same_v<T, float>) {
    if (!there() || calibrates()) return {};
    const float* const losses = has_log_losses_ ? costs_.front().losses.data() : nullptr;
    return {device_, {predictions_.data(), batch_size(), layers_.prediction_cols()}, losses};
  }
  return {};
}

template <class T>
BatchFigures NetworkExecution<T>::figures(FiguresFor reader) {
  PS_CHECK(prepared_ != nullptr);
  const FiguresThere there_alone = figures_there();
  if (reader == FiguresFor::kEvaluators && there_alone.device != nullptr)
    return {task_costs_, {}, {}, there_alone};
  fetch_figures();
  const float* const predictions = there() ? predictions_here_.data() : predictions_.data();
  return {task_costs_, {predictions, batch_size(), layers_.prediction_cols()}, log_losses_, there_alone};
}

#define PS_INSTANTIATE(T) template class NetworkExecution<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
